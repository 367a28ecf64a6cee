/* Can the sandbox be had here? Decided by having it: the launch's own plan around a trivial
 * command that must answer with a nonce. Never by a version or a sysctl; those only serve to
 * name the cause after a failure. */
#pragma once

#include "launch.h"

/* Returns 0 when the command ran and answered. Otherwise a named error with the remedy for
 * this machine. A success is remembered for the life of the process, by program and plan. */
SBX_PUBLIC int sbx_avail_check(const struct sbx_plan *plan, const struct sbx_host *h,
	const struct sbx_launch_opts *opts, struct sbx_error *e);

/* What the machine says about user namespaces; -1: no such file. */
struct sbx_sysctls {
	int max_user_namespaces; /* /proc/sys/user/max_user_namespaces */
	int unprivileged_userns; /* /proc/sys/kernel/unprivileged_userns_clone */
	int apparmor_restrict; /* .../kernel/apparmor_restrict_unprivileged_userns */
	int seccomp_mode; /* Seccomp: of /proc/self/status */
};

SBX_PUBLIC void sbx_avail_read_sysctls(struct sbx_sysctls *ret);

/* The cause behind bwrap's words, for error and remedy. Pure. Sets e, returns its code. */
SBX_PUBLIC enum sbx_code sbx_avail_classify(
	const char *words, const struct sbx_sysctls *s, struct sbx_error *e);
