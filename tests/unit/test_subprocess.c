#include "subprocess.h"
#include "t.h"

#include <errno.h>
#include <sys/wait.h>

static int run(const char *script, int timeout_ms, size_t max, char **ret)
{
	char *const argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)(uintptr_t)script,
		NULL };

	return sbx_subprocess_output(argv, timeout_ms, max, ret);
}

static void output_of_both_streams_is_kept(void **state)
{
	SBX_CLEANUP_FREE char *out = NULL;
	int status = run("echo a; echo b >&2; exit 3", 5000, 100, &out);

	(void)state;
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_string_equal(out, "a\nb\n");
}

static void more_than_the_limit_is_dropped_not_blocked(void **state)
{
	SBX_CLEANUP_FREE char *out = NULL;
	int status =
		run("i=0; while [ $i -lt 20000 ]; do echo xxxxxxxxx; i=$((i+1)); done",
			20000, 10, &out);

	(void)state;
	assert_int_equal(status, 0);
	assert_int_equal(strlen(out), 10);
}

static void the_time_is_kept(void **state)
{
	char *out = NULL;

	(void)state;
	assert_int_equal(run("exec sleep 100", 200, 10, &out), -ETIMEDOUT);
	assert_null(out);
}

static void a_missing_program_is_an_error(void **state)
{
	char *const argv[] = { (char *)"/nonexistent", NULL };
	char *out = NULL;

	(void)state;
	assert_int_equal(sbx_subprocess_output(argv, 100, 10, &out), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_of_both_streams_is_kept),
		cmocka_unit_test(more_than_the_limit_is_dropped_not_blocked),
		cmocka_unit_test(the_time_is_kept),
		cmocka_unit_test(a_missing_program_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
