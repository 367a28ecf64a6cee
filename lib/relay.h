/* Between the user's standard input, output and error and those of a command in the sandbox.
 *
 * The command never holds what the user has handed in: of a file it could read what others
 * wrote, empty it, change its modes; a pipe it could open again from /proc/self/fd; into a
 * terminal it could type. Each of the three that is a terminal becomes one of the sandbox's own,
 * each other a pipe of ours; /dev/null stays what it is. The relay carries the bytes, and what
 * comes with them: ends, broken pipes, the terminal's size, keys that are signals, stops.
 *
 *     sbx_relay_new(&r, NULL, &e);
 *     sbx_relay_prepare(r, &opts);
 *     sbx_launch_start(&l, ..., &opts, &e);
 *     sbx_relay_run(r, &l, -1, &exit);
 *     sbx_launch_done(&l);
 *     sbx_relay_free(r);
 *
 * The user's terminal is taken (raw, its input read) at once if the command has it as both input
 * and output and we are in the foreground; else when the command asks for it, since it may be
 * somebody else's in the pipeline ("| less") or in the foreground. Until then keys stay what
 * they are: Ctrl-C and Ctrl-Z reach us as signals, and we pass them on. */
#pragma once

#include "launch.h"

struct sbx_relay;

struct sbx_relay_opts {
	int fds[3]; /* what stands for 0, 1 and 2; borrowed until sbx_relay_free() */
	/* When the command closes its input or output, its counterpart in fds gives way to
	 * /dev/null for good, so that who writes to it or reads from it hears of that before the
	 * command's end. For programs that do nothing else with theirs. */
	bool let_go;
	/* At the deadline the command gets TERM, and so much time for its last words. */
	int grace_ms;
};

/* Looks at the descriptors; opts NULL: 0, 1, 2, kept. One that is closed counts as /dev/null.
 * On success the caller ends *ret with sbx_relay_free(). */
SBX_PUBLIC int sbx_relay_new(
	struct sbx_relay **ret, const struct sbx_relay_opts *opts, struct sbx_error *e);

/* Says in opts what the launch gives bwrap and the command; overwrites in, out, err and command.
 * For one launch. The descriptors are the relay's. */
SBX_PUBLIC void sbx_relay_prepare(struct sbx_relay *r, struct sbx_launch_opts *opts);

/* Relays until the command has ended and what it wrote has arrived; in place of
 * sbx_launch_wait(), with the same meaning of timeout_ms and *ret. One that ended in its grace time
 * has timed out. INT, TERM, HUP, QUIT, USR1,
 * USR2 and TSTP that come to this process are for the command, unless this process ignores them;
 * before it runs, the first four end the start (SBX_HOW_ABORTED), once it has ended, they give up
 * on the output. When the command is stopped, so is
 * this process (its process group, if the terminal did it), and CONT continues both.
 * For a process of one thread; mask and dispositions are afterwards as they were.
 * Returns 0 or -errno. */
SBX_PUBLIC int sbx_relay_run(
	struct sbx_relay *r, struct sbx_launch *l, int timeout_ms, struct sbx_exit *ret);

/* 0, or -errno with the reason when output was lost that the command believes written: the disk
 * is full. A reader who is gone is no such reason. After sbx_relay_run(). */
SBX_PUBLIC int sbx_relay_lost(const struct sbx_relay *r, struct sbx_error *e);

/* NULL is allowed. The user's terminal is as before. */
SBX_PUBLIC void sbx_relay_free(struct sbx_relay *r);
