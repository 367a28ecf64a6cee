#include "policy.h"

#include "profiles.h"

#include <errno.h>
#include <string.h>

static const char *const profile_names[_SBX_PROFILE_MAX] = { "lenient", "strict" };
static const char *const fs_names[_SBX_FS_MAX] = { "rw", "ro" };
static const char *const net_names[_SBX_NET_MAX] = { "default", "on", "off" };

static const char *const allow_names[] = { "git-init" };

static const char *name_of(const char *const *names, size_t n, unsigned value)
{
	return value < n ? names[value] : "?";
}

static int index_of(const char *const *names, size_t n, const char *s)
{
	for (size_t i = 0; s && i < n; i++)
		if (strcmp(names[i], s) == 0)
			return (int)i;
	return -EINVAL;
}

const char *sbx_profile_name(enum sbx_profile p)
{
	return name_of(profile_names, _SBX_PROFILE_MAX, p);
}

int sbx_profile_from_string(const char *s, enum sbx_profile *ret)
{
	int i = index_of(profile_names, _SBX_PROFILE_MAX, s);

	if (i < 0)
		return i;
	*ret = (enum sbx_profile)i;
	return 0;
}

const char *sbx_fs_name(enum sbx_fs fs)
{
	return name_of(fs_names, _SBX_FS_MAX, fs);
}

int sbx_fs_from_string(const char *s, enum sbx_fs *ret)
{
	int i = index_of(fs_names, _SBX_FS_MAX, s);

	if (i < 0)
		return i;
	*ret = (enum sbx_fs)i;
	return 0;
}

const char *sbx_net_name(enum sbx_net net)
{
	return name_of(net_names, _SBX_NET_MAX, net);
}

int sbx_net_from_string(const char *s, enum sbx_net *ret)
{
	int i = index_of(net_names, _SBX_NET_MAX, s);

	if (i < 0)
		return i;
	*ret = (enum sbx_net)i;
	return 0;
}

enum sbx_net sbx_policy_net(const struct sbx_policy *p)
{
	if (p->net != SBX_NET_DEFAULT)
		return p->net;
	return sbx_profile_defaults(p->profile)->net;
}

bool sbx_env_name_valid(const char *name)
{
	static const char first[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				   "0123456789";

	return name && name[0] && strchr(first, name[0]) &&
	       name[strspn(name, rest)] == '\0';
}

const char *sbx_allow_name(enum sbx_allow one)
{
	for (unsigned i = 0; i < SBX_ARRAY_SIZE(allow_names); i++)
		if ((unsigned)one == 1U << i)
			return allow_names[i];
	return "?";
}

int sbx_allow_from_string(const char *s, enum sbx_allow *ret)
{
	int i = index_of(allow_names, SBX_ARRAY_SIZE(allow_names), s);

	if (i < 0)
		return i;
	*ret = (enum sbx_allow)(1U << i);
	return 0;
}

int sbx_policy_check(const struct sbx_policy *p, struct sbx_error *e)
{
	if ((unsigned)p->profile >= _SBX_PROFILE_MAX || (unsigned)p->fs >= _SBX_FS_MAX ||
		(unsigned)p->net >= _SBX_NET_MAX)
		return sbx_error_set(e, SBX_E_PATH_INVALID, 0,
			"policy: profile %d, fs %d or net %d is out of range",
			(int)p->profile, (int)p->fs, (int)p->net);
	if (p->allow & ~(unsigned)_SBX_ALLOW_ALL)
		return sbx_error_set(e, SBX_E_PATH_INVALID, 0,
			"policy: allow 0x%x has unknown bits", p->allow);
	for (size_t i = 0; i < p->n_env; i++)
		if (!sbx_env_name_valid(p->env[i]))
			return sbx_error_set(e, SBX_E_ENV_NAME, 0,
				"environment: '%s' is not a variable name; give the name alone, "
				"the value is taken from the environment",
				p->env[i] ? p->env[i] : "");
	for (size_t i = 0; i < p->n_binds; i++)
		if (p->binds[i].path == NULL || p->binds[i].path[0] != '/')
			return sbx_error_set(e, SBX_E_PATH_INVALID, 0,
				"bind: '%s' is not an absolute path",
				p->binds[i].path ? p->binds[i].path : "");
	for (size_t i = 0; i < p->n_limits; i++)
		if ((unsigned)p->limits[i].which >= _SBX_LIMIT_MAX)
			return sbx_error_set(e, SBX_E_LIMIT, 0,
				"policy: limit %d is out of range",
				(int)p->limits[i].which);
	return 0;
}
