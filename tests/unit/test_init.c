/* Pid 1 as a program: what it says, what it forwards, when it ends. Whether it is out of reach
 * for others is sbx-verify's to show. */
#include "init.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int control; /* write end */
	int status; /* read end */
};

static int inheritable(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
	return fd;
}

/* As a container's filter may refuse them: the call is there, the domain is not to be had. */
static void forbid_landlock(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || ctx == NULL ||
		seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES),
			446 /* landlock_restrict_self */, 0) < 0 ||
		seccomp_load(ctx) < 0)
		_exit(98);
}

static void start_limited(struct child *c, char *const cmd[], void (*before)(void),
	const struct sbx_plan *plan)
{
	int control[2], status[2], image = sbx_init_memfd();
	struct sbx_strv argv = { 0 };

	assert_true(image > 2);
	assert_int_equal(sbx_pipe(control), 0);
	assert_int_equal(sbx_pipe(status), 0);
	sbx_init_words(&argv,
		&(struct sbx_init_fds){ .image = image,
			.control = control[0],
			.status = status[1],
			.keeper = -1 },
		plan, 0);
	for (; *cmd; cmd++)
		sbx_strv_add(&argv, *cmd);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		inheritable(image);
		inheritable(control[0]);
		inheritable(status[1]);
		if (before)
			before();
		execv(argv.v[0], argv.v);
		_exit(99);
	}
	sbx_strv_done(&argv);
	close(image);
	close(control[0]);
	close(status[1]);
	c->control = control[1];
	c->status = status[0];
}

static void start_after(struct child *c, char *const cmd[], void (*before)(void))
{
	start_limited(c, cmd, before, &(struct sbx_plan){ 0 });
}

static void start(struct child *c, char *const cmd[])
{
	start_after(c, cmd, NULL);
}

/* All that it said, and its exit status. */
static int end(struct child *c, char *said, size_t max)
{
	size_t len = 0;
	int status;
	ssize_t n;

	while ((n = read(c->status, said + len, max - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	close(c->status);
	sbx_close_fd(&c->control);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const struct row {
	const char *name;
	const char *script;
	const char *says;
	int code;
} rows[] = {
	{ "zero", "exit 0", "\nexit 0\n", 0 },
	{ "seven", "exit 7", "\nexit 7\n", 7 },
	{ "255", "exit 255", "\nexit 255\n", 255 },
	{ "killed", "kill -KILL $$", "\nsignal 9\n", 137 },
	{ "a code that looks like a signal", "exit 137", "\nexit 137\n", 137 },
	{ "orphans that end first", "(exit 3) & (true & exit 4) & wait; exit 5",
		"\nexit 5\n", 5 },
};

static void row(void **state)
{
	const struct row *r = *state;
	char *const cmd[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)r->script,
		NULL };
	struct child c;
	char said[256];

	start(&c, cmd);
	assert_int_equal(end(&c, said, sizeof(said)), r->code);
	assert_int_equal(strncmp(said, "ready ", 6), 0);
	if (strstr(said, r->says) == NULL)
		fail_msg("it said '%s'", said);
}

T_ROWS(codes, rows, row)

static void what_cannot_be_executed_is_told_apart(void **state)
{
	char *const none[] = { (char *)"/nonexistent/x", NULL };
	char *const no[] = { (char *)"/etc/passwd", NULL };
	struct child c;
	char said[256];

	(void)state;
	start(&c, none);
	assert_int_equal(end(&c, said, sizeof(said)), 127);
	assert_non_null(strstr(said, "\nnoexec 2\n"));
	start(&c, no);
	assert_int_equal(end(&c, said, sizeof(said)), 126);
	assert_non_null(strstr(said, "\nnoexec 13\n"));
}

static void a_signal_goes_to_the_command(void **state)
{
	char *dir = t_mkdir();
	SBX_CLEANUP_FREE char *fifo = sbx_xasprintf("%s/up", dir);
	SBX_CLEANUP_FREE char *script = sbx_xasprintf(
		"trap 'exit 42' USR1; echo up >%s; while :; do sleep 0.01; done", fifo);
	char *const cmd[] = { (char *)"sh", (char *)"-c", script, NULL };
	const unsigned char sig = SIGUSR1;
	struct child c;
	char said[256];
	int fd;

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	start(&c, cmd);
	fd = open(fifo, O_RDONLY | O_CLOEXEC); /* waits until it is up */
	assert_true(fd >= 0);
	assert_int_equal(write(c.control, &sig, 1), 1);
	assert_int_equal(end(&c, said, sizeof(said)), 42);
	close(fd);
	t_rmdir(dir);
}

/* Without a namespace of its own the command stays behind; the fifo ends it. */
static void it_ends_with_its_runner(void **state)
{
	char *dir = t_mkdir();
	SBX_CLEANUP_FREE char *fifo = sbx_xasprintf("%s/open", dir);
	SBX_CLEANUP_FREE char *script = sbx_xasprintf("exec cat <%s", fifo);
	char *const cmd[] = { (char *)"sh", (char *)"-c", script, NULL };
	struct child c;
	char said[256];
	int fd;

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	start(&c, cmd);
	fd = open(fifo, O_WRONLY | O_CLOEXEC); /* waits until it is up */
	close(c.control);
	c.control = -1;
	assert_int_equal(end(&c, said, sizeof(said)), 137);
	assert_null(strstr(said, "exit"));
	close(fd);
	t_rmdir(dir);
}

static void the_command_has_none_of_its_descriptors(void **state)
{
	char *const cmd[] = { (char *)"sh", (char *)"-c",
		(char *)"for i in 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$i ] && "
			"readlink /proc/self/fd/$i | grep -q -e pipe -e memfd && exit 1; done; "
			"exit 0",
		NULL };
	struct child c;
	char said[256];

	(void)state;
	start(&c, cmd);
	assert_int_equal(end(&c, said, sizeof(said)), 0);
}

static void a_refused_domain_means_that_nothing_runs(void **state)
{
	char *const cmd[] = { (char *)"sh", (char *)"-c", (char *)"exit 42", NULL };
	long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* version */);
	struct child c;
	char said[256];

	(void)state;
	start_after(&c, cmd, forbid_landlock);
	if (abi < 6) { /* nothing to be refused */
		assert_int_equal(end(&c, said, sizeof(said)), 42);
		return;
	}
	assert_int_equal(end(&c, said, sizeof(said)), 125);
	assert_string_equal(said, "unheld 13\nexit 125\n");
}

static int run_with_limit(const char *resource, const char *value, char *said, size_t max)
{
	char *const cmd[] = { (char *)"sh", (char *)"-c",
		(char *)"[ $(ulimit -Sn).$(ulimit -Hn) = 64.64 ] && exit 42; exit 1",
		NULL };
	struct sbx_plan plan = { 0 };
	struct child c;

	sbx_plan_add(&plan, SBX_OP_LIMIT, value, resource, "x");
	start_limited(&c, cmd, NULL, &plan);
	sbx_plan_done(&plan);
	return end(&c, said, max);
}

static void limits_are_the_commands_soft_and_hard(void **state)
{
	char said[256];

	(void)state;
	assert_int_equal(run_with_limit("nofile", "64", said, sizeof(said)), 42);
}

static void a_limit_that_cannot_be_set_means_that_nothing_runs(void **state)
{
	static const char *const bad[][2] = {
		{ "no such limit", "64" }, /* -1 for pid 1 */
		{ "nofile", "64x" },
		{ "nofile", "" },
		{ "nofile", "-1" },
		{ "nofile", "64," },
		{ "nofile", "99999999999999999999" },
	};
	char said[256];

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		assert_int_equal(
			run_with_limit(bad[i][0], bad[i][1], said, sizeof(said)), 125);
		assert_int_equal(strncmp(said, "unset ", 6), 0);
	}
	/* What the kernel itself refuses: more descriptors than it has for anybody. */
	assert_int_equal(
		run_with_limit("nofile", "18446744073709551614", said, sizeof(said)),
		125);
	assert_string_equal(said, "unset 1\nexit 125\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_executed_is_told_apart),
		cmocka_unit_test(a_signal_goes_to_the_command),
		cmocka_unit_test(it_ends_with_its_runner),
		cmocka_unit_test(the_command_has_none_of_its_descriptors),
		cmocka_unit_test(a_refused_domain_means_that_nothing_runs),
		cmocka_unit_test(limits_are_the_commands_soft_and_hard),
		cmocka_unit_test(a_limit_that_cannot_be_set_means_that_nothing_runs),
	};

	return codes() + cmocka_run_group_tests(tests, NULL, NULL);
}
