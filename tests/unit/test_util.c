#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void strv_is_always_terminated(void **state)
{
	struct sbx_strv sv = { 0 };

	(void)state;
	assert_string_equal(sbx_strv_add(&sv, "a"), "a");
	sbx_strv_addf(&sv, "%d-%s", 7, "x");
	assert_int_equal(sv.n, 2);
	assert_string_equal(sv.v[1], "7-x");
	assert_null(sv.v[2]);
	assert_true(sbx_strv_contains(&sv, "a"));
	assert_false(sbx_strv_contains(&sv, "b"));
	sbx_strv_done(&sv);
	assert_null(sv.v);
}

static void env_get_wants_the_whole_name(void **state)
{
	char *env[] = { (char *)"PATHX=1", (char *)"PATH=2", (char *)"EMPTY=", NULL };

	(void)state;
	assert_string_equal(sbx_env_get(env, "PATH"), "2");
	assert_string_equal(sbx_env_get(env, "EMPTY"), "");
	assert_null(sbx_env_get(env, "PAT"));
	assert_null(sbx_env_get(NULL, "PATH"));
}

static void memfd_is_sealed_closed_and_rewound(void **state)
{
	SBX_CLEANUP_FD int fd = sbx_memfd("t", "hello", 5);
	char buf[8] = "";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf)), 5);
	assert_string_equal(buf, "hello");
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GET_SEALS) & F_SEAL_SEAL);
}

static void read_file_respects_its_limit(void **state)
{
	char *dir = t_mkdir();
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/f", dir);
	SBX_CLEANUP_FREE char *text = NULL;
	FILE *f = fopen(path, "w");
	size_t len;

	(void)state;
	for (int i = 0; i < 10000; i++)
		fputc('x', f);
	fclose(f);
	assert_int_equal(sbx_read_file(path, 9999, &text, NULL), -EFBIG);
	assert_null(text);
	assert_int_equal(sbx_read_file(path, 10000, &text, &len), 0);
	assert_int_equal(len, 10000);
	assert_int_equal(strlen(text), 10000);
	assert_int_equal(sbx_read_file("/nonexistent", 1, &text, NULL), -ENOENT);
	t_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strv_is_always_terminated),
		cmocka_unit_test(env_get_wants_the_whole_name),
		cmocka_unit_test(memfd_is_sealed_closed_and_rewound),
		cmocka_unit_test(read_file_respects_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
