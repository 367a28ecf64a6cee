/* Which of the facts are placeholders: told when all have been gathered, for a path's row says
 * what a placeholder there would be. */
#pragma once

#include "plan.h"

/* Takes .reserved from the facts of what only has a placeholder's time, which anybody can set. */
void sbx_reserved_confirm(struct sbx_host *h);

/* When the keeper has what the plan reserves: is anything that the plan takes for the host's own
 * another sandbox's placeholder by now? It would go with that. Returns 0 or -EEXIST with e set. */
int sbx_reserved_check(
	const struct sbx_plan *plan, const struct sbx_host *h, struct sbx_error *e);
