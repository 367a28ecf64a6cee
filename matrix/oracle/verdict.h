/* Judges one observation against one rule. Pure. */
#pragma once

#include "expect.h"

/* What was seen of one act, inside and on the host. */
struct observation {
	bool present; /* the probe wrote a line for it */
	char result[48]; /* "ok", errno name, "value:TEXT", "probe:TEXT" */
	int host; /* +1: the host sees the effect, -1: it does not, 0: nobody looked */
	int seen; /* the same for the listener and the nonce */
};

enum verdict {
	VERDICT_MATCH,
	VERDICT_KNOWN, /* a listed gap, as listed */
	VERDICT_ABSENT, /* this machine has no such thing: the control says so */
	VERDICT_MISMATCH, /* the boundary is not where the policy says */
	VERDICT_FIXED, /* a listed gap that is none any more: take it off the list */
	VERDICT_MISSING, /* no observation */
	VERDICT_CONTROL, /* the control failed: the denial proves nothing */
	_VERDICT_MAX,
};

const char *verdict_name(enum verdict v);

/* match, known and absent pass; mismatch and fixed fail; the rest could not be verified. */
bool verdict_passes(enum verdict v);
bool verdict_fails(enum verdict v);

/* True when o looks as e says, in every part that e speaks about. */
bool expectation_met(const struct expectation *e, const struct observation *o);

/* control: what the same act did outside; ignored where the rule has none.
 * known: the gap listed for this cell, or NULL. */
enum verdict verdict_judge(const struct rule *r, const struct known *known,
	const struct observation *o, const struct observation *control);
