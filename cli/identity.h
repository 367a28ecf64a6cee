/* Who runs the agent. A user namespace does not confine uid 0, so sbx started by root becomes
 * an ordinary user for good, before it opens anything. */
#pragma once

#include "options.h"

struct identity {
	uid_t uid;
	gid_t gid;
	bool assumed; /* this process was root and has become him */
	char *name; /* login name, or the uid in digits; owned */
};

/* Does nothing when this process is not root, or with --allow-root (which warns). Otherwise
 * becomes the user of --as, or the owner of the work dir: groups, gid and uid, and HOME, USER,
 * LOGNAME and PATH of the environment. What else root had in it is erased from memory, which that
 * user may now read, but for what the agent gets; for no agent (NULL), the variables of all agents
 * are there without their values. Refuses when the user is root. Returns 0, or -1 with e set; on
 * success the caller ends *ret with identity_done(). */
int identity_assume(struct identity *ret, const struct options *o,
	const struct sbx_agent *agent, struct sbx_error *e);
void identity_done(struct identity *id);

/* The look-up alone: who would it be? For root only. */
int identity_choose(struct identity *ret, char **ret_home, const struct options *o,
	struct sbx_error *e);

/* Is this process root, and identity_assume() would make it somebody else? */
bool identity_changes(const struct options *o);

/* Asks something as the user who would be assumed, and stays who this process is: fn runs in a
 * child that has become him, where it may open what is his. *ret is what it wrote to out; owned.
 * fn returns 0, or -1 with e set, which arrives here. */
typedef int identity_question(
	FILE *out, const struct options *o, const void *arg, struct sbx_error *e);
int identity_ask(char **ret, const struct options *o, identity_question *fn,
	const void *arg, struct sbx_error *e);
