/* The user's terminal on one side, the sandbox's own on the other. */
#include "init.h"
#include "relay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* A description of our own, so that not to block is nobody else's; where that is refused (the
 * terminal belongs to another user), what was handed in. */
static int open_again(int fd)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return sbx_fd_high(own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

void relay_tty_init(struct relay_tty *t, const int fds[3], const bool is_tty[3])
{
	*t = (struct relay_tty){ .in = -1, .out = -1, .master = -1 };
	if (!is_tty[0] && !is_tty[1] && !is_tty[2])
		return;
	t->in = open_again(fds[is_tty[0] ? 0 : is_tty[1] ? 1 : 2]);
	t->out = open_again(fds[is_tty[1] ? 1 : is_tty[2] ? 2 : 0]);
	t->at_once = is_tty[0] && is_tty[1];
	t->awaited = true;
}

static void tell_init(struct sbx_launch *l, enum sbx_init_word word)
{
	sbx_launch_signal(l, (int)word);
}

/* ---- whose turn it is ---- */

/* ENOTTY: not the terminal of our session; whoever has it open may read it. */
static bool in_foreground(int tty)
{
	pid_t group = tcgetpgrp(tty);

	return tty >= 0 && (group == getpgrp() || (group < 0 && errno == ENOTTY));
}

/* Sets it also from the background. */
static void set_modes(int tty, const struct termios *modes)
{
	sigset_t ttou, old;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	tcsetattr(tty, TCSANOW, modes);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void note_returns(struct relay_tty *t)
{
	struct termios now;

	t->returns = t->out >= 0 && tcgetattr(t->out, &now) == 0 &&
		     (now.c_oflag & OPOST) && (now.c_oflag & ONLCR);
}

static void take(struct relay_tty *t)
{
	struct termios raw;

	if (t->taken || t->in < 0 || tcgetattr(t->in, &t->before) < 0)
		return;
	raw = t->before;
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 0; /* a read never waits, whoever else reads */
	raw.c_cc[VTIME] = 0;
	set_modes(t->in, &raw);
	t->taken = true;
	note_returns(t);
}

/* ---- answers ---- */

#define REPORT_ASK "\033[5n" /* "are you well?" */
#define REPORT_ANSWER "\033[0n" /* "yes" */
#define ANSWER_MS 1000 /* a terminal that takes longer, or never answers */

static void count_answers(struct relay_tty *t, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != REPORT_ANSWER[t->answer_at])
			t->answer_at = 0;
		if (p[i] == REPORT_ANSWER[t->answer_at])
			t->answer_at++;
		if (REPORT_ANSWER[t->answer_at] == '\0') {
			t->answered++;
			t->answer_at = 0;
		}
	}
}

/* The terminal may be far away. It answers in order: what it answers to a question of ours comes
 * after all that the command has asked for. */
static void await_answers(struct relay_tty *t)
{
	const unsigned wanted = t->filter.reports + 1;
	const size_t len = strlen(REPORT_ASK);
	long long now = sbx_now_ms(), deadline = now + ANSWER_MS;
	struct pollfd p = { .fd = t->in, .events = POLLIN };
	char gone[256];

	if (t->asked_ms == 0 || now - t->asked_ms > ANSWER_MS || !in_foreground(t->in) ||
		write(t->out, REPORT_ASK, len) != (ssize_t)len)
		return;
	t->asked_ms = 0;
	for (; t->answered < wanted && now < deadline; now = sbx_now_ms()) {
		int r = poll(&p, 1, (int)(deadline - now));
		ssize_t n = r > 0 ? read(t->in, gone, sizeof(gone)) : 0;

		if ((r < 0 && errno != EINTR) || (r > 0 && n <= 0))
			break;
		count_answers(t, gone, (size_t)n);
	}
	t->answered = t->filter.reports;
}

void relay_tty_leave(struct relay_tty *t)
{
	if (!t->taken)
		return;
	t->taken = false;
	/* Answers to the command's questions must not be typed into the shell. */
	await_answers(t);
	tcflush(t->in, TCIFLUSH);
	set_modes(t->in, &t->before);
	note_returns(t);
}

void relay_tty_resize(struct relay_tty *t, struct sbx_launch *l)
{
	struct winsize size;

	if (t->master < 0 || ioctl(t->out, TIOCGWINSZ, &size) < 0)
		return;
	/* The kernel tells who is in the foreground there. */
	ioctl(t->master, TIOCSWINSZ, &size);
	if (!t->in_front)
		sbx_launch_signal(l, SIGWINCH | SBX_SIGNAL_GROUP);
}

bool relay_tty_enter(struct relay_tty *t, struct sbx_launch *l, bool wanted)
{
	bool front = in_foreground(t->in), taken;

	if (t->master < 0)
		return true;
	t->at_once |= front && wanted;
	if (front && t->at_once)
		take(t);
	taken = t->taken;
	relay_tty_resize(t, l);
	if (taken != t->in_front)
		tell_init(l, taken ? SBX_INIT_FOREGROUND : SBX_INIT_BACKGROUND);
	t->in_front = taken;
	return front;
}

/* ---- the sandbox's ---- */

/* The one descriptor that pid 1 sends; -1 when it is gone. */
static int receive(int control_fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &u,
		.msg_controllen = sizeof(u) };
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(control_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return sbx_fd_high(fd);
}

/* It begins as the user's is now; then the command may start. */
static void meet(struct relay_tty *t, struct sbx_launch *l)
{
	struct termios modes;

	t->awaited = false;
	t->master = receive(l->control_fd);
	if (t->master < 0)
		return;
	fcntl(t->master, F_SETFL, O_RDWR | O_NONBLOCK);
	if (tcgetattr(t->in, &modes) == 0)
		tcsetattr(t->master, TCSANOW, &modes);
	note_returns(t);
	t->in_front = true; /* so that it is told in any case */
	if (in_foreground(t->in) && t->at_once)
		take(t);
	t->in_front = t->taken;
	relay_tty_resize(t, l);
	tell_init(l, t->taken ? SBX_INIT_FOREGROUND : SBX_INIT_BACKGROUND);
}

static void hang_up(struct relay_tty *t)
{
	sbx_close_fd(&t->master);
	t->master = -1;
	t->typed_len = 0;
}

/* ---- bytes ---- */

void relay_tty_watch(struct relay_tty *t, struct relay_poll *p, int control_fd)
{
	bool room = t->typed_len == 0 && t->taken && t->master >= 0;
	short master = 0;

	if (t->shown_len == 0)
		master |= POLLIN;
	if (t->typed_len)
		master |= POLLOUT;
	t->poll_control = relay_watch(p, t->awaited ? control_fd : -1, POLLIN);
	t->poll_in = relay_watch(p, room ? t->in : -1, POLLIN);
	t->poll_out = relay_watch(p, t->shown_len ? t->out : -1, POLLOUT);
	/* A hang-up is always told; not before there is room for what came before it. */
	t->poll_master = relay_watch(p, master ? t->master : -1, master);
}

static bool is_nothing(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void show(struct relay_tty *t)
{
	char raw[4096];
	ssize_t n = read(t->master, raw, sizeof(raw));
	size_t len = 0;

	if (is_nothing(n))
		return;
	t->shown_at = 0;
	if (t->held_return)
		t->shown[len++] = '\r';
	t->held_return = false;
	if (n <= 0) { /* pid 1 holds the other end: it is gone */
		hang_up(t);
	} else if (t->unfiltered) {
		memcpy(t->shown + len, raw, (size_t)n);
		len += (size_t)n;
	} else {
		len += sbx_termfilter_run(&t->filter, raw, (size_t)n, t->shown + len);
		if (t->filter.asks)
			t->asked_ms = sbx_now_ms();
		t->filter.asks = false;
	}
	t->shown_len = len;
}

/* The kernel tells who leads a session, which is pid 1. */
static void give_up_user(struct relay_tty *t, struct sbx_launch *l)
{
	if (t->master >= 0)
		sbx_launch_signal(l, SIGHUP | SBX_SIGNAL_GROUP);
	t->shown_len = 0;
	t->taken = false;
	hang_up(t);
}

static void shown(struct relay_tty *t, size_t n)
{
	t->shown_at += n;
	t->shown_len -= n;
}

/* How much of what is to be shown can be written as it is. The sandbox's terminal makes a line
 * end a return and a line end, and so does the user's while it is not raw: the return of the
 * first is taken out. */
static size_t next_piece(struct relay_tty *t)
{
	const char *p = t->shown + t->shown_at, *cr;

	if (!t->returns)
		return t->shown_len;
	if (p[0] == '\r' && t->shown_len == 1 && t->master >= 0) {
		t->held_return = true;
		shown(t, 1);
		return 0;
	}
	if (p[0] == '\r' && t->shown_len > 1 && p[1] == '\n')
		shown(t, 1);
	p = t->shown + t->shown_at;
	cr = memchr(p + 1, '\r', t->shown_len - 1);
	return cr ? (size_t)(cr - p) : t->shown_len;
}

static void move_shown(struct relay_tty *t, struct sbx_launch *l)
{
	while (t->shown_len) {
		size_t len = next_piece(t);
		ssize_t n;

		if (len == 0)
			return;
		n = write(t->out, t->shown + t->shown_at, len);
		if (n < 0 && !is_nothing(n))
			give_up_user(t, l);
		if (n < 0)
			return;
		shown(t, (size_t)n);
	}
}

static void read_typed(struct relay_tty *t, short revents, struct sbx_launch *l)
{
	ssize_t n = read(t->in, t->typed, sizeof(t->typed));

	t->typed_at = 0;
	t->typed_len = n > 0 ? (size_t)n : 0;
	count_answers(t, t->typed, t->typed_len);
	if (n > 0)
		relay_tty_resize(
			t, l); /* of another session's terminal nobody tells us */
	else if ((n < 0 && !is_nothing(n)) || (revents & POLLHUP))
		give_up_user(t, l);
}

static void move_typed(struct relay_tty *t)
{
	ssize_t n = write(t->master, t->typed + t->typed_at, t->typed_len);

	if (is_nothing(n))
		return;
	if (n < 0) {
		t->typed_len = 0;
		return;
	}
	t->typed_at += (size_t)n;
	t->typed_len -= (size_t)n;
}

void relay_tty_move(struct relay_tty *t, const struct relay_poll *p, struct sbx_launch *l)
{
	short master = p->v[t->poll_master].revents;

	if (p->v[t->poll_control].revents)
		meet(t, l);
	if (p->v[t->poll_out].revents)
		move_shown(t, l);
	if (p->v[t->poll_in].revents && t->master >= 0)
		read_typed(t, p->v[t->poll_in].revents, l);
	if ((master & POLLOUT) && t->typed_len)
		move_typed(t);
	if ((master & (POLLIN | POLLHUP | POLLERR)) && t->master >= 0 &&
		t->shown_len == 0)
		show(t);
}

bool relay_tty_over(const struct relay_tty *t)
{
	return t->master < 0 && t->shown_len == 0;
}

void relay_tty_end(struct relay_tty *t)
{
	char undo[SBX_TERM_UNDO];
	const unsigned reports = t->filter.reports;
	size_t n = sbx_termfilter_undo(&t->filter, undo);

	t->filter.reports = reports; /* some may be on their way */

	if (n && t->out >= 0)
		(void)!write(t->out, undo, n);
	relay_tty_leave(t);
	hang_up(t);
	sbx_close_fd(&t->in);
	sbx_close_fd(&t->out);
	t->in = t->out = -1;
	t->awaited = false;
}
