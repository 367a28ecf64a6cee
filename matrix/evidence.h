/* The host's own evidence: did an act have its effect out here? Decided by looking, never by
 * what the probe says. */
#pragma once

#include "acts.h"

/* +1: the effect is there; -1: it is not; 0: this operation has none to look for. */
int evidence_effect(const char *op, char *const *args, const char *token);

/* Removes or restores what an act left; effect is what evidence_effect() said. */
void evidence_clean(const char *op, char *const *args, int effect, const struct tree *t);

/* True when the operation has an effect to look for. */
bool evidence_exists(const char *op);

/* The act that is nothing but a look of the host: has a part of the scene changed? */
void evidence_snapshot(const struct rule *r, const struct scene *s,
	const struct tree_print *now, struct observation *ret);
