/* The launch against stand-ins for bwrap, each a small script with one defect, and the
 * hygiene between fork and exec as a child program sees it. */
#include "keeper_mark.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
	char *dir, *fake;
	struct sbx_host h;
	struct sbx_plan plan;
};

static int make_world(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));

	w->dir = t_mkdir();
	w->fake = sbx_xasprintf("%s/bwrap", w->dir);
	t_host_debian(&w->h, "/srv/app");
	free(w->h.bwrap.path);
	w->h.bwrap.path = sbx_xstrdup(w->fake);
	w->h.bwrap.mode = 0100755;
	sbx_strv_add(&w->h.environ, "SECRET=leak");
	sbx_plan_add(&w->plan, SBX_OP_ENV, "v", "ALLOWED", "x");
	*state = w;
	return 0;
}

static int end_world(void **state)
{
	struct world *w = *state;

	sbx_plan_done(&w->plan);
	sbx_host_done(&w->h);
	t_rmdir(w->dir);
	free(w->fake);
	free(w);
	return 0;
}

static void write_fake(const struct world *w, const char *script)
{
	FILE *f = fopen(w->fake, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(w->fake, 0755), 0);
}

static struct sbx_launch_opts options(void)
{
	struct sbx_launch_opts o = SBX_LAUNCH_INHERIT;

	o.allow_root = true; /* no sandbox is made here */
	return o;
}

static char *const cmd[] = { (char *)"/bin/true", NULL };

/* Runs the fake with its output on a pipe and returns what it wrote. */
static char *output_of(struct world *w, unsigned skip, struct sbx_exit *ret)
{
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;
	char *buf = sbx_xcalloc(1, 65536);
	size_t len = 0;
	ssize_t n;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	o.out = p[1];
	o.skip_steps = skip;
	assert_int_equal(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e), 0);
	close(p[1]);
	while ((n = read(p[0], buf + len, 65535 - len)) > 0)
		len += (size_t)n;
	close(p[0]);
	assert_int_equal(sbx_launch_wait(&l, 5000, ret), 0);
	sbx_launch_done(&l);
	return buf;
}

static void exit_code_comes_from_the_report(void **state)
{
	struct world *w = *state;
	struct sbx_exit x;

	/* The seventh word is the descriptor that pid 1 reports to. */
	write_fake(w, "eval \"printf 'ready 3\\\\nexit 7\\\\n' >&$7\"\nexit 0");
	free(output_of(w, 0, &x));
	assert_int_equal(x.how, SBX_HOW_EXITED);
	assert_int_equal(x.code, 7);
	assert_int_equal(x.landlock, 3);
	assert_false(x.survivors);
}

/* The sixth word is the descriptor on which pid 1 hears of signals. */
static void a_signal_is_passed_to_pid_1(void **state)
{
	struct world *w = *state;
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;
	struct sbx_exit x;

	write_fake(w, "eval \"sig=\\$(head -c1 <&$6 | od -An -tu1)\"\n"
		      "eval \"printf 'signal %d\\\\n' $sig >&$7\"");
	assert_int_equal(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e), 0);
	assert_int_equal(sbx_launch_signal(&l, SIGUSR1), 0);
	assert_int_equal(sbx_launch_wait(&l, 5000, &x), 0);
	assert_int_equal(x.how, SBX_HOW_EXITED);
	assert_int_equal(x.code, 128 + SIGUSR1);
	/* Nobody is left: an error, and no SIGPIPE. */
	assert_true(sbx_launch_signal(&l, SIGUSR1) < 0);
	sbx_launch_done(&l);
}

static void without_a_report_nothing_has_run(void **state)
{
	struct world *w = *state;
	struct sbx_exit x;

	write_fake(w, "exit 0");
	free(output_of(w, 0, &x));
	assert_int_equal(x.how, SBX_HOW_NOT_STARTED);
	assert_int_equal(x.code, 0);
}

static void who_ignores_sigchld_gets_the_status_too(void **state)
{
	struct world *w = *state;
	struct sbx_exit x;

	write_fake(w, "eval \"printf 'ready 0\\\\nexit 7\\\\n' >&$7\"\nexit 0");
	signal(SIGCHLD, SIG_IGN);
	free(output_of(w, 0, &x));
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(x.how, SBX_HOW_EXITED);
	assert_int_equal(x.code, 7);
}

static void a_killed_monitor_is_told(void **state)
{
	struct world *w = *state;
	struct sbx_exit x;

	write_fake(w, "kill -9 $$");
	free(output_of(w, 0, &x));
	assert_int_equal(x.how, SBX_HOW_KILLED);
	assert_int_equal(x.code, SIGKILL);
}

static void the_deadline_kills(void **state)
{
	struct world *w = *state;
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;
	struct sbx_exit x;

	write_fake(w, "exec sleep 100");
	assert_int_equal(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e), 0);
	assert_int_equal(sbx_launch_wait(&l, 200, &x), 0);
	assert_int_equal(x.how, SBX_HOW_TIMEOUT);
	sbx_launch_done(&l);
}

/* What bwrap says is the sandbox's pid 1 is judged, not bwrap, and does not outlive it. */
static void what_outlives_bwrap_is_killed(void **state)
{
	struct world *w = *state;
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;
	struct sbx_exit x;
	struct pollfd gone = { .events = POLLIN };

	write_fake(w,
		"fd=$(tr '\\0' '\\n' </proc/self/fd/$2 | sed -n '/json-status-fd/{n;p}')\n"
		"sleep 1000 >/dev/null 2>&1 &\n"
		"printf '{\"child-pid\": %d }\\n' $! >/proc/self/fd/$fd\n"
		"eval \"head -c1 <&$6\" >/dev/null");
	assert_int_equal(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e), 0);
	while (l.child_pidfd < 0) {
		struct pollfd p = { .fd = l.status_fd, .events = POLLIN };

		assert_int_equal(poll(&p, 1, 5000), 1);
		sbx_launch_pump(&l);
	}
	gone.fd = fcntl(l.child_pidfd, F_DUPFD_CLOEXEC, 3);
	assert_int_equal(sbx_launch_signal(&l, SIGUSR1), 0);
	assert_int_equal(sbx_launch_wait(&l, 5000, &x), 0);
	assert_true(x.survivors);
	assert_int_equal(poll(&gone, 1, 0), 1);
	close(gone.fd);
	sbx_launch_done(&l);
}

static void a_missing_program_is_an_error_not_an_exit(void **state)
{
	struct world *w = *state;
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;

	assert_true(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e) < 0);
	assert_int_equal(e.code, SBX_E_NOT_INSTALLED);
	sbx_error_done(&e);
	free(w->h.bwrap.path);
	w->h.bwrap.path = NULL;
	assert_true(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e) < 0);
	assert_int_equal(e.code, SBX_E_NOT_INSTALLED);
	assert_non_null(e.remedy);
	sbx_error_done(&e);
}

static void setuid_and_root_are_refused(void **state)
{
	struct world *w = *state;
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;

	w->h.bwrap.mode |= S_ISUID;
	assert_true(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e) < 0);
	assert_int_equal(e.code, SBX_E_SETUID_BWRAP);
	sbx_error_done(&e);
	w->h.bwrap.mode &= ~(mode_t)S_ISUID;
	o.allow_root = false;
	if (geteuid() == 0) {
		assert_true(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e) < 0);
		assert_int_equal(e.code, SBX_E_ROOT);
		sbx_error_done(&e);
	}
}

/* In a user namespace anybody is uid 0. */
static void uid_0_of_any_namespace_is_refused(void **state)
{
	struct world *w = *state;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct sbx_launch_opts o = options();
		SBX_CLEANUP_FREE char *map = sbx_xasprintf("0 %d 1", (int)geteuid());
		struct sbx_error e = { 0 };
		struct sbx_launch l;
		int fd;

		if (unshare(CLONE_NEWUSER) < 0)
			_exit(2);
		fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || sbx_write_all(fd, map, strlen(map)) < 0 || geteuid() != 0)
			_exit(3);
		o.allow_root = false;
		if (sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e) == 0)
			_exit(4);
		_exit(e.code != SBX_E_ROOT);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The facts are older than what another sandbox has put there since. */
static void anothers_placeholder_is_not_taken_for_the_hosts_own(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *claude = sbx_xasprintf("%s/.claude", w->dir);
	const struct timespec times[2] = { { .tv_sec = KEEPER_MARK },
		{ .tv_sec = KEEPER_MARK } };
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;
	struct sbx_exit x;

	free(w->h.workdir.real);
	w->h.workdir.real = sbx_xstrdup(w->dir);
	free(w->h.bwrap.path);
	w->h.bwrap.path = sbx_xstrdup("/usr/bin/true");
	assert_int_equal(mkdir(claude, 0755), 0);
	sbx_plan_add(&w->plan, SBX_OP_RO_BIND, claude, claude, "x")->pin =
		SBX_PIN_WORKDIR;
	free(output_of(w, 0, &x)); /* the host's own */
	assert_int_equal(utimensat(AT_FDCWD, claude, times, 0), 0);
	assert_int_equal(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e), -EEXIST);
	assert_int_equal(e.code, SBX_E_PATH_CHANGED);
	sbx_error_done(&e);
}

static void expect_writable(const struct world *w)
{
	struct sbx_launch_opts o = options();
	struct sbx_error e = { 0 };
	struct sbx_launch l;

	assert_true(sbx_launch_start(&l, &w->plan, &w->h, cmd, &o, &e) < 0);
	assert_string_equal(sbx_error_code_name(e.code), "bwrap-writable");
	assert_non_null(e.remedy);
	sbx_error_done(&e);
}

static void a_bwrap_that_others_write_to_is_refused(void **state)
{
	struct world *w = *state;
	struct sbx_exit x;

	write_fake(w, "true");
	w->h.bwrap.mode = 0100775;
	expect_writable(w);
	w->h.bwrap.mode = 0100757;
	expect_writable(w);
	w->h.bwrap.mode = 0100755;
	free(output_of(w, 0, &x));
}

static void a_bwrap_of_the_payloads_is_refused(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *work = w->h.workdir.real;
	struct sbx_opened bind = { .real = w->dir, .fd = -1, .rw = true };
	struct sbx_exit x;

	write_fake(w, "true");
	w->h.workdir.real = w->dir;
	expect_writable(w);
	/* A link elsewhere does not hide where it is. */
	free(w->h.bwrap.path);
	w->h.bwrap.path = sbx_xstrdup("/usr/bin/bwrap");
	w->h.bwrap.real = sbx_xstrdup(w->fake);
	expect_writable(w);
	w->h.workdir.real = SBX_TAKE_PTR(work);
	w->h.binds = &bind;
	w->h.n_binds = 1;
	expect_writable(w);
	free(w->h.bwrap.path);
	w->h.bwrap.path = sbx_xstrdup(w->fake);
	bind.rw = false;
	free(output_of(w, 0, &x));
	w->h.binds = NULL;
	w->h.n_binds = 0;
	free(w->h.bwrap.real);
	w->h.bwrap.real = sbx_xstrdup("/home/u/.claude/projects/x/bwrap");
	expect_writable(w);
}

/* ---- hygiene: with the step, and with it left out ---- */

static void only_the_plans_environment_is_passed(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL, *without = NULL;
	struct sbx_exit x;

	write_fake(w, "cat /proc/self/environ");
	with = output_of(w, 0, &x);
	assert_string_equal(with, "ALLOWED=v");
	without = output_of(w, SBX_STEP_ENV, &x);
	assert_string_equal(without, "SECRET=leak");
}

static void only_declared_descriptors_are_passed(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL, *without = NULL;
	int leak = fcntl(0, F_DUPFD, 321);
	struct sbx_exit x;

	write_fake(w, "ls /proc/self/fd");
	with = output_of(w, 0, &x);
	assert_null(strstr(with, "321"));
	without = output_of(w, SBX_STEP_CLOSE, &x);
	assert_non_null(strstr(without, "321"));
	close(leak);
}

static void the_commands_words_are_no_options(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL, *without = NULL;
	struct sbx_exit x;

	write_fake(w, "echo $3 ${4%/*} ${14} ${15}");
	with = output_of(w, 0, &x);
	assert_string_equal(with, "-- /proc/self/fd -- /bin/true\n");
	write_fake(w, "echo $3");
	without = output_of(w, SBX_STEP_SEPARATOR | SBX_STEP_INIT, &x);
	assert_string_equal(without, "/bin/true\n");
}

static void the_session_is_its_own(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL, *without = NULL;
	struct sbx_exit x;

	write_fake(w, "cut -d' ' -f6 /proc/$$/stat");
	with = output_of(w, 0, &x);
	assert_int_not_equal(atoi(with), getsid(0));
	without = output_of(w, SBX_STEP_SESSION, &x);
	assert_int_equal(atoi(without), getsid(0));
}

static void signals_are_as_in_a_fresh_process(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL, *without = NULL;
	struct sbx_exit x;

	write_fake(w, "grep SigIgn /proc/self/status");
	signal(SIGUSR1, SIG_IGN);
	with = output_of(w, 0, &x);
	without = output_of(w, SBX_STEP_SIGNALS, &x);
	signal(SIGUSR1, SIG_DFL);
	assert_true(
		(strtoul(strchr(with, '\t'), NULL, 16) & (1UL << (SIGUSR1 - 1))) == 0);
	assert_true(
		(strtoul(strchr(without, '\t'), NULL, 16) & (1UL << (SIGUSR1 - 1))) != 0);
}

static void no_core_is_written(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL;
	struct sbx_exit x;

	write_fake(w, "ulimit -Sc; ulimit -Hc");
	with = output_of(w, 0, &x);
	assert_string_equal(with, "0\n0\n");
}

static void closed_standard_descriptors_are_filled(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *with = NULL, *without = NULL, *cloexec = NULL;
	int keep = fcntl(0, F_DUPFD_CLOEXEC, 10);
	struct sbx_exit x;

	/* F0 of the research: on a closed descriptor bwrap's own handle on the host appears. */
	write_fake(w, "readlink /proc/$$/fd/0");
	close(0);
	with = output_of(w, 0, &x);
	without = output_of(w, SBX_STEP_STDIO, &x);
	/* A descriptor that will not survive the exec leaves the same hole. */
	assert_int_equal(open("/", O_PATH | O_CLOEXEC), 0);
	cloexec = output_of(w, 0, &x);
	dup2(keep, 0);
	close(keep);
	assert_string_equal(with, "/dev/null\n");
	assert_string_not_equal(without, "/dev/null\n");
	assert_string_equal(cloexec, "/dev/null\n");
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(exit_code_comes_from_the_report),
		WORLD_TEST(a_signal_is_passed_to_pid_1),
		WORLD_TEST(without_a_report_nothing_has_run),
		WORLD_TEST(who_ignores_sigchld_gets_the_status_too),
		WORLD_TEST(a_killed_monitor_is_told),
		WORLD_TEST(the_deadline_kills),
		WORLD_TEST(a_missing_program_is_an_error_not_an_exit),
		WORLD_TEST(what_outlives_bwrap_is_killed),
		WORLD_TEST(setuid_and_root_are_refused),
		WORLD_TEST(uid_0_of_any_namespace_is_refused),
		WORLD_TEST(anothers_placeholder_is_not_taken_for_the_hosts_own),
		WORLD_TEST(a_bwrap_that_others_write_to_is_refused),
		WORLD_TEST(a_bwrap_of_the_payloads_is_refused),
		WORLD_TEST(only_the_plans_environment_is_passed),
		WORLD_TEST(only_declared_descriptors_are_passed),
		WORLD_TEST(the_commands_words_are_no_options),
		WORLD_TEST(the_session_is_its_own),
		WORLD_TEST(signals_are_as_in_a_fresh_process),
		WORLD_TEST(no_core_is_written),
		WORLD_TEST(closed_standard_descriptors_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
