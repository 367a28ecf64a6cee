/* The relay between pipes, files and sockets, with a real bwrap. */
#include "runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

static int null(void)
{
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static const struct code {
	const char *name;
	const char *script;
	int code;
} codes[] = {
	{ "zero", "exit 0", 0 },
	{ "seven", "exit 7", 7 },
	{ "killed", "kill -KILL $$", 137 },
	{ "with a grandchild that holds all", "sleep 1000 & exit 3", 3 },
	{ "no standard input", "[ \"$(readlink /proc/self/fd/0)\" = /dev/null ]", 0 },
	{ "pipes", "for i in 1 2; do [ -p /proc/$$/fd/$i ] || exit 1; done", 0 },
	{ "nothing else", "set -- /proc/$$/fd/*; [ $# -le 4 ]", 0 },
};

static void code(void **state)
{
	const struct code *c = *state;
	struct reader out = { 0 };
	int p[2];

	assert_int_equal(sbx_pipe(p), 0);
	assert_int_equal(runner_await(runner_start(&(struct job){
				 .script = c->script, .fds = { null(), p[1], p[1] } })),
		c->code);
	close(p[1]);
	runner_to_end(&out, p[0]);
	assert_string_equal(out.text, "");
	close(p[0]);
}

T_ROWS(codes_arrive, codes, code)

#define MUCH (10 << 20)

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i ^ i >> 8 ^ i >> 16);
}

static pid_t write_much(int fd, size_t n, int reader)
{
	pid_t pid = fork();

	if (pid == 0) {
		unsigned char buf[5000];

		close(reader);
		for (size_t i = 0; i < n; i += sizeof(buf)) {
			size_t k = n - i < sizeof(buf) ? n - i : sizeof(buf);

			for (size_t m = 0; m < k; m++)
				buf[m] = pattern(i + m);
			if (sbx_write_all(fd, buf, k) < 0)
				_exit(1);
		}
		_exit(0);
	}
	return pid;
}

static void ten_megabytes_arrive_as_they_were(int in_fd, int in_write)
{
	int out[2], n = 0;
	size_t at = 0;
	pid_t pid, writer = -1;
	unsigned char buf[65536];

	assert_int_equal(sbx_pipe(out), 0);
	if (in_write >= 0) {
		writer = write_much(in_write, MUCH, in_fd);
		close(in_write);
	}
	pid = runner_start(&(struct job){ .script = "cat", .fds = { in_fd, out[1], 2 } });
	close(in_fd);
	close(out[1]);
	while ((n = (int)read(out[0], buf, sizeof(buf))) > 0)
		for (int i = 0; i < n; i++, at++)
			if (buf[i] != pattern(at))
				fail_msg("byte %zu differs", at);
	assert_int_equal(at, MUCH);
	assert_int_equal(runner_await(pid), 0);
	if (writer > 0)
		assert_int_equal(runner_await(writer), 0);
	close(out[0]);
}

static void much_through_pipes(void **state)
{
	int in[2];

	(void)state;
	assert_int_equal(sbx_pipe(in), 0);
	ten_megabytes_arrive_as_they_were(in[0], in[1]);
}

static void much_through_a_socket(void **state)
{
	int in[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	ten_megabytes_arrive_as_they_were(in[0], in[1]);
}

static void much_from_a_file_to_a_file(void **state)
{
	SBX_CLEANUP_FREE char *a = sbx_xasprintf("%s/a", runner_dir);
	SBX_CLEANUP_FREE char *b = sbx_xasprintf("%s/b", runner_dir);
	int from = open(a, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int to = open(b, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	unsigned char buf[4096];
	size_t at = 0;
	ssize_t n;

	(void)state;
	assert_int_equal(runner_await(write_much(from, MUCH, -1)), 0);
	lseek(from, 0, SEEK_SET);
	assert_int_equal(runner_await(runner_start(&(struct job){
				 .script = "cat", .fds = { from, to, 2 } })),
		0);
	lseek(to, 0, SEEK_SET);
	while ((n = read(to, buf, sizeof(buf))) > 0)
		for (int i = 0; i < n; i++, at++)
			assert_int_equal(buf[i], pattern(at));
	assert_int_equal(at, MUCH);
	close(from);
	close(to);
}

/* What was written before the end is there after the end, also when nobody reads yet. */
static void what_was_written_last_arrives(void **state)
{
	struct reader out = { 0 };
	int p[2];
	pid_t pid;

	(void)state;
	assert_int_equal(sbx_pipe(p), 0);
	assert_int_equal(fcntl(p[1], F_SETPIPE_SZ, 4096), 4096);
	pid = runner_start(
		&(struct job){ .script = "yes 0123456789abcde | head -n 3000; echo end",
			.fds = { null(), p[1], 2 } });
	close(p[1]);
	runner_until(&out, p[0], "0123456789abcde\n");
	runner_to_end(&out, p[0]);
	assert_int_equal(out.len, 2999 * 16 + 4);
	assert_int_equal(runner_await(pid), 0);
	close(p[0]);
}

static void both_outputs_in_one_pipe_keep_their_order(void **state)
{
	struct reader out = { 0 };
	const char *at = out.text;
	int p[2];

	(void)state;
	assert_int_equal(sbx_pipe(p), 0);
	assert_int_equal(
		runner_await(runner_start(&(struct job){
			.script = "i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; "
				  "i=$((i+1)); done",
			.fds = { null(), p[1], p[1] } })),
		0);
	close(p[1]);
	runner_to_end(&out, p[0]);
	for (int i = 0; i < 500; i++) {
		char want[32];

		snprintf(want, sizeof(want), "o%d\ne%d\n", i, i);
		assert_int_equal(strncmp(at, want, strlen(want)), 0);
		at += strlen(want);
	}
	assert_string_equal(at, "");
	close(p[0]);
}

static void a_command_whose_reader_is_gone_is_told(void **state)
{
	struct reader out = { 0 };
	int p[2];
	pid_t pid;

	(void)state;
	assert_int_equal(sbx_pipe(p), 0);
	pid = runner_start(
		&(struct job){ .script = "exec yes", .fds = { null(), p[1], 2 } });
	close(p[1]);
	runner_until(&out, p[0], "y\n");
	close(p[0]);
	assert_int_equal(runner_await(pid), 128 + SIGPIPE);
}

/* Also one that writes nothing at the time: poll() tells it. */
static void who_writes_to_a_command_that_reads_no_more_is_told(void **state)
{
	struct reader out = { 0 };
	int in[2], up[2];
	pid_t pid, writer;

	(void)state;
	assert_int_equal(sbx_pipe(in), 0);
	assert_int_equal(sbx_pipe(up), 0);
	signal(SIGPIPE, SIG_DFL);
	writer = write_much(in[1], MUCH, in[0]);
	signal(SIGPIPE, SIG_IGN);
	close(in[1]);
	pid = runner_start(
		&(struct job){ .script = "exec <&-; echo shut; exec sleep 1000",
			.fds = { in[0], up[1], 2 },
			.let_go = true });
	close(in[0]);
	runner_until(&out, up[0], "shut\n");
	assert_int_equal(runner_await(writer), 2000 + SIGPIPE);
	kill(pid, SIGTERM);
	assert_int_equal(runner_await(pid), 128 + SIGTERM);
	close(up[0]);
	close(up[1]);
}

static void who_reads_from_a_command_that_writes_no_more_is_told(void **state)
{
	struct reader out = { 0 };
	int p[2];
	pid_t pid;

	(void)state;
	assert_int_equal(sbx_pipe(p), 0);
	pid = runner_start(
		&(struct job){ .script = "echo last; exec >&-; exec sleep 1000",
			.fds = { null(), p[1], 2 },
			.let_go = true });
	close(p[1]);
	runner_to_end(&out, p[0]);
	assert_string_equal(out.text, "last\n");
	kill(pid, SIGTERM);
	assert_int_equal(runner_await(pid), 128 + SIGTERM);
	close(p[0]);
}

/* The first child of pid that has that name; 0: there is none. */
static pid_t child_named(pid_t pid, const char *name)
{
	SBX_CLEANUP_FREE char *path =
		sbx_xasprintf("/proc/%d/task/%d/children", pid, pid);
	SBX_CLEANUP_FREE char *list = NULL;
	char *at, *end;

	assert_int_equal(sbx_read_file(path, 4096, &list, NULL), 0);
	for (at = list;; at = end) {
		long child = strtol(at, &end, 10);
		SBX_CLEANUP_FREE char *comm = sbx_xasprintf("/proc/%ld/comm", child);
		SBX_CLEANUP_FREE char *is = NULL;

		if (end == at)
			return 0;
		if (sbx_read_file(comm, 64, &is, NULL) == 0 &&
			strncmp(is, name, strlen(name)) == 0)
			return (pid_t)child;
	}
}

static bool has_open(pid_t pid, int number, const struct stat *what)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("/proc/%d/fd/%d", pid, number);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_dev == what->st_dev && st.st_ino == what->st_ino;
}

/* What it says itself comes through a pipe of ours, to be written and no more. */
static void bwrap_itself_has_nothing_of_the_users(void **state)
{
	struct reader out = { 0 };
	int p[3][2];
	pid_t pid, bwrap;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(sbx_pipe(p[i]), 0);
	pid = runner_start(&(struct job){ .script = "echo up; exec sleep 1000",
		.fds = { p[0][0], p[1][1], p[2][1] } });
	runner_until(&out, p[1][0], "up\n");
	bwrap = child_named(pid, "bwrap");
	assert_true(bwrap > 0);
	for (int i = 0; i < 3; i++) {
		struct stat st;

		assert_int_equal(fstat(p[i][0], &st), 0);
		for (int k = 0; k < 3; k++)
			assert_false(has_open(bwrap, k, &st));
	}
	kill(pid, SIGTERM);
	assert_int_equal(runner_await(pid), 128 + SIGTERM);
	for (int i = 0; i < 3; i++) {
		close(p[i][0]);
		close(p[i][1]);
	}
}

static void a_full_disk_is_told(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(runner_await(runner_start(&(struct job){
				 .script = "echo x", .fds = { null(), full, 2 } })),
		LOST);
	close(full);
}

static void a_command_that_takes_too_long_is_ended(void **state)
{
	int out = null();

	(void)state;
	assert_int_equal(
		runner_await(runner_start(&(struct job){ .script = "echo x; sleep 1000",
			.fds = { out, out, 2 },
			.timeout = 300 })),
		TIMED_OUT);
	close(out);
}

static void messages_of_bwrap_arrive(void **state)
{
	struct reader out = { 0 };
	int p[2];

	(void)state;
	assert_int_equal(sbx_pipe(p), 0);
	assert_int_equal(runner_await(runner_start(&(struct job){ .broken = true,
				 .script = "true",
				 .fds = { null(), null(), p[1] } })),
		NO_START);
	close(p[1]);
	runner_until(&out, p[0], "no-such-option");
	close(p[0]);
}

static int all_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(much_through_pipes),
		cmocka_unit_test(much_through_a_socket),
		cmocka_unit_test(much_from_a_file_to_a_file),
		cmocka_unit_test(what_was_written_last_arrives),
		cmocka_unit_test(both_outputs_in_one_pipe_keep_their_order),
		cmocka_unit_test(a_command_whose_reader_is_gone_is_told),
		cmocka_unit_test(who_writes_to_a_command_that_reads_no_more_is_told),
		cmocka_unit_test(who_reads_from_a_command_that_writes_no_more_is_told),
		cmocka_unit_test(bwrap_itself_has_nothing_of_the_users),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(a_command_that_takes_too_long_is_ended),
		cmocka_unit_test(messages_of_bwrap_arrive),
	};

	return codes_arrive() + cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return runner_main(all_tests);
}
