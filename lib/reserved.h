/* Which of the facts are placeholders: told when all have been gathered, for a path's row says
 * what a placeholder there would be. */
#pragma once

#include "host.h"

/* Takes .reserved from the facts of what only has a placeholder's time, which anybody can set. */
void sbx_reserved_confirm(struct sbx_host *h);
