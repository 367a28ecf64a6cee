#include "error.h"

#include <errno.h>

static const char *const code_names[_SBX_CODE_MAX] = {
	[SBX_OK] = "ok",
	[SBX_E_SYSTEM] = "system",
	[SBX_E_AGENT_UNKNOWN] = "agent-unknown",
	[SBX_E_HOME_INVALID] = "home-invalid",
	[SBX_E_PATH_MISSING] = "path-missing",
	[SBX_E_PATH_NOT_DIR] = "path-not-a-directory",
	[SBX_E_PATH_DENIED] = "path-not-accessible",
	[SBX_E_PATH_ROOT] = "path-is-root",
	[SBX_E_PATH_HOME] = "path-is-home",
	[SBX_E_PATH_ABOVE_HOME] = "path-above-home",
	[SBX_E_PATH_ABOVE_CRED] = "path-above-credentials",
	[SBX_E_PATH_IN_CRED] = "path-in-credentials",
	[SBX_E_PATH_SYSTEM] = "path-is-system",
	[SBX_E_PATH_SYMLINK] = "path-protected-symlink",
	[SBX_E_PATH_CHANGED] = "path-changed",
	[SBX_E_PATH_INVALID] = "path-invalid",
	[SBX_E_ENV_NAME] = "env-name-invalid",
	[SBX_E_NOT_INSTALLED] = "bwrap-not-installed",
	[SBX_E_TOO_OLD] = "bwrap-too-old",
	[SBX_E_SETUID_BWRAP] = "bwrap-setuid",
	[SBX_E_USERNS_DISABLED] = "userns-disabled",
	[SBX_E_USERNS_RESTRICTED] = "userns-restricted",
	[SBX_E_PROC_MOUNT] = "proc-mount-refused",
	[SBX_E_OUTER_SECCOMP] = "outer-seccomp",
	[SBX_E_TIMEOUT] = "bwrap-timeout",
	[SBX_E_NOTHING_RAN] = "bwrap-ran-nothing",
	[SBX_E_BWRAP_FAILED] = "bwrap-failed",
	[SBX_E_ROOT] = "refused-as-root",
	[SBX_E_RESERVE] = "reserve-failed",
	[SBX_E_BWRAP_WRITABLE] = "bwrap-writable",
	[SBX_E_PROGRAM_MISSING] = "program-missing",
	[SBX_E_PROGRAM_HIDDEN] = "program-not-visible",
	[SBX_E_BIND_READ_ONLY] = "bind-read-only",
	[SBX_E_USER_UNKNOWN] = "user-unknown",
	[SBX_E_LIMIT] = "limit",
	[SBX_E_CGROUP] = "cgroup",
	[SBX_E_USAGE] = "usage",
	[SBX_E_STORE] = "session-store",
	[SBX_E_STORE_VERSION] = "session-store-newer",
	[SBX_E_SESSION_UNKNOWN] = "session-unknown",
	[SBX_E_SESSION_INVALID] = "session-invalid",
};

const char *sbx_error_code_name(enum sbx_code code)
{
	if ((unsigned)code >= _SBX_CODE_MAX || code_names[code] == NULL)
		return "?";
	return code_names[code];
}

int sbx_error_set(struct sbx_error *e, enum sbx_code code, int err, const char *fmt, ...)
{
	va_list ap;

	if (e) {
		sbx_error_done(e);
		e->code = code;
		e->err = err;
		va_start(ap, fmt);
		e->message = sbx_xvasprintf(fmt, ap);
		va_end(ap);
	}
	return err > 0 ? -err : -EINVAL;
}

void sbx_error_remedy(struct sbx_error *e, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return;
	free(e->remedy);
	va_start(ap, fmt);
	e->remedy = sbx_xvasprintf(fmt, ap);
	va_end(ap);
}

void sbx_error_done(struct sbx_error *e)
{
	free(e->message);
	free(e->remedy);
	*e = (struct sbx_error){ 0 };
}
