/* From options to a launch: host facts, plan and command. The one way there, for 'sbx run',
 * 'sbx plan' and 'sbx doctor', so that what is shown is what is run. */
#pragma once

#include "options.h"

struct prepared {
	const struct sbx_agent *agent; /* borrowed */
	struct sbx_policy policy; /* with the agent's name */
	struct sbx_host host;
	struct sbx_plan plan;
	struct sbx_strv command; /* as executed inside */
};

/* Which agent the words name, and whether they fit: one name, or none before "--", which
 * means generic; generic needs a command. Returns the row, or NULL with e set. */
const struct sbx_agent *prepare_agent(const struct options *o, struct sbx_error *e);

/* The command line: program, when skip is set the flags that switch prompts off and those that keep
 * its key from its tools, and what stands after "--". For generic, that alone. */
void prepare_command(struct sbx_strv *ret, const struct sbx_agent *agent,
	char *const *args, bool skip);

/* Opens nothing as root: call identity_assume() before. Returns 0 or a negative errno with e
 * set; on success the caller ends *ret with prepared_done(). */
int prepare(struct prepared *ret, const struct options *o, const struct sbx_agent *agent,
	struct sbx_error *e);
void prepared_done(struct prepared *p);

/* How it is launched: descriptors inherited. */
struct sbx_launch_opts prepare_launch_opts(const struct options *o);

/* Names of the variables of this process that are not passed. */
void prepare_withheld(struct sbx_strv *ret, const struct prepared *p);

/* True when the variable was passed as it is in this process: it may be a secret, and is never
 * printed. Those that the plan itself decides about are none. */
bool prepare_is_passed(const struct prepared *p, const struct sbx_op *op);
