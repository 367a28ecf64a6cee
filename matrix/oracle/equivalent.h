/* equivalent.tbl: which changes of the launch no observer can notice, and which rules need
 * not notice any, each with its reason. Part of the oracle: no lib/ header here.
 *
 *     same  MUTANT  WHEN  reason     the mutant (a glob) must survive in these cells
 *     idle  RULE    WHEN  reason     the rule (a glob) need not kill a mutant: it is a control,
 *                                    a twin, or a second wall
 */
#pragma once

#include "cell.h"

struct equivalence {
	char *glob;
	struct condition when;
	char *why;
	int line;
};

struct equivalents {
	struct equivalence *mutants;
	size_t n_mutants;
	struct equivalence *rules;
	size_t n_rules;
};

/* As table_parse(). On success the caller ends *ret with equivalents_done(). */
int equivalents_parse(
	struct equivalents *ret, const char *text, const char *name, char *error);
void equivalents_done(struct equivalents *e);

/* The line about this mutant in this cell, or about this rule, borrowed; NULL: none. */
struct equivalence *equivalents_mutant(
	const struct equivalents *e, const char *mutant, const struct cell *c);
struct equivalence *equivalents_rule(
	const struct equivalents *e, const char *rule, const struct cell *c);
