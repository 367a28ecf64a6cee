/* The filter, loaded into a child of this test: refused calls are refused, their benign twins
 * are not, and leaving a row out opens exactly what the row closes. */
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct call {
	const char *name;
	long nr, a0, a1, a2, a3;
	int with; /* errno under the filter */
	int without; /* errno with no filter */
};

static const struct call calls[] = {
	{ "mount", SYS_mount, 0, 0, 0, 0, EPERM, EFAULT },
	{ "setns", SYS_setns, -1, 0, 0, 0, EPERM, EBADF },
	{ "clone3", 435, 0, 0, 0, 0, ENOSYS, EINVAL },
	{ "TIOCSTI", SYS_ioctl, -1, 0x5412, 0, 0, EPERM, EBADF },
	{ "TIOCSTI, high bits", SYS_ioctl, -1, (long)(0x5412 | (1UL << 32)), 0, 0, EPERM,
		EBADF },
	{ "TCGETS", SYS_ioctl, -1, 0x5401, 0, 0, EBADF, EBADF },
	{ "fchmod setuid", SYS_fchmod, -1, 04755, 0, 0, EPERM, EBADF },
	{ "fchmod plain", SYS_fchmod, -1, 0755, 0, 0, EBADF, EBADF },
	{ "openat setuid", SYS_openat, -1, (long)"x", O_CREAT | O_WRONLY, 04755, EPERM,
		EBADF },
	{ "openat setuid, no create", SYS_openat, -1, (long)"x", O_RDONLY, 04755, EBADF,
		EBADF },
	{ "openat O_TMPFILE setgid", SYS_openat, -1, (long)"x", O_TMPFILE | O_RDWR, 02755,
		EPERM, EBADF },
	{ "socket AF_PACKET, bad type", SYS_socket, AF_PACKET, 0x7f, 0, 0, EAFNOSUPPORT,
		EINVAL },
	{ "socket AF_INET, bad type", SYS_socket, AF_INET, 0x7f, 0, 0, EINVAL, EINVAL },
	{ "ptrace", SYS_ptrace, 3, 0x7ffffff0, 0, 0, EPERM, ESRCH },
};

static int attempt(const struct call *c)
{
	return syscall(c->nr, c->a0, c->a1, c->a2, c->a3, 0, 0) < 0 ? errno : 0;
}

static int load(int fd)
{
	struct sock_filter prog[4096];
	ssize_t n = pread(fd, prog, sizeof(prog), 0);
	struct sock_fprog p = { .len = (unsigned short)((size_t)n / sizeof(*prog)),
		.filter = prog };

	if (n <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
}

/* errno of the call in a child that has loaded the filter; -1 when it could not be loaded. */
static int under_filter(int fd, const struct call *c)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(load(fd) < 0 ? 255 : attempt(c));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

static void call_row(void **state)
{
	const struct {
		const char *name;
		const struct call *c;
	} *r = *state;
	struct sbx_error e = { 0 };
	SBX_CLEANUP_FD int fd = sbx_filter_memfd(NULL, &e);

	assert_true(fd >= 0);
	assert_int_equal(attempt(r->c), r->c->without);
	assert_int_equal(under_filter(fd, r->c), r->c->with);
}

static void a_skipped_row_is_open(void **state)
{
	size_t n;
	const struct sbx_filter_row *rows = sbx_filter_rows(&n);
	bool skip[256] = { false };
	struct sbx_error e = { 0 };
	SBX_CLEANUP_FD int fd = -1;

	(void)state;
	assert_true(n < SBX_ARRAY_SIZE(skip));
	for (size_t i = 0; i < n; i++)
		skip[i] = strcmp(rows[i].name, "setns") == 0;
	fd = sbx_filter_memfd(skip, &e);
	assert_true(fd >= 0);
	assert_int_equal(under_filter(fd, &calls[1]), EBADF);
	assert_int_equal(under_filter(fd, &calls[0]), EPERM);
}

static void rows_are_complete_and_no_compare_is_64_bits_wide(void **state)
{
	size_t n;
	const struct sbx_filter_row *rows = sbx_filter_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_true(rows[i].err > 0 && rows[i].why != NULL);
		for (int k = 0; k < 2; k++) {
			assert_true(rows[i].cmp[k].mask <= 0xffffffffU);
			assert_int_equal(rows[i].cmp[k].value & ~rows[i].cmp[k].mask, 0);
		}
	}
}

int main(void)
{
	struct {
		const char *name;
		const struct call *c;
	} rows[SBX_ARRAY_SIZE(calls)];
	struct CMUnitTest t[SBX_ARRAY_SIZE(calls)] = { 0 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_skipped_row_is_open),
		cmocka_unit_test(rows_are_complete_and_no_compare_is_64_bits_wide),
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(calls); i++) {
		rows[i].name = calls[i].name;
		rows[i].c = &calls[i];
		t[i] = (struct CMUnitTest){ .name = calls[i].name,
			.test_func = call_row,
			.initial_state = &rows[i] };
	}
	return cmocka_run_group_tests_name("calls", t, NULL, NULL) +
	       cmocka_run_group_tests(tests, NULL, NULL);
}
