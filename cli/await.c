#include "await.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

/* Between TERM and KILL: time for an agent to write its transcript. */
#define LAST_WORDS_MS 2000
/* The monitor has ended: the rest is a matter of milliseconds. */
#define REAP_MS 10000

static const struct {
	int signal;
	bool fatal; /* it would end the command; before that runs, it ends the start */
} passed_on[] = {
	{ SIGINT, true },
	{ SIGTERM, true },
	{ SIGHUP, true },
	{ SIGQUIT, true },
	{ SIGUSR1, false },
	{ SIGUSR2, false },
	{ SIGWINCH, false },
	{ SIGCONT, false },
};

int await_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(passed_on); i++) {
		struct sigaction was;

		if (sigaction(passed_on[i].signal, NULL, &was) == 0 &&
			was.sa_handler != SIG_IGN)
			sigaddset(&set, passed_on[i].signal);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return sbx_fd_high(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

static bool is_fatal(int sig)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(passed_on); i++)
		if (passed_on[i].signal == sig)
			return passed_on[i].fatal;
	return false;
}

/* Pid 1 has said that the command runs, or more. */
static bool has_begun(const struct sbx_launch *l)
{
	return l->said_len > 0;
}

/* True when that was the end of it. */
static bool pass_on(struct sbx_launch *l, struct await *a)
{
	struct signalfd_siginfo si;

	while (read(a->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		int sig = (int)si.ssi_signo;

		sbx_launch_pump(l);
		if (!has_begun(l) && is_fatal(sig)) {
			a->aborted_by = sig;
			return true;
		}
		sbx_launch_signal(l, sig);
	}
	return false;
}

/* The limit has passed, once or twice. True when there is nothing more to wait for. */
static bool end_it(struct sbx_launch *l, struct await *a, long long *deadline)
{
	if (a->timed_out || !has_begun(l) || sbx_launch_signal(l, SIGTERM) < 0) {
		a->timed_out = true;
		return true;
	}
	a->timed_out = true;
	*deadline = sbx_now_ms() + LAST_WORDS_MS;
	return false;
}

/* True when the monitor has ended; false when everything is to be killed. */
static bool follow(struct sbx_launch *l, struct await *a)
{
	long long deadline = sbx_now_ms() + a->timeout_s * 1000LL;

	for (;;) {
		struct pollfd p[4] = { { .fd = l->pidfd, .events = POLLIN },
			{ .fd = a->signals, .events = POLLIN },
			{ .fd = l->status_fd, .events = POLLIN },
			{ .fd = l->init_fd, .events = POLLIN } };
		long long left = a->timeout_s ? deadline - sbx_now_ms() : -1;

		if (a->timeout_s && left <= 0 && end_it(l, a, &deadline))
			return false;
		if (a->timeout_s && left <= 0)
			continue;
		if (poll(p, 4, (int)left) < 0 && errno != EINTR)
			return false;
		sbx_launch_pump(l);
		if (p[0].revents)
			return true;
		if (p[1].revents && pass_on(l, a))
			return false;
	}
}

int await_end(struct sbx_launch *l, struct await *a, struct sbx_exit *ret)
{
	return sbx_launch_wait(l, follow(l, a) ? REAP_MS : 0, ret);
}
