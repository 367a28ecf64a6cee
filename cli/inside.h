/* Runs a command in the sandbox and hears what it says: for checks, not for work. */
#pragma once

#include "prepare.h"

#define INSIDE_MAX 65536

/* Runs cmd (NULL-ended) without input, without a terminal, for at most timeout_ms; out gets the
 * first INSIDE_MAX - 1 bytes of what it prints, on 1 and 2, and a NUL, also when it fails. Returns
 * 0 when it ran and ended by itself or by a signal (*ret tells), or -1 with e set. */
int inside_run(const struct prepared *p, const struct options *o, char *const cmd[],
	int timeout_ms, char out[INSIDE_MAX], struct sbx_exit *ret, struct sbx_error *e);
