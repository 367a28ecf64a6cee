/* The keeper of a sandbox's placeholders: init/keeper.c, carried in the library.
 *
 * For each operation of a plan that reserves its path something has to stand there while the
 * sandbox lives, and no longer. A program of its own sees to it, so that nothing stays behind
 * when the runner is killed. */
#pragma once

#include "plan.h"

#include <sys/stat.h>
#include <sys/types.h>

struct sbx_keeper {
	pid_t pid; /* 0: there is nothing to keep */
	int pidfd;
	int status; /* what it says */
	int sandbox; /* for pid 1, which sends a handle on itself; the keeper ends without it */
};

#define SBX_KEEPER_NONE ((struct sbx_keeper){ .pidfd = -1, .status = -1, .sandbox = -1 })

/* True for what has the time of what a keeper made and nobody has used since. Anybody can set a
 * time: for what the word of a payload must not decide there is the next one. */
SBX_PUBLIC bool sbx_keeper_made(const struct stat *st);

/* True when name, relative to dir as for openat(), is a placeholder of that kind and text (NULL:
 * none): it has the time, and holds nothing else. */
SBX_PUBLIC bool sbx_keeper_stands(
	int dir, const char *name, enum sbx_reserve reserve, const char *text);

/* Starts one when the plan reserves anything, and waits until all placeholders stand. On success
 * the caller passes .sandbox on, and ends *ret with sbx_keeper_end(). On failure nothing is left. */
int sbx_keeper_start(struct sbx_keeper *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, struct sbx_error *e);

/* Closes .sandbox, which pid 1 now has. */
void sbx_keeper_leave(struct sbx_keeper *k);

/* Closes our end of .sandbox and waits until the placeholders are gone, at most timeout_ms.
 * False when they are not: another sandbox's keeper has them then, or this one still works. */
bool sbx_keeper_end(struct sbx_keeper *k, int timeout_ms);
