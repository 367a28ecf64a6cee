/* pid 1 of the sandbox, as the library carries it: init/init.c, compiled in.
 *
 * It is executed by bwrap (--as-pid-1) from a memory file, so that no file of the host lies
 * behind /proc/1/exe; its descriptors are the runner's only word with it. */
#pragma once

#include "plan.h"

#define SBX_INIT_WORDS 11 /* on its command line, before the command */

/* Bytes that it is told on the control channel, beside the numbers of signals. */
enum sbx_init_word {
	SBX_INIT_GROUP = 128, /* and a signal: for the process group of the command */
	SBX_INIT_BACKGROUND =
		254, /* the command is not in the foreground of its terminal */
	SBX_INIT_FOREGROUND =
		255, /* it is; the first of these two lets the command start */
};

/* A sealed, close-on-exec memory file with the program. Returns the descriptor or -errno. */
int sbx_init_memfd(void);

/* Its descriptors, as bwrap inherits them; -1 for none. */
struct sbx_init_fds {
	int image; /* of the program */
	int control, status; /* its ends of the runner's pipes */
	int keeper; /* where it sends a handle on itself */
	int command[3]; /* as in struct sbx_launch_opts */
};

/* Adds the words of its command line to argv, the command not included: the descriptors, and the
 * limits of the plan. skip: for mutants. */
void sbx_init_words(struct sbx_strv *argv, const struct sbx_init_fds *fds,
	const struct sbx_plan *plan, unsigned skip);
