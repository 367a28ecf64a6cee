/* Scenarios about the state of the process that starts a sandbox: group, signals, limits,
 * keys, supplementary groups. */
#include "stage_play.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static volatile sig_atomic_t urgent;

static void on_urgent(int sig)
{
	(void)sig;
	urgent = 1;
}

/* The player is alone in its group: what happens to it there, happens to no one else. */
void stage_group(struct play *p)
{
	struct sigaction sa = { .sa_handler = on_urgent };
	int nice = getpriority(PRIO_PROCESS, 0);
	long io = syscall(SYS_ioprio_get, 1, 0);
	struct try t = TRY_INIT;

	sigaction(SIGURG, &sa, NULL);
	try_act(&t, "group_signal");
	try_act(&t, "group_nice");
	try_act(&t, "group_ioprio");
	if (try_run(&t, p, NULL))
		play_list(p, "untouched",
			(const struct found[]){ { "signal", urgent },
				{ "nice", getpriority(PRIO_PROCESS, 0) != nice },
				{ "ioprio", syscall(SYS_ioprio_get, 1, 0) != io },
				{ NULL, false } });
	try_done(&t);
}

/* bwrap itself, too, is out of reach of what is sent to the caller's group. */
void stage_session(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--linger", NULL };
	struct try t = TRY_INIT;

	if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0 ||
		!try_await(&t, "up\n"))
		play_fail(p, "start");
	else
		play_say(p, getsid(t.launch.pid) == getsid(0) ? "shared" : "own");
	try_done(&t);
}

/* A caller that ignores SIGCHLD: a bwrap that inherits it waits for ever, and holds the output
 * open. The status comes by bwrap's report, since the kernel keeps none. */
void stage_sigchld(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--exit", (char *)"9", NULL };
	int patience = p->outside ? PLAY_MOMENT : PLAY_PATIENCE;
	struct try t = TRY_INIT;

	signal(SIGCHLD, SIG_IGN);
	if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0) {
		play_fail(p, "start");
	} else if (!play_ends(t.launch.pidfd, patience)) {
		play_say(p, "hangs");
	} else {
		try_end(&t);
		play_say(p, t.exit.how == SBX_HOW_EXITED && t.exit.code == 9 ? "ends"
									     : "lost");
	}
	try_done(&t);
}

void stage_signals(struct play *p)
{
	struct try t = TRY_INIT;
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGHUP);
	signal(SIGTERM, SIG_IGN);
	sigprocmask(SIG_BLOCK, &block, NULL);
	try_act(&t, "signals");
	if (try_run(&t, p, NULL))
		play_pass(p, try_result(&t, 0));
	try_done(&t);
}

/* Where no process can be made there must be no sandbox, and nothing instead of one. */
void stage_nproc(struct play *p)
{
	struct try t = TRY_INIT;
	int r;

	if (!p->outside && setrlimit(RLIMIT_NPROC, &(struct rlimit){ 1, 1 }) < 0)
		play_fail(p, "setrlimit");
	try_act(&t, "cwd");
	r = try_plan(&t, p, NULL);
	if (r == 0)
		r = try_start(&t, p, NULL);
	if (r == 0) {
		try_go(&t, p);
		try_end(&t);
	}
	play_say(p, t.output_len ? "ran" : "refused");
	try_done(&t);
}

/* How many hold the session keyring, by the kernel's own list; -1: it is not there. */
static long keyring_users(long serial)
{
	SBX_CLEANUP_FREE char *keys = NULL;
	char want[16];

	snprintf(want, sizeof(want), "%08lx ", (unsigned long)serial);
	if (sbx_read_file("/proc/keys", 1 << 20, &keys, NULL) < 0)
		return -1;
	for (char *line = keys; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, want, strlen(want)) == 0) {
			char *flags = line + strlen(want);

			return strtol(flags + strcspn(flags, " "), NULL, 10);
		}
	}
	return -1;
}

/* The kernel gives up what an ended process held a little later; nothing tells when. */
static bool shared(const struct play *p, long serial, long before)
{
	long long until = sbx_now_ms() + (p->outside ? PLAY_MOMENT : PLAY_PATIENCE);

	while (keyring_users(serial) > before) {
		if (sbx_now_ms() > until)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* Nothing inside can tell, since the filter refuses every call about keys. */
void stage_keyring(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--linger", NULL };
	long serial = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, p->token);
	long before = keyring_users(serial);
	struct try t = TRY_INIT;

	if (serial < 0 || before < 0) {
		play_say(p, "none");
		return;
	}
	if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0 ||
		!try_await(&t, "up\n")) {
		play_fail(p, "start");
	} else {
		play_say(p, shared(p, serial, before) ? "shared" : "own");
	}
	try_done(&t);
}

static long number_in(pid_t pid, const char *name)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("/proc/%d/%s", (int)pid, name);
	SBX_CLEANUP_FREE char *text = NULL;

	return sbx_read_file(path, 64, &text, NULL) < 0 ? -1 : strtol(text, NULL, 10);
}

static bool take_precedence(void)
{
	SBX_CLEANUP_FD int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* The second needs a capability that containers withhold. */
	if (fd >= 0)
		sbx_write_all(fd, "-100", 4);
	return setpriority(PRIO_PROCESS, 0, -5) == 0;
}

/* A runner that is preferred to others, as services of root's are. */
void stage_priority(struct play *p)
{
	char *const cmd[] = { p->probe, (char *)"--linger", NULL };
	struct try t = TRY_INIT;
	pid_t pid;

	if (!take_precedence()) {
		play_say(p, "none"); /* an ordinary user has none to give */
	} else if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0 ||
		   !try_await(&t, "up\n")) {
		play_fail(p, "start");
	} else {
		sbx_launch_pump(&t.launch);
		pid = t.launch.child ? t.launch.child : t.launch.pid;
		errno = 0;
		play_list(p, "given_up",
			(const struct found[]){
				{ "nice", getpriority(PRIO_PROCESS, (id_t)pid) < 0 },
				{ "oom", number_in(pid, "oom_score_adj") < 0 },
				{ NULL, false } });
	}
	try_done(&t);
}

/* Seen from outside, where they have their numbers. */
static bool has_groups(pid_t pid)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("/proc/%d/status", (int)pid);
	SBX_CLEANUP_FREE char *status = NULL;
	const char *line;

	if (sbx_read_file(path, 65536, &status, NULL) < 0)
		return true;
	line = strstr(status, "\nGroups:");
	return line && line[8 + strspn(line + 8, " \t")] != '\n';
}

void stage_groups(struct play *p)
{
	const gid_t group = 1;
	char *const cmd[] = { p->probe, (char *)"--linger", NULL };
	struct try t = TRY_INIT;

	/* Ordinary users may not; theirs are what they are. */
	if (setgroups(1, &group) < 0 && errno != EPERM)
		play_fail(p, "setgroups");
	if (try_plan(&t, p, NULL) < 0 || try_start(&t, p, cmd) < 0 ||
		!try_await(&t, "up\n")) {
		play_fail(p, "start");
	} else {
		sbx_launch_pump(&t.launch);
		play_say(p, has_groups(t.launch.child ? t.launch.child : t.launch.pid)
				    ? "kept"
				    : "none");
	}
	try_done(&t);
}
