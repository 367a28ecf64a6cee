/* "sbx-verify --here": the user's own world instead of the scene. His HOME, his agents' files, his
 * environment, the current directory as work dir; the launch is the one of 'sbx run'.
 *
 * Nothing of the user's is read: files are opened and closed, or only looked up. Nothing is
 * changed but a directory of our own in the work dir, "." and the nonce, in which the probe lies;
 * it is removed, by the guardian if need be. Every act is done outside first, as a control.
 */
#pragma once

#include "controls.h"
#include "here_targets.h"
#include "run.h"

/* One rule of here.tbl for one thing that was found. */
struct here {
	struct scene scene; /* home, work, root, env, probe; none of the rest */
	struct table
		table; /* rules made from template's; strings are borrowed from it, or owned
			     * by targets */
	struct here_target *targets; /* of the rule of the same number */
	struct controls controls;
	size_t more; /* things found that have no rule, since there were too many */
	unsigned serial;
};

/* Looks for everything; home is HOME. Makes the directory and does the controls, unless dry.
 * Returns 0, or negative with e set and nothing left. End with here_done(). */
int here_open(struct here *ret, const struct table *template, const struct run_options *o,
	const char *home, bool dry, struct sbx_error *e);
void here_done(struct here *h);

/* Which agents' files or programs are on this machine; generic always is. cells[CELL_MAX]: those
 * of the others are taken off. */
void here_agents_found(bool *cells, const char *home);

/* What would be done, one line each, and what would be made. Returns 0 or -errno. */
int here_list(const struct here *h, const bool *cells, int uid, FILE *f);

/* Runs the cells, one after the other. As run_matrix(). */
int here_run(struct run *ret, struct here *h, const struct run_options *o);

/* For flight.c. */
int here_acts(const struct here *h, const struct cell *c, const struct selection *sel,
	struct acts *ret);
void here_evidence(struct acts *a);

/* Only these look, or stay in our own directory. */
bool here_is_harmless(const char *op);
