#include "t.h"

static const struct row {
	const char *name, *words;
	struct sbx_sysctls s;
	enum sbx_code want;
	const char *remedy; /* a part of it */
} rows[] = {
	{ "Debian's old switch",
		"bwrap: No permissions to create new namespace, likely because the kernel does "
		"not allow non-privileged user namespaces.",
		{ 96364, 0, -1, 0 }, SBX_E_USERNS_DISABLED,
		"unprivileged_userns_clone=1" },
	{ "the limit is zero",
		"bwrap: Creating new namespace failed: nesting depth or "
		"/proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
		{ 0, -1, -1, 0 }, SBX_E_USERNS_DISABLED, "max_user_namespaces" },
	{ "Ubuntu, uid map", "bwrap: setting up uid map: Permission denied",
		{ 96364, -1, 1, 0 }, SBX_E_USERNS_RESTRICTED, "AppArmor" },
	{ "Ubuntu, loopback",
		"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
		{ 96364, -1, 1, 0 }, SBX_E_USERNS_RESTRICTED, "AppArmor" },
	{ "docker's filter",
		"bwrap: No permissions to create new namespace, likely because",
		{ 96364, -1, -1, 2 }, SBX_E_OUTER_SECCOMP, "container" },
	{ "nested container",
		"bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
		{ 96364, -1, -1, 2 }, SBX_E_PROC_MOUNT, "/proc" },
	{ "too old", "bwrap: Unknown option --disable-userns", { 96364, -1, -1, 0 },
		SBX_E_TOO_OLD, "0.8.0" },
	{ "something else", "bwrap: Can't find source path /x: No such file",
		{ 1, 1, 0, 0 }, SBX_E_BWRAP_FAILED, "by hand" },
	{ "silence", "", { 1, 1, 0, 0 }, SBX_E_BWRAP_FAILED, "by hand" },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct sbx_error e = { 0 };
	enum sbx_code got = sbx_avail_classify(r->words, &r->s, &e);

	assert_string_equal(sbx_error_code_name(got), sbx_error_code_name(r->want));
	assert_int_equal(e.code, r->want);
	assert_non_null(strstr(e.remedy, r->remedy));
	sbx_error_done(&e);
}

static void this_machines_sysctls_can_be_read(void **state)
{
	struct sbx_sysctls s;

	(void)state;
	sbx_avail_read_sysctls(&s);
	assert_true(s.seccomp_mode >= 0);
}

T_ROWS(classify, rows, row)

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		this_machines_sysctls_can_be_read) };

	return classify() + cmocka_run_group_tests(tests, NULL, NULL);
}
