/* Roles: what a name of the expectation table stands for in a scene. The only place that
 * turns "@ssh_key" into a path; the table itself never sees one. */
#pragma once

#include "oracle/cell.h"
#include "scene.h"

#define ROLE_ARGS 4

struct role_use {
	const struct scene *scene;
	const struct cell *cell;
	const char *token; /* nonce of the run of the probe */
	unsigned index; /* of the operation: makes new names unique */
	bool outside; /* the control: some roles mean another thing there */
};

struct role_args {
	char *v[ROLE_ARGS + 1]; /* NULL-ended, owned */
	int listener; /* whose log decides about +seen, or -1 */
};

/* Resolves role: "@name" by the table, "-" to no argument, anything else to itself.
 * Returns 0, or -1 for a name the table does not have. End with role_args_done(). */
int role_resolve(struct role_args *ret, const char *role, const struct role_use *use);
void role_args_done(struct role_args *a);

/* True when the role means another thing for each agent. */
bool role_is_per_agent(const char *role);
bool role_exists(const char *role);
/* Roles in order, NULL-ended walk: role_name(0), role_name(1)... */
const char *role_name(size_t i);
