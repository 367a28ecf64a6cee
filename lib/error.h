/* The error object of libsbx.
 *
 * Library functions return 0 or a negative errno and fill one struct sbx_error, once, where
 * the facts are. A caller passes it up unchanged. On success it is left alone.
 */
#pragma once

#include "util.h"

/* Why a policy or a launch was refused. The name (sbx_error_code_name()) is stable and is
 * what scripts should match; the message is for people. */
enum sbx_code {
	SBX_OK = 0,
	SBX_E_SYSTEM, /* a system call failed; the message names it */
	SBX_E_AGENT_UNKNOWN, /* no such agent in the table */
	SBX_E_HOME_INVALID, /* HOME unset, relative, or not a directory name we can use */
	SBX_E_PATH_MISSING, /* the work dir or bind does not exist */
	SBX_E_PATH_NOT_DIR, /* it is not a directory */
	SBX_E_PATH_DENIED, /* it may not be opened by this user */
	SBX_E_PATH_ROOT, /* it is / */
	SBX_E_PATH_HOME, /* it is the home directory */
	SBX_E_PATH_ABOVE_HOME, /* it is an ancestor of the home directory */
	SBX_E_PATH_ABOVE_CRED, /* it is an ancestor of a credential path */
	SBX_E_PATH_IN_CRED, /* it lies in, or is, a credential directory */
	SBX_E_PATH_SYSTEM, /* it is, or contains, or lies in a system directory */
	SBX_E_PATH_SYMLINK, /* a protected path inside it is, or crosses, a symlink */
	SBX_E_PATH_CHANGED, /* it was replaced between check and use */
	SBX_E_PATH_INVALID, /* a path is relative, empty or too long */
	SBX_E_ENV_NAME, /* not a valid environment variable name */
	SBX_E_NOT_INSTALLED, /* bwrap was not found */
	SBX_E_TOO_OLD, /* bwrap lacks an option the launch needs */
	SBX_E_SETUID_BWRAP, /* bwrap is setuid or setgid */
	SBX_E_USERNS_DISABLED, /* user namespaces are switched off by a sysctl */
	SBX_E_USERNS_RESTRICTED, /* a security module forbids them to this program */
	SBX_E_PROC_MOUNT, /* /proc cannot be mounted: nested container */
	SBX_E_OUTER_SECCOMP, /* the seccomp filter of an outer container is in the way */
	SBX_E_TIMEOUT, /* bwrap did not answer in time */
	SBX_E_NOTHING_RAN, /* bwrap said success but the command did not run */
	SBX_E_BWRAP_FAILED, /* bwrap failed for another reason; its words follow */
	SBX_E_ROOT, /* refused as uid 0 */
	SBX_E_RESERVE, /* an absent protected path cannot be kept from being made */
	SBX_E_BWRAP_WRITABLE, /* bwrap could be changed by the payload, or by anybody */
	SBX_E_PROGRAM_MISSING, /* the agent's program or its interpreter was not found */
	SBX_E_PROGRAM_HIDDEN, /* it lies where nothing may be shown from */
	SBX_E_BIND_READ_ONLY, /* a bind that may be changed would be read-only all the same */
	SBX_E_USER_UNKNOWN, /* there is no such user to become */
	SBX_E_LIMIT, /* a limit is no limit, or above what the caller has */
	SBX_E_CGROUP, /* there is no control group to limit the sandbox with */
	SBX_E_USAGE, /* the command line */
	SBX_E_STORE, /* the store of sessions cannot be used */
	SBX_E_STORE_VERSION, /* a newer sbx has written it */
	SBX_E_SESSION_UNKNOWN, /* there is no such session */
	SBX_E_SESSION_INVALID, /* what is, or would be, recorded about it makes no sense */
	_SBX_CODE_MAX,
};

/* Zero-initialise; end with sbx_error_done(). */
struct sbx_error {
	enum sbx_code code;
	int err; /* errno, or 0 */
	char *message; /* what happened and where; owned */
	char *remedy; /* how to mend it, or NULL; owned */
};

/* Sets e (which may be NULL) and returns -err, or -EINVAL when err is 0. */
SBX_PUBLIC int sbx_error_set(struct sbx_error *e, enum sbx_code code, int err,
	const char *fmt, ...) SBX_PRINTF(4, 5);
/* Adds how to mend it; a no-op when e is NULL. */
SBX_PUBLIC void sbx_error_remedy(struct sbx_error *e, const char *fmt, ...)
	SBX_PRINTF(2, 3);
SBX_PUBLIC void sbx_error_done(struct sbx_error *e);

/* "workdir-home" and so on; "?" for a value that is not a code. Never NULL. */
SBX_PUBLIC const char *sbx_error_code_name(enum sbx_code code);
