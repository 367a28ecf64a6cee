/* The expectation table: what must hold, written from the policy's words.
 *
 * Reads expect.tbl and answers: which rule speaks about this operation on this role in this
 * cell? Exactly one does: the loader refuses gaps, overlaps, rules that match no cell and
 * denials without a control. It knows nothing of plans, argv or the library.
 */
#pragma once

#include "cell.h"

#include <stdio.h>

/* What an observation must look like. Result words: "ok", an errno name, "value:TEXT". */
#define EXPECT_ALTERNATIVES 3

struct expectation {
	char *results[EXPECT_ALTERNATIVES + 1]; /* NULL-ended; owned */
	int host; /* +1: host sees the effect, -1: it must not */
	int seen; /* +1: listener saw the nonce, -1: it must not */
};

enum control_kind {
	CONTROL_EXPECT, /* the act outside must look like this */
	CONTROL_SAME, /* the act outside must look as the rule says for inside */
	CONTROL_NONE, /* none possible; reason says why */
};

struct control {
	enum control_kind kind;
	struct expectation expect;
	char *absent; /* result that means: this machine has no such thing; or NULL */
	char *reason; /* for CONTROL_NONE */
};

struct rule {
	char *id;
	struct condition when;
	char *op;
	char *role; /* "@name", a literal argument, or "-" */
	struct expectation expect;
	struct control control;
	char *cite; /* "S12" */
	char *why;
	int line;
	unsigned act; /* hash of op and role: tells most acts apart at once */
	const struct condition *
		*omitted; /* where it is left out; owned, not what it points to */
	size_t n_omitted;
};

/* A listed gap: in these cells the rule does not hold yet; this is seen instead. */
struct known {
	char *rule;
	struct condition when;
	struct expectation observed;
	char *why;
	int line;
};

/* Rules that are not run in these cells, though they hold there: others show the same. */
struct omission {
	char *glob; /* of rule ids */
	struct condition when;
	char *why;
	int line;
};

struct table {
	struct rule *rules;
	size_t n_rules;
	struct known *known;
	size_t n_known;
	struct omission *omitted;
	size_t n_omitted;
};

#define EXPECT_ERROR_MAX 256

/* Parses text (name is for messages). Returns 0, or -1 with "name:line: what" in error.
 * On success the caller ends *ret with table_done(). */
int table_parse(struct table *ret, const char *text, const char *name, char *error);
void table_done(struct table *t);

/* Is this rule in force in this cell, and run there? */
bool table_runs(const struct table *t, const struct rule *r, const struct cell *c);

/* Do both speak about the same operation on the same role? */
bool rule_same_act(const struct rule *a, const struct rule *b);

/* The gap listed for this rule in this cell, borrowed, or NULL. */
const struct known *table_known(
	const struct table *t, const struct rule *r, const struct cell *c);

/* "ok+host" again, from the parsed form; into buf of size n. */
void expectation_text(const struct expectation *e, char *buf, size_t n);
