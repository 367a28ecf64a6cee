#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 10000

char *runner_dir;
static char *home, *work;

static void make_world(void)
{
	runner_dir = t_mkdir();
	home = sbx_xasprintf("%s/home", runner_dir);
	work = sbx_xasprintf("%s/home/work", runner_dir);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(mkdir(work, 0700), 0);
}

static void end_world(void)
{
	t_rmdir(runner_dir);
	free(home);
	free(work);
}

/* ---- a runner ---- */

static int relay(struct sbx_launch *l, struct sbx_relay *r, int timeout)
{
	struct sbx_exit x;
	struct sbx_error e = { 0 };

	if (sbx_relay_run(r, l, timeout ? timeout : -1, &x) < 0)
		return NO_START;
	if (x.how != SBX_HOW_EXITED)
		return x.how == SBX_HOW_TIMEOUT ? TIMED_OUT : NO_START;
	return sbx_relay_lost(r, &e) < 0 ? LOST : x.code;
}

static int run(const struct job *j)
{
	char *const cmd[] = { (char *)"/bin/sh", (char *)"-c",
		(char *)(uintptr_t)j->script, NULL };
	char *env[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	const struct sbx_host_opts ho = { .environ = env, .home = home };
	const struct sbx_policy p = {
		.agent = "generic", .net = SBX_NET_OFF, .workdir = work
	};
	const struct sbx_relay_opts ro = { .fds = { 0, 1, 2 }, .let_go = j->let_go };
	struct sbx_launch_opts o = SBX_LAUNCH_INHERIT;
	struct sbx_launch l = SBX_LAUNCH_NONE;
	struct sbx_plan plan = { 0 };
	struct sbx_host h = { 0 };
	struct sbx_relay *r;
	struct sbx_error e = { 0 };
	int code = NO_START;

	o.allow_root = true;
	if (sbx_host_read(&h, &p, &ho, &e) < 0 || sbx_plan_build(&plan, &p, &h, &e) < 0 ||
		sbx_relay_new(&r, &ro, &e) < 0)
		return NO_START;
	if (j->broken)
		sbx_plan_add(&plan, SBX_OP_FLAG, NULL, "--no-such-option\033]52;c;aGk=\a",
			"a test");
	sbx_relay_prepare(r, &o);
	if (sbx_launch_start(&l, &plan, &h, cmd, &o, &e) == 0)
		code = relay(&l, r, j->timeout);
	sbx_launch_done(&l);
	sbx_relay_free(r);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
	return code;
}

/* A group of its own, in the foreground of the terminal of our session if there is one. */
static void lead(pid_t pid, bool background)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	setpgid(pid, pid);
	if (tty >= 0 && !background)
		tcsetpgrp(tty, pid ? pid : getpid());
	sbx_close_fd(&tty);
}

pid_t runner_start(const struct job *j)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		lead(0, j->background);
		for (int sig = 1; sig < NSIG; sig++)
			signal(sig, SIG_DFL);
		for (int i = 0; i < 3; i++)
			if (j->fds[i] >= 0)
				dup2(j->fds[i], i);
			else
				close(i);
		closefrom(3);
		_exit(run(j));
	}
	lead(pid, j->background);
	return pid;
}

/* Its exit status; 1000 and the signal when it is stopped, 2000 and more when it was killed. */
int runner_await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	return WIFSTOPPED(status)  ? 1000 + WSTOPSIG(status)
	       : WIFEXITED(status) ? WEXITSTATUS(status)
				   : 2000 + WTERMSIG(status);
}

static bool more(struct reader *r, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, PATIENCE) <= 0)
		fail_msg("nothing comes after '%s'", r->text);
	n = read(fd, r->text + r->len, sizeof(r->text) - 1 - r->len);
	if (n <= 0)
		return false;
	r->len += (size_t)n;
	r->text[r->len] = '\0';
	return true;
}

/* Reads until this has come, and forgets what came before. */
void runner_until(struct reader *r, int fd, const char *text)
{
	char *at;

	while ((at = strstr(r->text, text)) == NULL)
		if (!more(r, fd))
			fail_msg("'%s' ends without '%s'", r->text, text);
	at += strlen(text);
	r->len -= (size_t)(at - r->text);
	memmove(r->text, at, r->len + 1);
}

void runner_to_end(struct reader *r, int fd)
{
	while (more(r, fd))
		;
}

/* Only who leads a session without a terminal can give it one. */
int runner_main(int (*tests)(void))
{
	pid_t pid = fork();
	int failed;

	if (pid == 0) {
		setsid();
		signal(SIGTTOU, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		signal(SIGPIPE, SIG_IGN);
		make_world();
		failed = tests();
		end_world();
		fflush(stdout);
		_exit(failed);
	}
	return runner_await(pid);
}
