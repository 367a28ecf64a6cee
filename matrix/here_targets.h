/* What the roles of here.tbl stand for on this machine: paths and variables of the user's own,
 * looked for when --here is run. Written from the words of docs/security.md and from what people
 * keep in their homes; never from what the library binds. */
#pragma once

#include "roles.h"

struct here_target {
	char *name; /* for people: "~/.ssh/id_ed25519", "$NAME"; owned */
	char *args[ROLE_ARGS + 1]; /* of the act, NULL-ended, owned */
};

struct here_targets {
	struct here_target *v;
	size_t n;
	size_t more; /* found, and left out: there were too many */
};

/* Of one role, a "@here_..." of here.tbl or any role of roles.h that needs nothing of the scene.
 * home and work of s are the user's, s->root our own directory. Returns 0, or -1 for a role that
 * nobody knows. End with here_targets_done(). */
int here_targets_find(
	struct here_targets *ret, const char *role, const struct role_use *use);
void here_targets_done(struct here_targets *t);
