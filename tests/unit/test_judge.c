#include "judge.h"
#include "t.h"

static const struct row {
	const char *name, *path;
	enum sbx_code want;
} rows[] = {
	{ "a project in home", "/home/u/src/app", SBX_OK },
	{ "a project elsewhere", "/srv/git/app", SBX_OK },
	{ "below /tmp", "/tmp/build", SBX_OK },
	{ "below /var/tmp", "/var/tmp/build", SBX_OK },
	{ "below /opt", "/opt/app", SBX_OK },
	{ "below /usr/local", "/usr/local/src/app", SBX_OK },
	{ "odd name", "/home/u/a b\n--ro-bind", SBX_OK },
	{ "like ~/.ssh but another", "/home/u/.ssh-backup-notes", SBX_OK },
	{ "root", "/", SBX_E_PATH_ROOT },
	{ "home", "/home/u", SBX_E_PATH_HOME },
	{ "home by its other name", "/data/home/u", SBX_E_PATH_HOME },
	{ "above home", "/home", SBX_E_PATH_ABOVE_HOME },
	{ "above home by its other name", "/data", SBX_E_PATH_ABOVE_HOME },
	{ "~/.ssh", "/home/u/.ssh", SBX_E_PATH_IN_CRED },
	{ "below ~/.aws", "/home/u/.aws/cli/cache", SBX_E_PATH_IN_CRED },
	{ "below ~/.ssh, other spelling", "/data/home/u/.ssh/x", SBX_E_PATH_IN_CRED },
	{ "agent state", "/home/u/.claude/projects/p", SBX_E_PATH_IN_CRED },
	{ "agent state of another", "/home/u/.codex", SBX_E_PATH_IN_CRED },
	{ "what the host runs", "/home/u/.local/bin", SBX_E_PATH_IN_CRED },
	{ "autostart", "/home/u/.config/autostart", SBX_E_PATH_IN_CRED },
	{ "the store of sessions", "/home/u/.local/state/sbx", SBX_E_PATH_IN_CRED },
	{ "above the store of sessions", "/home/u/.local/state", SBX_E_PATH_ABOVE_CRED },
	{ "beside the store of sessions", "/home/u/.local/state/x", SBX_OK },
	{ "above credentials", "/home/u/.config", SBX_E_PATH_ABOVE_CRED },
	{ "above agent state", "/home/u/.local/share", SBX_E_PATH_ABOVE_CRED },
	{ "/etc", "/etc", SBX_E_PATH_SYSTEM },
	{ "below /etc", "/etc/nginx", SBX_E_PATH_SYSTEM },
	{ "/usr", "/usr", SBX_E_PATH_SYSTEM },
	{ "/tmp itself", "/tmp", SBX_E_PATH_SYSTEM },
	{ "/var/tmp itself", "/var/tmp", SBX_E_PATH_SYSTEM },
	{ "/run/user", "/run/user/1000", SBX_E_PATH_SYSTEM },
	{ "/proc", "/proc/self", SBX_E_PATH_SYSTEM },
	{ "/dev/shm", "/dev/shm/x", SBX_E_PATH_SYSTEM },
};

static void row(void **state)
{
	const struct row *r = *state;
	const char *const homes[] = { "/home/u", "/data/home/u", NULL };
	struct sbx_error e = { 0 };
	int rc = sbx_judge_path(r->path, "work dir", homes, &e);

	if (r->want == SBX_OK) {
		assert_int_equal(rc, 0);
		assert_null(e.message);
		return;
	}
	assert_true(rc < 0);
	assert_string_equal(sbx_error_code_name(e.code), sbx_error_code_name(r->want));
	/* what, where, how to mend it */
	assert_non_null(strstr(e.message, "work dir"));
	assert_non_null(strstr(e.message, r->path));
	assert_non_null(e.remedy);
	sbx_error_done(&e);
}

T_ROWS(judge, rows, row)

int main(void)
{
	return judge();
}
