/* Staged scenarios: what only shows when the runner itself, the work dir or the host are in a
 * particular state. Each has sandboxes of its own, started by a process of its own.
 *
 * Inside: the scenario under the launch that cells get, changed as the variant says.
 * Outside: the same with the protection taken away that the scenario is about; that must show
 * the effect, so that every scenario has been seen failing in the same run. */
#pragma once

#include "run.h"

bool stage_exists(const char *name);

/* Scenarios in order, NULL-ended walk: stage_name(0), stage_name(1)... */
const char *stage_name(size_t i);

/* Starts of bwrap that it needs; 0 for a name that does not exist. */
size_t stage_starts(const char *name, bool outside);

/* Plays it, with the launch changed by v (NULL: not at all). No probe may be at work on the scene, which is left as it was. On any trouble
 * ret->result is "probe:" and what it was: no observation. */
void stage_run(const char *name, struct scene *s, const struct cell *c,
	const struct run_options *o, const struct variant *v, bool outside,
	struct observation *ret);
