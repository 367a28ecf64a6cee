#include "verdict.h"

#include <string.h>

static const char *const names[_VERDICT_MAX] = {
	[VERDICT_MATCH] = "match",
	[VERDICT_KNOWN] = "known",
	[VERDICT_ABSENT] = "absent",
	[VERDICT_MISMATCH] = "mismatch",
	[VERDICT_FIXED] = "fixed",
	[VERDICT_MISSING] = "missing",
	[VERDICT_CONTROL] = "control-failed",
};

const char *verdict_name(enum verdict v)
{
	return (unsigned)v < _VERDICT_MAX ? names[v] : "?";
}

bool verdict_passes(enum verdict v)
{
	return v == VERDICT_MATCH || v == VERDICT_KNOWN || v == VERDICT_ABSENT;
}

bool verdict_fails(enum verdict v)
{
	return v == VERDICT_MISMATCH || v == VERDICT_FIXED;
}

bool expectation_met(const struct expectation *e, const struct observation *o)
{
	bool result = false;

	for (int i = 0; e->results[i]; i++)
		result |= strcmp(e->results[i], o->result) == 0;
	return result && (e->host == 0 || e->host == o->host) &&
	       (e->seen == 0 || e->seen == o->seen);
}

/* The rule speaks about the host's side, and nobody looked there. */
static bool evidence_lacks(const struct expectation *e, const struct observation *o)
{
	return (e->host && o->host == 0) || (e->seen && o->seen == 0);
}

static bool observed(const struct observation *o)
{
	return o && o->present && strncmp(o->result, "probe:", 6) != 0;
}

/* What fails inside and outside alike is the machine's fault; what must be denied and is not
 * is a hole whatever happens outside. */
static bool wants_success(const struct expectation *e)
{
	return strcmp(e->results[0], "ok") == 0 && e->host >= 0 && e->seen >= 0;
}

/* Where the machine lacks the thing, inside must be as the rule says, or as outside: lacking
 * it, without effect and unseen. Anything else was found all the same. */
static bool lacks_it_too(const struct rule *r, const struct observation *o, bool met)
{
	return met || (strcmp(o->result, r->control.absent) == 0 && o->host <= 0 &&
			      o->seen <= 0);
}

enum verdict verdict_judge(const struct rule *r, const struct known *known,
	const struct observation *o, const struct observation *control)
{
	const struct control *c = &r->control;
	const struct expectation *outside =
		c->kind == CONTROL_SAME ? &r->expect : &c->expect;
	bool met;

	if (!observed(o) || evidence_lacks(&r->expect, o))
		return VERDICT_MISSING;
	met = expectation_met(&r->expect, o);
	/* A hole is a hole, whatever the control says. */
	if (known && !met && expectation_met(&known->observed, o))
		return VERDICT_KNOWN;
	if (c->kind != CONTROL_NONE) {
		if (!observed(control))
			return met || wants_success(&r->expect) ? VERDICT_CONTROL
								: VERDICT_MISMATCH;
		if (c->absent && strcmp(control->result, c->absent) == 0)
			return lacks_it_too(r, o, met) ? VERDICT_ABSENT
						       : VERDICT_MISMATCH;
		if (!expectation_met(outside, control))
			return met || wants_success(&r->expect) ? VERDICT_CONTROL
								: VERDICT_MISMATCH;
	}
	if (!met)
		return VERDICT_MISMATCH;
	return known ? VERDICT_FIXED : VERDICT_MATCH;
}
