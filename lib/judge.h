/* Judges a resolved path: may it be shown inside at all?
 *
 * Pure text: the caller (host.c) has resolved every link first, and gives the home directory
 * both as named and as resolved. The refusals are those of docs/security.md [S4].
 */
#pragma once

#include "agents.h"

/* Refuses path (absolute, normalised, resolved) with a named error, or returns 0.
 * what names it in the message: "work dir" or "bind". homes: NULL-ended, the home directory
 * in each of its spellings. */
SBX_PUBLIC int sbx_judge_path(const char *path, const char *what,
	const char *const *homes, struct sbx_error *e);
