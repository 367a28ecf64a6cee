/* Renders a plan into a command line. A loop without decisions: order and content are the
 * plan's. Two forms: for running (options in a memory file, values and paths out of sight of
 * the host's ps), and readable (everything in argv, for people and for other launchers). */
#pragma once

#include "plan.h"

struct sbx_argv {
	struct sbx_strv args; /* options, without the program and the command */
	struct sbx_strv env; /* NAME=VALUE, the whole environment of bwrap and payload */
};

/* fds: one descriptor an operation, -1 where the path form is wanted; NULL: all -1.
 * Operations that exist only by descriptor (seccomp, copy) are then rendered with a
 * placeholder "{...}" instead of a number, which bwrap refuses.
 * On success the caller ends *ret with sbx_argv_done(). */
SBX_PUBLIC int sbx_argv_render(struct sbx_argv *ret, const struct sbx_plan *plan,
	const int *fds, struct sbx_error *e);
SBX_PUBLIC void sbx_argv_done(struct sbx_argv *a);

/* The options as NUL-separated words, the form that --args reads. Owned; *ret_len bytes. */
SBX_PUBLIC char *sbx_argv_pack(const struct sbx_argv *a, size_t *ret_len);
