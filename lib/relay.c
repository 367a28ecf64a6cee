#include "relay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* How long a terminal may take to hang up when pid 1 is gone: it has been handed to somebody
 * outside. */
#define HANGUP_MS 1000
#define KILL_MS 1000
/* A stopped command has been shown when nothing has come for so long; others of the sandbox may
 * go on writing for ever. */
#define QUIET_MS 5
#define QUIET_TURNS 1000

enum kind {
	KIND_NULL,
	KIND_TERMINAL,
	KIND_PIPE,
};

/* The channels: of 0, 1 and 2, and of bwrap's own messages. */
enum {
	BWRAP = 3,
	N_CHANNELS,
};

struct sbx_relay {
	int fds[3]; /* the user's */
	bool let_go;
	int grace_ms;
	int aborted; /* a signal that came before the command ran */
	enum kind kind[3];
	bool joined; /* 1 and 2 are one thing, and stay so: what is written there stays in order */
	int given
		[3]; /* the command's ends of the pipes, or /dev/null; until it has started */
	int null, messages; /* bwrap's 0 and 1, and its 2 */
	bool idle; /* for mutants: the command gets what was handed in */
	struct relay_channel channel[N_CHANNELS];
	struct relay_tty tty;
	struct relay_signals signals;
};

/* ---- before the start ---- */

static enum kind kind_of(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return KIND_NULL;
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		return KIND_NULL;
	return isatty(fd) ? KIND_TERMINAL : KIND_PIPE;
}

/* "2>&1": one pipe, else what is written to both arrives in another order. */
static bool are_joined(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && fcntl(a, F_GETFL) == fcntl(b, F_GETFL);
}

/* Number i of the command: a pipe of ours, the far end for the command. */
static int open_pipe(struct sbx_relay *r, int i)
{
	int p[2], ret = sbx_pipe(p), ours = i ? 0 : 1;

	if (ret < 0)
		return ret;
	r->given[i] = p[!ours];
	if (fcntl(p[ours], F_SETFL, O_NONBLOCK) < 0)
		ret = -errno;
	if (i)
		relay_channel_open(&r->channel[i], p[0], r->fds[i], p[0]);
	else
		relay_channel_open(&r->channel[i], r->fds[i], p[1], p[1]);
	return ret;
}

static int open_messages(struct sbx_relay *r)
{
	int p[2], ret;

	r->null = sbx_fd_high(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (r->null < 0)
		return r->null;
	ret = sbx_pipe(p);
	if (ret < 0)
		return ret;
	r->messages = p[1];
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	if (kind_of(r->fds[2]) == KIND_NULL)
		relay_channel_open(&r->channel[BWRAP], p[0], r->null, p[0]);
	else
		relay_channel_open(&r->channel[BWRAP], p[0], r->fds[2], p[0]);
	/* It names files of the project. */
	r->channel[BWRAP].plain = kind_of(r->fds[2]) == KIND_TERMINAL;
	return 0;
}

static int open_all(struct sbx_relay *r)
{
	bool is_tty[3];
	int ret = open_messages(r);

	for (int i = 0; i < 3; i++) {
		r->kind[i] = kind_of(r->fds[i]);
		is_tty[i] = r->kind[i] == KIND_TERMINAL;
	}
	r->joined = r->kind[1] == KIND_PIPE && r->kind[2] == KIND_PIPE &&
		    are_joined(r->fds[1], r->fds[2]);
	for (int i = 0; ret == 0 && i < 3; i++)
		if (r->kind[i] == KIND_PIPE && !(i == 2 && r->joined))
			ret = open_pipe(r, i);
	relay_tty_init(&r->tty, r->fds, is_tty);
	return ret;
}

int sbx_relay_new(
	struct sbx_relay **ret, const struct sbx_relay_opts *opts, struct sbx_error *e)
{
	struct sbx_relay *r = sbx_xcalloc(1, sizeof(*r));
	int err;

	r->null = r->messages = r->signals.fd = -1;
	for (int i = 0; i < 3; i++) {
		r->fds[i] = opts ? opts->fds[i] : i;
		r->given[i] = -1;
	}
	for (int i = 0; i < N_CHANNELS; i++)
		r->channel[i] = RELAY_CHANNEL_NONE;
	r->let_go = opts && opts->let_go;
	r->grace_ms = opts ? opts->grace_ms : 0;
	err = open_all(r);
	if (err < 0) {
		sbx_relay_free(r);
		return sbx_error_set(e, SBX_E_SYSTEM, -err,
			"pipes for input and output: %s", strerror(-err));
	}
	*ret = r;
	return 0;
}

/* What a mutant that has no relay gives: the user's own. */
static void hand_over(struct sbx_relay *r, struct sbx_launch_opts *opts)
{
	int *to[3] = { &opts->in, &opts->out, &opts->err };

	r->idle = true;
	for (int i = 0; i < 3; i++) {
		if (r->fds[i] >= 0 && r->fds[i] < 3 && r->fds[i] != i)
			r->given[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, 3);
		*to[i] = r->given[i] >= 0 ? r->given[i] : r->fds[i] > 2 ? r->fds[i] : -1;
		opts->command[i] = 0;
	}
}

void sbx_relay_prepare(struct sbx_relay *r, struct sbx_launch_opts *opts)
{
	if (opts->skip_steps & SBX_STEP_RELAY) {
		for (int i = 0; i < 3; i++) {
			sbx_close_fd(&r->given[i]);
			r->given[i] = -1;
		}
		hand_over(r, opts);
		return;
	}
	opts->in = opts->out = r->null;
	opts->err = r->messages;
	for (int i = 0; i < 3; i++)
		opts->command[i] = r->kind[i] == KIND_TERMINAL ? SBX_LAUNCH_TERMINAL
				   : r->kind[i] == KIND_NULL   ? r->null
							       : r->given[i];
	if (r->joined)
		opts->command[2] = r->given[1];
	r->tty.unfiltered = opts->skip_steps & SBX_STEP_SCREEN;
}

/* ---- while it runs ---- */

/* The command has them now; our copies would keep them open for ever. */
static void close_given(struct sbx_relay *r)
{
	for (int i = 0; i < 3; i++) {
		sbx_close_fd(&r->given[i]);
		r->given[i] = -1;
	}
	sbx_close_fd(&r->messages);
	r->messages = -1;
}

/* The user's counterpart of a channel that is over. 2 is needed still, for messages. */
static void let_go(struct sbx_relay *r)
{
	for (int i = 0; i < 2; i++)
		if (r->let_go && r->kind[i] == KIND_PIPE && r->fds[i] >= 0 &&
			relay_channel_over(&r->channel[i])) {
			dup3(r->null, r->fds[i], r->fds[i] > 2 ? O_CLOEXEC : 0);
			r->kind[i] = KIND_NULL;
		}
}

static void stopped(struct sbx_relay *r, struct sbx_launch *l)
{
	const int sig = l->stopped;
	const bool asks = sig == SIGTTIN || sig == SIGTTOU;
	const bool has_tty = r->tty.master >= 0;
	bool continued;

	l->stopped = 0;
	if (asks && !r->tty.taken && has_tty && relay_tty_enter(&r->tty, l, true)) {
		sbx_launch_signal(l, SIGCONT | SBX_SIGNAL_GROUP);
		return;
	}
	relay_tty_leave(&r->tty);
	continued = relay_signals_stop(sig, has_tty && sig != SIGSTOP);
	/* Nobody is there to bring us to the foreground: no input will ever come. */
	if (asks && !continued)
		relay_tty_end(&r->tty);
	relay_tty_enter(&r->tty, l, false);
	sbx_launch_signal(l, SIGCONT | SBX_SIGNAL_GROUP);
}

static bool has_terminal(const struct sbx_relay *r)
{
	return r->kind[0] == KIND_TERMINAL || r->kind[1] == KIND_TERMINAL ||
	       r->kind[2] == KIND_TERMINAL;
}

static bool is_last_word(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

/* True when the user has had enough: of the start, or of waiting for what is left of the output. */
static bool hear(struct sbx_relay *r, struct sbx_launch *l, bool ended)
{
	struct signalfd_siginfo si;
	bool enough = false;

	while (read(r->signals.fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		int sig = (int)si.ssi_signo;
		/* A key means all of the job, kill(1) one process. */
		int whom = si.ssi_code == SI_KERNEL ? SBX_SIGNAL_GROUP : 0;

		if (sig == SIGWINCH && has_terminal(r)) {
			relay_tty_resize(&r->tty, l);
		} else if (sig == SIGCONT) {
			relay_tty_enter(&r->tty, l, false);
			sbx_launch_signal(l, SIGCONT | SBX_SIGNAL_GROUP);
		} else if (!ended && is_last_word(sig) && l->said_len == 0) {
			r->aborted = sig; /* nobody is there to be told */
		} else {
			enough |= ended && is_last_word(sig);
			sbx_launch_signal(l, sig | whom);
		}
	}
	return enough || r->aborted;
}

static bool is_over(const struct sbx_relay *r)
{
	for (int i = 1; i < N_CHANNELS; i++)
		if (!relay_channel_over(&r->channel[i]))
			return false;
	return relay_tty_over(&r->tty);
}

static int left_of(long long deadline)
{
	long long left = deadline - sbx_now_ms();

	return deadline < 0 ? -1 : left > 0 ? (int)left : 0;
}

/* What one turn waits for. */
struct turn {
	struct relay_poll poll;
	size_t monitor, said;
	bool hear_enough;
};

/* 0, or -errno; -ETIMEDOUT: nothing happened before the deadline. */
static int turn(struct sbx_relay *r, struct sbx_launch *l, struct turn *t,
	long long deadline, bool ended)
{
	int n;

	*t = (struct turn){ 0 };
	t->monitor = relay_watch(&t->poll, ended ? -1 : l->pidfd, POLLIN);
	t->said = relay_watch(&t->poll, l->init_fd, POLLIN);
	relay_watch(&t->poll, l->status_fd, POLLIN);
	r->signals.poll = relay_watch(&t->poll, r->signals.fd, POLLIN);
	for (int i = 0; i < N_CHANNELS; i++)
		relay_channel_watch(&r->channel[i], &t->poll);
	relay_tty_watch(&r->tty, &t->poll, l->control_fd);
	n = poll(t->poll.v, t->poll.n, left_of(deadline));
	if (n <= 0)
		return n == 0 ? -ETIMEDOUT : errno == EINTR ? 0 : -errno;
	for (int i = 0; i < N_CHANNELS; i++)
		relay_channel_move(&r->channel[i], &t->poll);
	relay_tty_move(&r->tty, &t->poll, l);
	let_go(r);
	t->hear_enough = hear(r, l, ended);
	sbx_launch_pump(l);
	return 0;
}

/* Until bwrap has ended. What was written before a stop is shown before it. */
static int follow(struct sbx_relay *r, struct sbx_launch *l, long long deadline)
{
	unsigned turns = 0;
	struct turn t;
	int ret;

	do {
		ret = turn(
			r, l, &t, l->stopped ? sbx_now_ms() + QUIET_MS : deadline, false);
		if (l->stopped && (ret == -ETIMEDOUT || ++turns > QUIET_TURNS)) {
			stopped(r, l);
			ret = 0;
			turns = 0;
		}
	} while (ret == 0 && !t.poll.v[t.monitor].revents && !r->aborted);
	return ret;
}

/* What was written before the end arrives, however slow its reader. */
static int flush(struct sbx_relay *r, struct sbx_launch *l, long long deadline)
{
	long long hangup = sbx_now_ms() + HANGUP_MS;
	struct turn t = { 0 };
	int ret = 0;

	relay_channel_close(&r->channel[0]);
	for (int i = 1; i < N_CHANNELS; i++)
		relay_channel_last(&r->channel[i]);
	while (ret == 0 && !is_over(r) && !t.hear_enough) {
		/* Only a terminal that waits for nothing but its end may be late. */
		bool waits = r->tty.master >= 0 && r->tty.shown_len == 0;
		long long until =
			waits && (deadline < 0 || hangup < deadline) ? hangup : deadline;

		ret = turn(r, l, &t, until, true);
		if (ret == -ETIMEDOUT && waits && until == hangup) {
			sbx_close_fd(&r->tty.master);
			r->tty.master = -1;
			ret = 0;
		}
	}
	return ret == -ETIMEDOUT ? 0 : ret;
}

int sbx_relay_run(
	struct sbx_relay *r, struct sbx_launch *l, int timeout_ms, struct sbx_exit *ret)
{
	long long deadline = timeout_ms < 0 ? -1 : sbx_now_ms() + timeout_ms;
	struct sbx_exit x = { 0 };
	bool late;
	int err;

	close_given(r);
	if (r->idle)
		return sbx_launch_wait(l, timeout_ms, ret);
	err = relay_signals_begin(&r->signals);
	if (err < 0)
		return err;
	err = follow(r, l, deadline);
	late = err == -ETIMEDOUT;
	if (late && r->grace_ms > 0 && sbx_launch_signal(l, SIGTERM) == 0)
		err = follow(r, l, sbx_now_ms() + r->grace_ms);
	if (err == 0 || err == -ETIMEDOUT)
		err = sbx_launch_wait(l, err || r->aborted ? 0 : KILL_MS, &x);
	if (err == 0)
		err = flush(r, l, late ? sbx_now_ms() + HANGUP_MS : deadline);
	if (late)
		x.how = SBX_HOW_TIMEOUT;
	if (r->aborted) {
		x.how = SBX_HOW_ABORTED;
		x.code = r->aborted;
	}
	relay_tty_end(&r->tty);
	relay_signals_end(&r->signals);
	if (err == 0)
		*ret = x;
	return err;
}

int sbx_relay_lost(const struct sbx_relay *r, struct sbx_error *e)
{
	for (int i = 1; i < 3; i++) {
		int err = r->channel[i].error;

		if (err && err != EPIPE && err != ECONNRESET)
			return sbx_error_set(e, SBX_E_SYSTEM, err,
				"standard %s: %s: what the command wrote there is not complete",
				i == 1 ? "output" : "error", strerror(err));
	}
	return 0;
}

void sbx_relay_free(struct sbx_relay *r)
{
	if (r == NULL)
		return;
	close_given(r);
	for (int i = 0; i < N_CHANNELS; i++)
		relay_channel_close(&r->channel[i]);
	relay_tty_end(&r->tty);
	relay_signals_end(&r->signals);
	sbx_close_fd(&r->null);
	free(r);
}
