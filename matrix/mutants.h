/* The mutants of a cell: its launch with one change each, everything that there is to change.
 * Made from the plan itself, so that an operation added to the plan has its mutants at once. */
#pragma once

#include "variant.h"

struct mutant {
	bool staged; /* shows only in a scene around the launch */
	char *name; /* "drop:flag:--unshare-pid"; paths as ~ for HOME; unique in a cell */
	struct variant variant;
	char *owned[3]; /* strings and bytes that the variant borrows */
};

struct mutants {
	struct mutant *v;
	size_t n;
};

/* All mutants of the plan that prepare() has made for this cell in this scene; those of the
 * filter's rows in the cells of the generic agent only: it is the same program everywhere. */
void mutants_make(struct mutants *ret, const struct sbx_plan *plan, const struct scene *s,
	const struct cell *c);
void mutants_done(struct mutants *m);
