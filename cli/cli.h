/* What the subcommands of sbx share. */
#pragma once

#include "options.h"

/* Exit status. Between 0 and 122, and above 125, it is the agent's. */
enum {
	EXIT_FINE = 0,
	EXIT_MISSING = 1, /* doctor: something is not as it must be */
	EXIT_RESIDUE = 123, /* --strict-residue: it ended well, and left something */
	EXIT_TIMEOUT = 124,
	EXIT_OWN = 125, /* sbx itself failed */
	EXIT_CANCELLED = 130, /* session new: the user left the dialog */
};

/* Prints "sbx: MESSAGE" and the remedy on standard error; ends e; returns EXIT_OWN. */
int cli_complain(struct sbx_error *e);

/* Prints "sbx: warning: ..." on standard error. */
void cli_warn(const char *fmt, ...) SBX_PRINTF(1, 2);

/* Flushes standard output: EXIT_FINE, or a complaint when it could not be written. */
int cli_finish_output(void);

/* sbx(1) on standard output. */
void manual_print(void);

/* The subcommands; each returns the exit status. */
int cmd_run(const struct options *o);
int cmd_plan(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_agents(const struct options *o);
int cmd_completion(const struct options *o);
int cmd_fds(const struct options *o);
int cmd_session(const struct options *o);
int cmd_session_new(const struct options *o);
int cmd_session_list(const struct options *o);
int cmd_session_show(const struct options *o);
int cmd_session_resume(const struct options *o);
int cmd_session_rm(const struct options *o);
