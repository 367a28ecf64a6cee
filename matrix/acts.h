/* The acts of one run of the probe: which rules, with which arguments; what the probe said;
 * what the host found. The same code serves cells and controls. */
#pragma once

#include "oracle/verdict.h"
#include "roles.h"

#include <stdio.h>

struct act {
	const struct rule *rule;
	int agent; /* value of the agent axis that the role was resolved for */
	struct role_args args;
	struct observation obs;
};

struct acts {
	struct act *v;
	size_t n;
	char token[48];
	bool outside; /* this is a control */
	bool spoiled; /* the scene's files are not as they were */
	bool survivors; /* processes outlived the probe and the sandbox */
};

/* Which rules take part: a glob on ids, NULL for all; and whether staged ones do. */
struct selection {
	const char *rule_glob;
	bool quick; /* staged scenarios are left out */
};

bool selection_has(const struct selection *s, const struct rule *r);

/* For a cell: one act a rule in force, omitted ones left out. Returns 0 or -errno. */
int acts_for_cell(struct acts *ret, const struct table *t, const struct cell *c,
	struct scene *s, const struct selection *sel);

/* For the controls of the cells[CELL_MAX]: one act for every operation and role that wants
 * one, and one an agent where the role means another thing for each. */
int acts_for_controls(struct acts *ret, const struct table *t, const bool *cells, int uid,
	struct scene *s, const struct selection *sel);

/* What the probe reads on stdin. Owned. */
char *acts_input(const struct acts *a, const struct scene *s);

/* One field of a line of it, with its tab. */
void acts_put_field(FILE *f, const char *s);

/* Reads what the probe wrote. Returns NULL, or what is wrong with it (static text): then some
 * observations are missing. */
const char *acts_parse(struct acts *a, const char *output);

/* Adds the host's side to every observation, then removes what the acts left behind.
 * Returns NULL or what failed (static text). */
const char *acts_evidence(struct acts *a, const struct scene *s);

void acts_done(struct acts *a);

/* Operations that the runner carries out itself. */
bool act_is_host_side(const char *op);

/* One that needs sandboxes of its own: stage.h. */
bool act_is_staged(const char *op);
