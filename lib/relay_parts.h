/* What the relay is made of. */
#pragma once

#include "relay.h"
#include "termfilter.h"

#include <poll.h>
#include <termios.h>

/* What one turn of the loop waits for. */
struct relay_poll {
	struct pollfd v[24];
	size_t n;
};

/* Returns the place in v; an fd of -1 is never ready. */
size_t relay_watch(struct relay_poll *p, int fd, short events);

/* ---- bytes from one descriptor to another (relay_channel.c) ---- */

struct relay_channel {
	int from, to; /* -1: it is over */
	int ours; /* the one of both that is ours, and closed at the end */
	char *buf;
	size_t piece; /* to be written in one go */
	bool plain; /* to a terminal: of what it does not show nothing but line ends arrives */
	struct sbx_termfilter filter;
	size_t at, len; /* what is to be written still */
	long left; /* bytes to come; -1: until it ends */
	int error; /* why it ended before that */
	size_t poll_from, poll_to;
};

#define RELAY_CHANNEL_NONE ((struct relay_channel){ .from = -1, .to = -1, .ours = -1 })

void relay_channel_open(struct relay_channel *c, int from, int to, int ours);
void relay_channel_watch(struct relay_channel *c, struct relay_poll *p);
void relay_channel_move(struct relay_channel *c, const struct relay_poll *p);
/* Whoever writes is gone: what is there now is all. */
void relay_channel_last(struct relay_channel *c);
bool relay_channel_over(const struct relay_channel *c);
void relay_channel_close(struct relay_channel *c);

/* ---- the two terminals (relay_tty.c) ---- */

struct relay_tty {
	int in, out; /* the user's; -1 for none. Opened anew, not to block; or the user's own */
	int master; /* the sandbox's; -1: not there yet, or hung up */
	bool awaited; /* pid 1 has not sent it yet */
	bool at_once; /* taken as soon as we are in the foreground */
	bool taken; /* raw, and its input is ours */
	bool in_front; /* the command is in the foreground of its terminal */
	bool returns; /* the user's terminal makes returns of its own while it is not taken */
	bool held_return; /* one that may be too much, at the end of the last piece */
	bool unfiltered; /* for mutants */
	long long
		asked_ms; /* when the command last asked the user's terminal something */
	unsigned answered; /* how many of the filter's reports have come */
	unsigned answer_at; /* how much of another one has */
	struct termios before;
	struct sbx_termfilter filter;
	char typed[4096], shown[1 + SBX_TERM_ROOM(4096)];
	size_t typed_at, typed_len, shown_at, shown_len;
	size_t poll_in, poll_out, poll_master, poll_control;
};

/* fds: the user's; which of them are terminals. */
void relay_tty_init(struct relay_tty *t, const int fds[3], const bool is_tty[3]);
void relay_tty_watch(struct relay_tty *t, struct relay_poll *p, int control_fd);
void relay_tty_move(
	struct relay_tty *t, const struct relay_poll *p, struct sbx_launch *l);
/* The size of the user's is that of the sandbox's. */
void relay_tty_resize(struct relay_tty *t, struct sbx_launch *l);
/* We have been continued, or the command asks: takes the terminal if it may be. wanted: also
 * where that is not done at once. Returns false when we are in the background. */
bool relay_tty_enter(struct relay_tty *t, struct sbx_launch *l, bool wanted);
/* Gives it back as it was. */
void relay_tty_leave(struct relay_tty *t);
/* Nothing more comes, and what came was shown. */
bool relay_tty_over(const struct relay_tty *t);
/* Takes back what the command has left behind, and gives the terminal back. */
void relay_tty_end(struct relay_tty *t);

/* ---- signals (relay_signals.c) ---- */

struct relay_signals {
	int fd; /* signalfd */
	sigset_t before; /* the mask */
	bool pipe_pending; /* a SIGPIPE from before us */
	size_t poll;
};

int relay_signals_begin(struct relay_signals *s);
void relay_signals_end(struct relay_signals *s);
/* Stops this process, or all of its group, as sig does. Returns after it was continued: false if
 * it was not stopped, since nobody could continue it. */
bool relay_signals_stop(int sig, bool group);
