/* What a profile stands for: the defaults, and which kinds of an agent's paths it binds. */
#pragma once

#include "policy.h"

struct sbx_profile_defaults {
	enum sbx_net net; /* SBX_NET_ON or SBX_NET_OFF */
	bool bind_state; /* the agent's config, credentials and transcripts are bound */
	bool pass_keys; /* the agent's key and endpoint variables are passed */
	const char *why;
};

/* Borrowed, never NULL for a valid profile. */
SBX_PUBLIC const struct sbx_profile_defaults *sbx_profile_defaults(enum sbx_profile p);
