/* Scenarios that stop a launch at a moment of its start, by tracing: no waiting hits it. */
#include "stage_play.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t play_runner(struct try *t, struct play *p, char *const cmd[], bool traced)
{
	int out[2];
	pid_t pid, parent = getpid();

	if (try_plan(t, p, NULL) < 0 || sbx_pipe(out) < 0) {
		play_fail(p, "plan");
		return -1;
	}
	pid = fork();
	if (pid == 0) {
		close(out[0]);
		play_leash(parent);
		if (traced && ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
			raise(SIGSTOP);
		t->stdio[0] = t->stdio[2] = TRY_INHERIT;
		t->stdio[1] = out[1];
		if (try_start(t, p, cmd) < 0)
			_exit(1);
		close(out[1]);
		for (;;)
			pause();
	}
	close(out[1]);
	t->end[1] = out[0];
	if (pid < 0)
		play_fail(p, "fork");
	return pid;
}

void play_end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

bool try_gone(struct try *t, struct play *p)
{
	int patience = p->outside ? PLAY_MOMENT : PLAY_PATIENCE;

	while (try_read(t, patience))
		;
	return t->end[1] < 0;
}

/* Who is made by whom, from bwrap on. */
enum { BWRAP, PID1, PAYLOAD, _CHASED };

struct chase {
	pid_t who[_CHASED]; /* 0: not met yet */
	int last; /* the last that was met; -1: none */
	bool early; /* the next one has stopped before its maker told of it */
};

/* The launch's other process, which has no file. */
static bool is_keeper(pid_t pid)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("/proc/%d/exe", (int)pid);
	char exe[32] = "";

	return readlink(path, exe, sizeof(exe) - 1) > 0 &&
	       strncmp(exe, "/memfd:", 7) == 0;
}

/* One stop of a traced process. True when the goal has been reached: it is stopped then, at
 * its very start, and so is who made it. bwrap is met when it has been executed. */
static bool met(struct chase *c, pid_t pid, int status, int goal)
{
	int event = status >> 16, sig = WSTOPSIG(status);
	bool news = false, keep = false;

	if (event == PTRACE_EVENT_EXEC && c->last < 0 && is_keeper(pid)) {
		ptrace(PTRACE_DETACH, pid, 0, 0);
		return false;
	}
	if (event == PTRACE_EVENT_EXEC && c->last < 0) {
		c->who[++c->last] = pid;
		news = keep = goal == BWRAP;
	} else if (event == PTRACE_EVENT_FORK && c->last >= 0 && pid == c->who[c->last]) {
		unsigned long child = 0;

		ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
		c->who[++c->last] = (pid_t)child;
		keep = c->last == goal;
		news = keep && c->early;
	} else if (event == 0 && sig == SIGSTOP && c->last >= 0) {
		bool known = pid == c->who[c->last];

		keep = c->last + !known == goal;
		news = keep && known;
		c->early = keep && !known;
	}
	/* Events, and the stop with which a process begins, are no signals. */
	if (!keep)
		ptrace(PTRACE_CONT, pid, 0,
			event || sig == SIGSTOP || sig == SIGTRAP ? 0 : sig);
	return news;
}

/* Follows the runner to the goal. False: it cannot be traced. */
static bool follow(struct chase *ret, pid_t runner, int goal)
{
	const long options = PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
			     PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL;
	struct chase c = { .last = -1 };
	int status;
	pid_t pid;

	if (runner < 0 || waitpid(runner, &status, __WALL) != runner ||
		!WIFSTOPPED(status) ||
		ptrace(PTRACE_SETOPTIONS, runner, 0, options) < 0 ||
		ptrace(PTRACE_CONT, runner, 0, 0) < 0)
		return false;
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status) && met(&c, pid, status, goal)) {
			*ret = c;
			return true;
		}
		if (!WIFSTOPPED(status) && pid == runner)
			return false;
	}
	return false;
}

/* The runner dies before bwrap has done anything: only what the launch itself has arranged
 * can help. Without it bwrap goes on until it has to report to a closed pipe, and leaves its
 * first process behind. */
void stage_killed_before(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--linger", NULL };
	struct try t = TRY_INIT;
	pid_t runner = play_runner(&t, p, cmd, true);
	struct chase c;
	bool traced = follow(&c, runner, BWRAP);

	play_end_process(runner);
	if (!traced) {
		play_say(p, "untraceable");
	} else {
		ptrace(PTRACE_DETACH, c.who[BWRAP], 0, 0);
		play_say(p, try_gone(&t, p) ? "gone" : "left");
	}
	try_done(&t);
}

/* The runner dies when bwrap has just made the process that becomes pid 1, which then waits
 * for a word of bwrap's. */
void stage_killed_at_start(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--linger", NULL };
	struct try t = TRY_INIT;
	pid_t runner = play_runner(&t, p, cmd, true);
	struct chase c;
	int pidfd = follow(&c, runner, PID1) ? pidfd_open(c.who[PID1], 0) : -1;

	play_end_process(runner);
	if (pidfd < 0) {
		play_say(p, "untraceable");
	} else {
		ptrace(PTRACE_DETACH, c.who[BWRAP], 0, 0);
		ptrace(PTRACE_DETACH, c.who[PID1], 0, 0);
		play_say(p, play_ends(pidfd, PLAY_MOMENT) ? "gone" : "left");
		pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
		close(pidfd);
	}
	try_done(&t);
}

/* The payload begins before pid 1 has closed what bwrap had open, its handle on the host's
 * /proc among it. It happens by itself once in a while. */
void stage_early_payload(struct play *p)
{
	SBX_CLEANUP_FREE char *acts = sbx_xasprintf("%s.acts", p->probe);
	SBX_CLEANUP_FREE char *below =
		sbx_xasprintf("..%s/.ssh/id_ed25519", p->scene->tree.home);
	char *const cmd[] = { p->probe, (char *)"--acts", acts, (char *)"1", NULL };
	struct try t = TRY_INIT;
	struct chase c;
	pid_t runner;

	try_act(&t, "pid1_walk", below);
	if (try_write_acts(&t, p, acts) < 0)
		play_fail(p, "acts");
	runner = play_runner(&t, p, cmd, true);
	if (!follow(&c, runner, PAYLOAD)) {
		play_say(p, "untraceable");
	} else {
		ptrace(PTRACE_DETACH, c.who[PAYLOAD], 0, 0);
		while (strstr(t.output, "done\t") == NULL && try_read(&t, PLAY_PATIENCE))
			;
		if (*try_result(&t, 0) == '\0')
			play_fail(p, "payload");
		else
			play_say(p, try_ok(&t, 0) ? "found" : "absent");
		play_end_process(c.who[PID1]);
	}
	play_end_process(runner);
	unlink(acts);
	try_done(&t);
}
