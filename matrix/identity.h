/* Who runs the cells. Root is never confined by a user namespace of its own uid, so a run
 * started by root becomes another user for good, in this process. */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

/* who: a name or number, or NULL for "nobody". Does nothing for an ordinary user, who may
 * not name another. Returns 0 with *ret_note set when identity changed (static text, else
 * NULL), or -1 with a message in error (256 bytes). */
int identity_assume(const char *who, const char **ret_note, char *error);

/* Does --uid name uid 0? For what is printed before anything is assumed. */
bool identity_wants_root(const char *who);
