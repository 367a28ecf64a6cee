/* The relay between terminals, with real ones and a real bwrap. */
#include "runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <termios.h>
#include <unistd.h>

static int null(void)
{
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

struct terminal {
	int master, slave;
	struct termios cooked;
	struct reader seen;
};

/* It becomes the terminal of our session. */
static void open_terminal(struct terminal *t)
{
	struct winsize size = { .ws_row = 33, .ws_col = 101 };
	char name[64];

	memset(t, 0, sizeof(*t));
	t->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(unlockpt(t->master), 0);
	assert_int_equal(ptsname_r(t->master, name, sizeof(name)), 0);
	t->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(ioctl(t->slave, TIOCSCTTY, 0), 0);
	assert_int_equal(ioctl(t->master, TIOCSWINSZ, &size), 0);
	assert_int_equal(tcgetattr(t->slave, &t->cooked), 0);
	t->cooked.c_lflag &= ~(tcflag_t)ECHOCTL; /* something to be recognised by */
	assert_int_equal(tcsetattr(t->slave, TCSANOW, &t->cooked), 0);
}

static void close_terminal(struct terminal *t)
{
	tcsetpgrp(t->slave, getpgrp());
	assert_int_equal(ioctl(t->slave, TIOCNOTTY), 0);
	close(t->slave);
	close(t->master);
}

static void type(const struct terminal *t, const char *keys)
{
	assert_int_equal(sbx_write_all(t->master, keys, strlen(keys)), 0);
}

static void see(struct terminal *t, const char *text)
{
	runner_until(&t->seen, t->master, text);
}

static bool is_raw(const struct terminal *t)
{
	struct termios now;

	assert_int_equal(tcgetattr(t->slave, &now), 0);
	return !(now.c_lflag & ICANON);
}

static void assert_restored(const struct terminal *t)
{
	struct termios now;

	assert_int_equal(tcgetattr(t->slave, &now), 0);
	assert_int_equal(now.c_lflag, t->cooked.c_lflag);
	assert_int_equal(now.c_iflag, t->cooked.c_iflag);
	assert_int_equal(now.c_oflag, t->cooked.c_oflag);
	assert_memory_equal(now.c_cc, t->cooked.c_cc, sizeof(now.c_cc));
}

static pid_t start_on(const struct terminal *t, const char *script)
{
	return runner_start(&(struct job){
		.script = script, .fds = { t->slave, t->slave, t->slave } });
}

static void the_terminal_is_the_sandboxs_own(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t,
		"tty; stty size; stty -a | grep -o -e '-echoctl'; "
		"echo by-tty >/dev/tty; ls /dev/console; "
		"ps -o tpgid= -p $$ | grep -qx \" *$$\" && echo in front; echo end");
	see(&t, "/dev/pts/0\r\n33 101\r\n-echoctl\r\nby-tty\r\n");
	see(&t, "cannot access '/dev/console'");
	see(&t, "in front\r\nend\r\n");
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	close_terminal(&t);
}

static void keys_reach_the_command(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "echo up; read x; echo got $x; cat; echo end");
	see(&t, "up\r\n");
	assert_true(is_raw(&t));
	type(&t, "a\177word\r"); /* edited inside */
	see(&t, "got word\r\n");
	type(&t, "\004");
	see(&t, "end\r\n");
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	close_terminal(&t);
}

static void ctrl_c_ends_the_command(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "echo up; exec sleep 1000");
	see(&t, "up\r\n");
	type(&t, "\003");
	assert_int_equal(runner_await(pid), 128 + SIGINT);
	assert_restored(&t);
	pid = start_on(&t, "echo up; exec sleep 1000");
	see(&t, "up\r\n");
	type(&t, "\034");
	assert_int_equal(runner_await(pid), 128 + SIGQUIT);
	assert_restored(&t);
	close_terminal(&t);
}

static void a_signal_to_the_runner_is_the_commands(void **state)
{
	static const int sigs[] = { SIGTERM, SIGHUP, SIGINT, SIGUSR1 };
	struct terminal t;

	(void)state;
	open_terminal(&t);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(sigs); i++) {
		pid_t pid = start_on(&t, "trap 'echo told; exit 9' TERM HUP INT USR1; "
					 "echo up; while :; do sleep 0.01; done");

		see(&t, "up\r\n");
		kill(pid, sigs[i]);
		see(&t, "told\r\n");
		assert_int_equal(runner_await(pid), 9);
		assert_restored(&t);
	}
	close_terminal(&t);
}

static void a_new_size_is_told(void **state)
{
	struct winsize size = { .ws_row = 20, .ws_col = 70 };
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "trap 'stty size; exit 0' WINCH; echo up; "
			   "while :; do sleep 0.01; done");
	see(&t, "up\r\n");
	assert_int_equal(ioctl(t.master, TIOCSWINSZ, &size), 0);
	see(&t, "20 70\r\n");
	assert_int_equal(runner_await(pid), 0);
	close_terminal(&t);
}

/* The size inside is the command's to play with. */
static void what_the_command_sets_stays_inside(void **state)
{
	struct winsize size;
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "stty rows 7 cols 8 -echo -icanon; echo up; exec sleep 1000");
	see(&t, "up\r\n");
	kill(pid, SIGKILL); /* nothing can be restored now but what was never touched */
	assert_int_equal(runner_await(pid), 2000 + SIGKILL);
	assert_int_equal(ioctl(t.slave, TIOCGWINSZ, &size), 0);
	assert_int_equal(size.ws_row, 33);
	assert_int_equal(fcntl(t.slave, F_GETFL) & O_NONBLOCK, 0);
	close_terminal(&t);
}

static size_t waiting_in(const struct terminal *t)
{
	int n = -1;

	/* raw, so that what is no line counts as well */
	struct termios raw = t->cooked;

	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(t->slave, TCSANOW, &raw), 0);
	assert_int_equal(ioctl(t->slave, FIONREAD, &n), 0);
	return (size_t)n;
}

/* What nobody has read when the command ends is not for the shell. */
static void what_was_typed_ahead_is_thrown_away(void **state)
{
	struct terminal t;
	char much[1024];
	int n = 0;
	pid_t pid;

	(void)state;
	memset(much, 'x', sizeof(much));
	open_terminal(&t);
	pid = start_on(&t, "stty raw -echo; echo up; trap 'exit 0' TERM; "
			   "while :; do sleep 0.01; done");
	see(&t, "up");
	assert_int_equal(fcntl(t.master, F_SETFL, O_RDWR | O_NONBLOCK), 0);
	/* Until it stands in the user's own terminal, for nobody takes it further. */
	for (int quiet = 0; quiet < 50;) {
		if (write(t.master, much, sizeof(much)) > 0)
			quiet = 0;
		assert_int_equal(ioctl(t.slave, FIONREAD, &n), 0);
		quiet += n > 0;
		poll(NULL, 0, 1);
	}
	assert_true(n > 0);
	kill(pid, SIGTERM);
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	assert_int_equal(waiting_in(&t), 0);
	close_terminal(&t);
}

/* Nor are answers that come from far away: they are waited for. */
static void late_answers_are_not_typed_into_the_shell(void **state)
{
	struct terminal t;
	int ended;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "printf '\\033[6n\\033[5n'");
	see(&t, "\033[6n\033[5n");
	see(&t, "\033[5n"); /* not the command's */
	type(&t, "\033[1;1R\033[0n");
	ended = pidfd_open(pid, 0);
	assert_int_equal(
		poll(&(struct pollfd){ .fd = ended, .events = POLLIN }, 1, 200), 0);
	close(ended);
	type(&t, "\033[0n");
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	assert_int_equal(waiting_in(&t), 0);
	close_terminal(&t);
}

static void a_terminal_that_does_not_answer_is_not_awaited_for_ever(void **state)
{
	struct terminal t;

	(void)state;
	open_terminal(&t);
	assert_int_equal(runner_await(start_on(&t, "printf '\\033[6n'")), 0);
	assert_restored(&t);
	close_terminal(&t);
}

/* bwrap's own messages name files of the project. */
static void messages_of_bwrap_do_not_act(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = runner_start(&(struct job){
		.broken = true, .script = "true", .fds = { t.slave, t.slave, t.slave } });
	see(&t, "--no-such-option?]52;c;aGk=?\r\n");
	assert_int_equal(runner_await(pid), NO_START);
	assert_restored(&t);
	close_terminal(&t);
}

static void bring_back(const struct terminal *t, pid_t pid)
{
	tcsetpgrp(t->slave, pid);
	kill(-pid, SIGCONT);
}

/* What is typed before the command goes on again would be too early, so it says so. And it makes
 * no process: a stop in the middle of a vfork() stops the new one alone. */
static void ctrl_z_stops_command_and_runner(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t,
		"trap 'echo again' CONT; trap 'echo done; exit 7' INT; echo up; "
		"while :; do read x; done");
	see(&t, "up\r\n");
	for (int i = 0; i < 3; i++) {
		type(&t, "\032");
		assert_int_equal(runner_await(pid), 1000 + SIGTSTP);
		assert_restored(&t);
		bring_back(&t, pid);
		see(&t, "again\r\n");
		assert_true(is_raw(&t));
	}
	type(&t, "\003");
	see(&t, "done\r\n");
	assert_int_equal(runner_await(pid), 7);
	assert_restored(&t);
	close_terminal(&t);
}

static void a_command_that_stops_itself_stops_the_runner(void **state)
{
	struct reader out = { 0 };
	struct terminal t;
	pid_t pid;
	int p[2];

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "kill -STOP $$; echo on; exit 4");
	assert_int_equal(runner_await(pid), 1000 + SIGSTOP);
	assert_restored(&t);
	bring_back(&t, pid);
	see(&t, "on\r\n");
	assert_int_equal(runner_await(pid), 4);
	close_terminal(&t);
	/* and without a terminal */
	assert_int_equal(sbx_pipe(p), 0);
	pid = runner_start(&(struct job){
		.script = "kill -STOP $$; echo on; exit 5", .fds = { null(), p[1], 2 } });
	assert_int_equal(runner_await(pid), 1000 + SIGSTOP);
	kill(pid, SIGCONT);
	runner_until(&out, p[0], "on\n");
	assert_int_equal(runner_await(pid), 5);
	close(p[0]);
	close(p[1]);
}

/* The status is not lost among the reports of stops. */
static void many_stops_do_not_hide_the_end(void **state)
{
	int out = null();
	pid_t pid = runner_start(&(struct job){
		.script =
			"me=$$; (while kill -CONT $me; do :; done) & i=0; "
			"while [ $i -lt 100 ]; do kill -STOP $$; i=$((i+1)); done; exit 6",
		.fds = { out, out, 2 } });
	int code;

	(void)state;
	while ((code = runner_await(pid)) == 1000 + SIGSTOP)
		kill(pid, SIGCONT);
	assert_int_equal(code, 6);
	close(out);
}

/* "| less": the terminal is the pager's until the command asks. */
static void a_terminal_in_a_pipeline_is_taken_late(void **state)
{
	struct reader out = { 0 };
	struct terminal t;
	int p[2];
	pid_t pid;

	(void)state;
	open_terminal(&t);
	assert_int_equal(sbx_pipe(p), 0);
	pid = runner_start(&(struct job){
		.script =
			"echo up; echo err >&2; IFS= read go; echo $go; exec sleep 1000",
		.fds = { t.slave, p[1], t.slave } });
	runner_until(&out, p[0], "up\n");
	see(&t, "err\r\n");
	/* it asks as soon as it reads; that it did not before is the next test's */
	while (!is_raw(&t))
		poll(NULL, 0, 1);
	type(&t, "key\r");
	runner_until(&out, p[0], "key\n");
	type(&t, "\003");
	assert_int_equal(runner_await(pid), 128 + SIGINT);
	assert_restored(&t);
	close(p[0]);
	close(p[1]);
	close_terminal(&t);
}

static void a_terminal_nobody_asks_for_is_left_alone(void **state)
{
	struct reader out = { 0 };
	struct terminal t;
	char key[8];
	int p[2];
	pid_t pid;

	(void)state;
	open_terminal(&t);
	assert_int_equal(sbx_pipe(p), 0);
	pid = runner_start(&(struct job){
		.script =
			"echo up; printf 'a\\r\\nb\\n' >&2; while :; do sleep 0.01; done",
		.fds = { t.slave, p[1], t.slave } });
	runner_until(&out, p[0], "up\n");
	/* byte for byte as without a relay: one return, not two */
	see(&t, "a\r\r\nb\r\n");
	assert_false(is_raw(&t));
	type(&t, "k\n");
	see(&t, "k\r\n"); /* the echo */
	/* ours to read, as a pager's of the same job */
	tcsetpgrp(t.slave, getpgrp());
	assert_int_equal(read(t.slave, key, sizeof(key)), 2);
	tcsetpgrp(t.slave, pid);
	type(&t, "\003");
	assert_int_equal(runner_await(pid), 128 + SIGINT);
	close(p[0]);
	close(p[1]);
	close_terminal(&t);
}

static void input_from_a_pipe_and_a_terminal_for_the_rest(void **state)
{
	struct terminal t;
	int p[2];
	pid_t pid;

	(void)state;
	open_terminal(&t);
	assert_int_equal(sbx_pipe(p), 0);
	pid = runner_start(
		&(struct job){ .script = "cat; read key </dev/tty; echo key $key",
			.fds = { p[0], t.slave, t.slave } });
	close(p[0]);
	assert_int_equal(sbx_write_all(p[1], "text\n", 5), 0);
	see(&t, "text\r\n");
	close(p[1]);
	while (!is_raw(&t))
		poll(NULL, 0, 1);
	type(&t, "x\r");
	see(&t, "key x\r\n");
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	close_terminal(&t);
}

static void in_the_background_it_waits_for_its_turn(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = runner_start(&(struct job){ .script = "echo up; read x; echo got $x",
		.fds = { t.slave, t.slave, t.slave },
		.background = true });
	see(&t, "up\r\n");
	assert_int_equal(runner_await(pid), 1000 + SIGTTIN);
	assert_restored(&t);
	bring_back(&t, pid);
	while (!is_raw(&t))
		poll(NULL, 0, 1);
	type(&t, "it\r");
	see(&t, "got it\r\n");
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	close_terminal(&t);
}

static void only_the_screen_is_reached(void **state)
{
	struct terminal t;

	(void)state;
	open_terminal(&t);
	assert_int_equal(
		runner_await(start_on(
			&t, "printf 'A\\033]52;c;eA==\\aB\\033[1mC\\033[?1003hD\\n'")),
		0);
	see(&t, "AB\033[1mC\033[?1003hD\r\n\033[?1003l");
	close_terminal(&t);
}

/* 2000 lines, so that the terminal is not empty when the command ends. */
static void what_was_written_last_is_shown(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(
		&t, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done");
	for (int i = 0; i < 2000; i++) {
		char line[32];

		snprintf(line, sizeof(line), "line %d\r\n", i);
		see(&t, line);
	}
	assert_int_equal(runner_await(pid), 0);
	assert_restored(&t);
	close_terminal(&t);
}

static void a_terminal_that_goes_away_takes_the_command_along(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	open_terminal(&t);
	pid = start_on(&t, "echo up; exec sleep 1000");
	see(&t, "up\r\n");
	close(t.master);
	assert_int_equal(runner_await(pid), 128 + SIGHUP);
	ioctl(t.slave, TIOCNOTTY);
	close(t.slave);
}

static int all_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_terminal_is_the_sandboxs_own),
		cmocka_unit_test(keys_reach_the_command),
		cmocka_unit_test(ctrl_c_ends_the_command),
		cmocka_unit_test(a_signal_to_the_runner_is_the_commands),
		cmocka_unit_test(a_new_size_is_told),
		cmocka_unit_test(messages_of_bwrap_do_not_act),
		cmocka_unit_test(what_was_typed_ahead_is_thrown_away),
		cmocka_unit_test(late_answers_are_not_typed_into_the_shell),
		cmocka_unit_test(a_terminal_that_does_not_answer_is_not_awaited_for_ever),
		cmocka_unit_test(what_the_command_sets_stays_inside),
		cmocka_unit_test(ctrl_z_stops_command_and_runner),
		cmocka_unit_test(a_command_that_stops_itself_stops_the_runner),
		cmocka_unit_test(many_stops_do_not_hide_the_end),
		cmocka_unit_test(a_terminal_in_a_pipeline_is_taken_late),
		cmocka_unit_test(a_terminal_nobody_asks_for_is_left_alone),
		cmocka_unit_test(input_from_a_pipe_and_a_terminal_for_the_rest),
		cmocka_unit_test(in_the_background_it_waits_for_its_turn),
		cmocka_unit_test(only_the_screen_is_reached),
		cmocka_unit_test(what_was_written_last_is_shown),
		cmocka_unit_test(a_terminal_that_goes_away_takes_the_command_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return runner_main(all_tests);
}
