/* A small simulator of bwrap's documented mount order: what does a path look like inside?
 *
 * Independent of lib/plan.c: it replays the operations one after the other, the last that
 * covers a path wins, and nothing else is known about why they are there. */
#pragma once

#include "plan.h"

enum sim_access {
	SIM_ABSENT, /* nothing of the host's is there */
	SIM_PRIVATE, /* a private, writable place */
	SIM_RO, /* the host's, read-only */
	SIM_RW, /* the host's, writable */
};

/* What the host path is inside: which host object, in what mode. The path counts as shown
 * only when the host's own object of that name is there. */
enum sim_access sim_access(const struct sbx_plan *plan, const char *path);

/* Can a directory be renamed away inside: is it in a writable mount and no mount itself? */
bool sim_can_move(const struct sbx_plan *plan, const char *path);
