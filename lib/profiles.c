#include "profiles.h"

static const struct sbx_profile_defaults defaults[_SBX_PROFILE_MAX] = {
	[SBX_PROFILE_LENIENT] = {
		.net = SBX_NET_ON,
		.bind_state = true,
		.pass_keys = true,
		.why = "a cloud agent needs its login and its API; only the damage is limited",
	},
	[SBX_PROFILE_STRICT] = {
		.net = SBX_NET_OFF,
		.bind_state = false,
		.pass_keys = false,
		.why = "untrusted prompts or a local model: nothing of the user's is there to leak",
	},
};

const struct sbx_profile_defaults *sbx_profile_defaults(enum sbx_profile p)
{
	return &defaults[(unsigned)p < _SBX_PROFILE_MAX ? p : SBX_PROFILE_STRICT];
}
