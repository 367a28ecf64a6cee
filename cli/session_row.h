/* A session as it is recorded, and the sandbox choice on its row: from and to JSON. */
#pragma once

#include "sbx.h"

#include <jansson.h>

struct session {
	char *id; /* eight hexadecimal digits; all strings are owned */
	char *name; /* or NULL */
	char *agent; /* a name in the agents table, of the sbx that recorded it */
	char *workdir; /* absolute, resolved */
	char *sandbox; /* JSON; NULL: not sandboxed */
	char *args; /* a JSON array: what stood after "--" */
	char *conversation; /* the id that the agent was given for it, or NULL */
	long long created, used; /* seconds since 1970 */
	int status; /* of the last run; -1: none has ended */
};

void session_done(struct session *s);

/* What the JSON says. Strings are borrowed from root. End with session_sandbox_done(). */
struct session_sandbox {
	struct sbx_policy policy; /* no agent and no work dir: they are columns */
	struct sbx_bind *binds;
	const char **env;
	bool skip; /* the agent's permission prompts are off */
	json_t *root;
};

/* The text for a policy, owned: {"profile", "fs", "net" (the mode in force), "binds", "env",
 * "allow", "skip_permissions"}. NULL with e set for a path that is no UTF-8. */
char *session_sandbox_format(const struct sbx_policy *p, bool skip, struct sbx_error *e);

/* Strict: every key once, no other key, no other value. Returns 0, or -1 with e set. */
int session_sandbox_parse(
	struct session_sandbox *ret, const char *text, struct sbx_error *e);
void session_sandbox_done(struct session_sandbox *s);

/* The text of schema 1, {"fs", "net"}, in words of schema 2. Owned; NULL when it makes no
 * sense: it is then left as it is, and refused when it is used. */
char *session_sandbox_upgrade(const char *text);

/* "lenient, rw, net on", or "invalid". Owned; NULL for a session without a sandbox. */
char *session_sandbox_summary(const char *text);

/* Arguments to and from JSON; args is NULL-ended, or NULL: none. Both return NULL or -1 with e
 * set: an argument that is no UTF-8, a text that is no array of strings. */
char *session_args_format(char *const *args, struct sbx_error *e);
int session_args_parse(struct sbx_strv *ret, const char *text, struct sbx_error *e);

/* May it name a session? Letters, digits and . _ -, first a letter or digit, 64 at most; not
 * eight hexadecimal digits, which is an id. */
bool session_name_valid(const char *name);
