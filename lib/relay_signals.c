/* Signals of the runner, read instead of felt. */
#include "relay_parts.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

/* PIPE: the error says it. */
static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP,
	SIGCONT, SIGWINCH };

static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* What we ignore (nohup) is ignored; a blocked signal would be read all the same. */
static void signals_for_us(sigset_t *ret)
{
	sigemptyset(ret);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(taken); i++)
		if (!is_ignored(taken[i]))
			sigaddset(ret, taken[i]);
}

int relay_signals_begin(struct relay_signals *s)
{
	sigset_t set, pending;
	int fd;

	signals_for_us(&set);
	fd = sbx_fd_high(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
	if (fd < 0)
		return fd;
	s->fd = fd;
	sigpending(&pending);
	s->pipe_pending = sigismember(&pending, SIGPIPE);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &s->before);
	return 0;
}

static bool take_pending(int sig)
{
	const struct timespec now = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return sigtimedwait(&set, NULL, &now) == sig;
}

void relay_signals_end(struct relay_signals *s)
{
	if (s->fd < 0)
		return;
	if (!s->pipe_pending)
		take_pending(SIGPIPE);
	take_pending(SIGWINCH);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	sbx_close_fd(&s->fd);
	s->fd = -1;
}

bool relay_signals_stop(int sig, bool group)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	struct sigaction old;
	sigset_t set, mask;

	take_pending(SIGCONT);
	if (sig == SIGSTOP) {
		kill(getpid(), SIGSTOP);
	} else {
		sigemptyset(&set);
		sigaddset(&set, sig);
		sigaction(sig, &dfl, &old);
		kill(group ? 0 : getpid(), sig);
		sigprocmask(SIG_UNBLOCK, &set, &mask); /* here it stops */
		sigprocmask(SIG_SETMASK, &mask, NULL);
		sigaction(sig, &old, NULL);
	}
	return take_pending(SIGCONT);
}
