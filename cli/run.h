/* An agent is run, and its end is reported: for 'sbx run' and for sessions. */
#pragma once

#include "cli.h"

struct run_end {
	bool ran; /* the agent was executed, and ended by itself or by a signal */
	int signal; /* that ended it; 0: none */
};

/* In a sandbox, as o says; errors are printed. Returns the exit status of sbx. */
int run_sandboxed(
	const struct options *o, const struct sbx_agent *agent, struct run_end *ret);
/* Without one, as a child in o's work dir, its prompts on; likewise. */
int run_plain(
	const struct options *o, const struct sbx_agent *agent, struct run_end *ret);

/* Complains, and tells --status-fd; ends e; returns EXIT_OWN. */
int run_fail(const struct options *o, struct sbx_error *e);
