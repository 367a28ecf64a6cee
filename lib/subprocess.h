/* Runs a short helper program and collects what it prints. */
#pragma once

#include "util.h"

/* Runs argv[0] (a path) with no input, stderr joined to stdout, for at most timeout_ms.
 * Writes up to max bytes of output to *ret_out (owned, NUL-terminated).
 * Returns the wait status (>= 0), -ETIMEDOUT after killing it, or another -errno. */
int sbx_subprocess_output(char *const argv[], int timeout_ms, size_t max, char **ret_out);
