/* What the user wants: agent, profile, file system and network mode, work dir.
 *
 * Plain data, zero-initialisable; strings are borrowed and must outlive the policy. Nothing
 * here looks at the machine (host.h does) or decides how to build the sandbox (plan.h does).
 */
#pragma once

#include "error.h"

enum sbx_profile {
	SBX_PROFILE_LENIENT, /* config and credentials bound, network on by default */
	SBX_PROFILE_STRICT, /* neither bound, private HOME, network off by default */
	_SBX_PROFILE_MAX,
};

/* How the work dir is bound. */
enum sbx_fs {
	SBX_FS_RW,
	SBX_FS_RO,
	_SBX_FS_MAX,
};

/* All or nothing: bwrap cannot filter by address. */
enum sbx_net {
	SBX_NET_DEFAULT, /* what the profile says */
	SBX_NET_ON, /* the host's network namespace, loopback included */
	SBX_NET_OFF, /* a namespace of its own with only loopback */
	_SBX_NET_MAX,
};

/* An extra host path to show inside, at the same place. */
struct sbx_bind {
	const char *path; /* absolute; resolved and judged like a work dir */
	bool rw;
};

/* What is refused inside unless the policy says otherwise: bits of sbx_policy.allow. */
enum sbx_allow {
	SBX_ALLOW_GIT_INIT = 1 << 0, /* "git-init": make .git in a work dir without one */
	_SBX_ALLOW_ALL = SBX_ALLOW_GIT_INIT,
};

/* What one process of the command's may use at most: prlimit(1)'s names. */
enum sbx_limit_kind {
	SBX_LIMIT_AS, /* bytes of address space */
	SBX_LIMIT_CPU, /* seconds of processor time */
	SBX_LIMIT_DATA, /* bytes of private writable memory */
	SBX_LIMIT_FSIZE, /* bytes of a file that is written */
	SBX_LIMIT_MEMLOCK, /* bytes of memory that cannot be swapped out */
	SBX_LIMIT_NOFILE, /* open descriptors, plus one */
	SBX_LIMIT_NPROC, /* processes in this sandbox, pid 1 included; all of the user's before
			  * Linux 5.14; uid 0 of the host is not held by it */
	SBX_LIMIT_STACK, /* bytes of the main thread's stack */
	_SBX_LIMIT_MAX,
};

/* Soft and hard: nothing inside can raise it. */
struct sbx_limit {
	enum sbx_limit_kind which;
	unsigned long long value;
};

struct sbx_policy {
	const char *agent; /* a name in the agents table; NULL means "generic" */
	enum sbx_profile profile;
	enum sbx_fs fs;
	enum sbx_net net;
	const char *workdir; /* may be relative or a symlink; NULL means "." */
	const struct sbx_bind *binds; /* n_binds of them, or NULL */
	size_t n_binds;
	const char *const *env; /* n_env further variable names to pass, or NULL */
	size_t n_env;
	unsigned allow; /* enum sbx_allow */
	const struct sbx_limit
		*limits; /* n_limits of them, or NULL; of two of a kind the last counts */
	size_t n_limits;
	/* By a cgroup of the sandbox's own (cgroup.h); 0: not limited. */
	unsigned long long memory; /* bytes, of all of it together; without swap */
	unsigned long long pids; /* processes and threads, pid 1 and bwrap included */
};

/* Each pair is made from one table. _from_string returns 0 and writes *ret, or -EINVAL;
 * _name never returns NULL. */
SBX_PUBLIC const char *sbx_profile_name(enum sbx_profile p);
SBX_PUBLIC int sbx_profile_from_string(const char *s, enum sbx_profile *ret);
SBX_PUBLIC const char *sbx_fs_name(enum sbx_fs fs);
SBX_PUBLIC int sbx_fs_from_string(const char *s, enum sbx_fs *ret);
SBX_PUBLIC const char *sbx_net_name(enum sbx_net net);
SBX_PUBLIC int sbx_net_from_string(const char *s, enum sbx_net *ret);

/* The name of one bit of enum sbx_allow. */
SBX_PUBLIC const char *sbx_allow_name(enum sbx_allow one);
SBX_PUBLIC int sbx_allow_from_string(const char *s, enum sbx_allow *ret);

/* The network mode in force: the policy's own, or the profile's default. */
SBX_PUBLIC enum sbx_net sbx_policy_net(const struct sbx_policy *p);

/* The policy checks that need no machine: enum ranges, variable names, bind paths, limits. */
SBX_PUBLIC int sbx_policy_check(const struct sbx_policy *p, struct sbx_error *e);

/* True for [A-Za-z_][A-Za-z0-9_]*. */
SBX_PUBLIC bool sbx_env_name_valid(const char *name);
