/* Scenarios about how a sandbox begins and ends. */
#include "stage_play.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

/* A command whose first words look like options of bwrap's: they would bind a secret. */
void stage_separator(struct play *p)
{
	SBX_CLEANUP_FREE char *ssh = sbx_xasprintf("%s/.ssh", p->scene->tree.home);
	char *const cmd[] = { (char *)"--ro-bind", ssh, (char *)"/tmp/s", p->probe,
		NULL };
	struct try t = TRY_INIT;

	try_act(&t, "stat", "/tmp/s/id_ed25519");
	if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0) {
		play_fail(p, "start");
	} else {
		try_go(&t, p);
		try_end(&t);
		play_say(p, try_ok(&t, 0) ? "obeyed" : "command");
	}
	try_done(&t);
}

/* ---- the end of who started it ---- */

/* The runner is killed while a daemon of the payload's is at work. */
void stage_killed_running(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--daemon", NULL };
	struct try t = TRY_INIT;
	pid_t runner = play_runner(&t, p, cmd, false);
	bool up = runner > 0 && try_await(&t, "up\n");

	if (runner > 0)
		play_end_process(runner);
	if (!up)
		play_fail(p, "start");
	else
		play_say(p, try_gone(&t, p) ? "gone" : "alive");
	try_done(&t);
}

/* ---- the end of bwrap ---- */

static void end_monitor(struct play *p, const char *mode, int sig)
{
	char *const cmd[] = { p->probe, (char *)mode, NULL };
	struct try t = TRY_INIT;

	if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0 ||
		!try_await(&t, "up\n")) {
		play_fail(p, "start");
	} else {
		pidfd_send_signal(t.launch.pidfd, sig, NULL, 0);
		play_say(p, try_gone(&t, p) ? "gone" : "alive");
	}
	try_done(&t);
}

void stage_monitor_killed(struct play *p)
{
	end_monitor(p, "--daemon", SIGKILL);
}

void stage_monitor_terminated(struct play *p)
{
	end_monitor(p, "--daemon", SIGTERM);
}

void stage_disarmed(struct play *p)
{
	end_monitor(p, "--disarm", SIGKILL);
}

/* ---- the status ---- */

/* How a payload started this way ends, by the launch's word; -1: it did not. */
static int status_of(struct play *p, const char *mode, const char *arg)
{
	char *const cmd[] = { p->probe, (char *)mode, (char *)arg, NULL };
	struct try t = TRY_INIT;
	int code = -1;

	if (try_plan(&t, p, NULL) == 0 && try_start(&t, p, cmd) == 0) {
		try_end(&t);
		if (t.exit.how == SBX_HOW_EXITED)
			code = t.exit.code;
		else if (p->outside) /* without our pid 1: bwrap's own status */
			code = t.exit.how == SBX_HOW_KILLED ? 128 + t.exit.code
							    : t.exit.code;
	}
	try_done(&t);
	return code;
}

void stage_forged(struct play *p)
{
	int code = status_of(p, "--forge", NULL);

	if (code < 0)
		play_fail(p, "start");
	play_say(p, code == 9 ? "true" : code == 0 ? "forged" : "other");
}

void stage_status(struct play *p)
{
	static const int codes[] = { 0, 1, 2, 77, 126, 127, 128, 255 };
	/* None that would leave a core file behind. */
	static const int signals[] = { SIGTERM, SIGKILL, SIGUSR1 };
	bool all = true, started = true;
	char arg[16];
	int code;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(codes); i++) {
		snprintf(arg, sizeof(arg), "%d", codes[i]);
		code = status_of(p, "--exit", arg);
		started &= code >= 0;
		all &= code == codes[i];
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(signals); i++) {
		snprintf(arg, sizeof(arg), "%d", signals[i]);
		code = status_of(p, "--signal", arg);
		started &= code >= 0;
		all &= code == 128 + signals[i];
	}
	if (!started)
		play_fail(p, "start");
	play_say(p, all ? "true" : "false");
}

/* ---- threads ---- */

struct thread {
	struct try *t;
	struct play *p;
	bool up;
};

static void *start_and_end(void *arg)
{
	struct thread *k = arg;
	char *const cmd[] = { k->p->probe, (char *)"--linger", NULL };

	k->up = try_start(k->t, k->p, cmd) == 0 && try_await(k->t, "up\n");
	return NULL;
}

/* The thread that started it ends, and the process goes on. */
void stage_thread(struct play *p)
{
	struct try t = TRY_INIT;
	struct thread k = { .t = &t, .p = p };
	pthread_t id;

	if (try_plan(&t, p, NULL) < 0 ||
		pthread_create(&id, NULL, start_and_end, &k) != 0 ||
		pthread_join(id, NULL) != 0 || !k.up)
		play_fail(p, "start");
	else
		play_say(p, try_gone(&t, p) ? "gone" : "alive");
	try_done(&t);
}
