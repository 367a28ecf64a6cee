/* The controls: every act once outside the sandbox, in the same run, on the same scene. */
#pragma once

#include "acts.h"
#include "run.h"

#define CONTROLS_AGENTS 16

struct controls {
	const struct table *table;
	/* One observation a rule; the last row is for roles that mean the same for all. */
	struct observation *by_agent[CONTROLS_AGENTS + 1];
};

/* Runs them for the agents that the selected cells use, then puts the scene back and takes
 * its baseline. Returns 0, or -errno with *ret_what (static text). */
int controls_run(struct controls *ret, const struct table *t, struct scene *s,
	const struct selection *sel, const bool *cells, int uid, int timeout_ms,
	const char **ret_what);

/* The control of a staged rule; run when it is first asked for, since most slots have none.
 * No probe may be at work. */
void controls_stage(struct controls *c, const struct rule *r, struct scene *s,
	const struct cell *cell, const struct run_options *o);

/* Borrowed; not present when there was none. */
const struct observation *controls_find(
	const struct controls *c, const struct rule *r, const struct cell *cell);
void controls_done(struct controls *c);
