/* pid 1 of the sandbox, as the library carries it: init/init.c, compiled in.
 *
 * It is executed by bwrap (--as-pid-1) from a memory file, so that no file of the host lies
 * behind /proc/1/exe; its descriptors are the runner's only word with it. */
#pragma once

#include "util.h"

#define SBX_INIT_WORDS 7 /* on its command line, before the command */

/* A sealed, close-on-exec memory file with the program. Returns the descriptor or -errno. */
int sbx_init_memfd(void);

/* Its descriptors, as bwrap inherits them; -1 for none. */
struct sbx_init_fds {
	int image; /* of the program */
	int control, status; /* its ends of the runner's pipes */
	int keeper; /* where it sends a handle on itself */
};

/* Adds the words of its command line to argv, the command not included. skip: for mutants. */
void sbx_init_words(struct sbx_strv *argv, const struct sbx_init_fds *fds, unsigned skip);
