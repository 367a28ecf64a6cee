/* Scenarios with a terminal: the player's process leads a session that has it, as a shell's
 * would, and standard error of the payload leads to it. */
#include "stage_play.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

struct terminal {
	int master, slave;
	char name[64];
};

/* Raw, so that a byte that was typed is there to read at once. */
static bool open_terminal(struct terminal *ret, struct play *p, bool control)
{
	struct terminal t = { .master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) };
	struct termios raw;

	if (t.master < 0 || unlockpt(t.master) < 0 ||
		ptsname_r(t.master, t.name, sizeof(t.name)) != 0) {
		play_fail(p, "pty");
		return false;
	}
	t.slave = open(t.name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (t.slave < 0 || tcgetattr(t.slave, &raw) < 0 ||
		(control && ioctl(t.slave, TIOCSCTTY, 0) < 0)) {
		play_fail(p, "pty");
		return false;
	}
	cfmakeraw(&raw);
	tcsetattr(t.slave, TCSANOW, &raw);
	*ret = t;
	return true;
}

static bool has_input(int fd)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };

	return poll(&f, 1, 0) > 0;
}

void stage_tty_typing(struct play *p)
{
	struct try t = TRY_INIT;
	struct terminal tty;

	if (!open_terminal(&tty, p, true))
		return;
	t.stdio[2] = tty.slave;
	try_act(&t, "tty_type", "2");
	try_act(&t, "tty_type", "/dev/tty");
	try_act(&t, "tty_type", "/proc/self/fd/2");
	try_act(&t, "tty_linux", "2");
	if (try_run(&t, p, NULL))
		play_say(p, has_input(tty.slave) ? "typed" : "untouched");
	try_done(&t);
}

void stage_tty_foreground(struct play *p)
{
	struct try t = TRY_INIT;
	struct terminal tty;

	if (!open_terminal(&tty, p, true))
		return;
	t.stdio[2] = tty.slave;
	try_act(&t, "tty_foreground", "2");
	if (try_run(&t, p, NULL))
		play_say(p, tcgetpgrp(tty.slave) == getpgrp() ? "ours" : "taken");
	try_done(&t);
}

void stage_tty_steal(struct play *p)
{
	struct try t = TRY_INIT;
	struct terminal tty;

	if (!open_terminal(&tty, p, true))
		return;
	t.stdio[2] = tty.slave;
	try_act(&t, "tty_steal", "2");
	if (try_run(&t, p, NULL))
		play_say(p, try_ok(&t, 0) ? "taken" : "ours");
	try_done(&t);
}

/* What is still different when the payload is gone. */
void stage_tty_left(struct play *p)
{
	struct try t = TRY_INIT;
	struct terminal tty;
	struct termios before, after;
	struct winsize size = { 0 };

	if (!open_terminal(&tty, p, true))
		return;
	tcgetattr(tty.slave, &before);
	t.relayed = true;
	t.stdio[2] = tty.slave;
	try_act(&t, "tty_modes", "2");
	try_act(&t, "tty_size", "2");
	try_act(&t, "fd_nonblock", "2");
	if (try_run(&t, p, NULL) && tcgetattr(tty.slave, &after) == 0 &&
		ioctl(tty.slave, TIOCGWINSZ, &size) == 0)
		play_list(p, "as-before",
			(const struct found[]){
				{ "echo", before.c_lflag != after.c_lflag },
				{ "size", size.ws_row == 7 },
				{ "nonblock",
					(fcntl(tty.slave, F_GETFL) & O_NONBLOCK) != 0 },
				{ NULL, false } });
	try_done(&t);
}

/* bwrap binds the terminal there when it is standard output; the protocol has to go elsewhere. */
void stage_tty_console(struct play *p)
{
	SBX_CLEANUP_FREE char *acts = sbx_xasprintf("%s.acts", p->probe);
	char *const cmd[] = { p->probe, (char *)"--acts", acts, (char *)"2", NULL };
	struct try t = TRY_INIT;
	struct terminal tty;

	if (!open_terminal(&tty, p, true))
		return;
	t.relayed = true;
	t.stdio[0] = t.stdio[1] = tty.slave;
	try_act(&t, "stat", "/dev/console");
	if (try_write_acts(&t, p, acts) < 0 || try_plan(&t, p, NULL) < 0 ||
		try_start(&t, p, cmd) < 0) {
		play_fail(p, "start");
	} else {
		try_end(&t);
		play_say(p, try_ok(&t, 0) ? "there" : "absent");
	}
	unlink(acts);
	try_done(&t);
}

void stage_tty_escape(struct play *p)
{
	struct try t = TRY_INIT;
	struct terminal tty;
	char buf[64];
	ssize_t n;

	if (!open_terminal(&tty, p, true))
		return;
	t.relayed = true;
	t.stdio[2] = tty.slave;
	try_act(&t, "tty_escape", "2");
	if (try_run(&t, p, NULL)) {
		n = has_input(tty.master) ? read(tty.master, buf, sizeof(buf)) : 0;
		play_say(p, n > 0 && memchr(buf, '\033', (size_t)n) ? "raw" : "filtered");
	}
	try_done(&t);
}

/* A terminal of the host's that nobody handed in. */
void stage_tty_other(struct play *p)
{
	struct try t = TRY_INIT;
	struct terminal tty;

	if (!open_terminal(&tty, p, false))
		return;
	try_act(&t, "open_write", tty.name);
	if (try_run(&t, p, NULL))
		play_say(p, try_ok(&t, 0) ? "opened" : "absent");
	try_done(&t);
}
