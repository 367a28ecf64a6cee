/* The command line of sbx-verify, from one table: getopt, --help and the man page check. */
#pragma once

#include "oracle/cell.h"

#include <stdio.h>

enum report_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };

struct options {
	bool cells[CELL_MAX]; /* what --agent, --profile, --fs and --net leave */
	const char *rule; /* glob, or NULL */
	const char *cell; /* globs of names, or NULL */
	const char *mutant; /* glob, or NULL */
	const char *equivalent; /* table, or NULL: the installed one */
	enum report_format format;
	const char *output; /* file, or NULL: stdout */
	const char *uid; /* name or number, or NULL */
	const char *scene_dir;
	const char *bwrap;
	const char *expect; /* table, or NULL: the installed one */
	const char *probe_dir; /* or NULL: the installed ones */
	int jobs;
	int timeout_s;
	bool mutate; /* the command */
	bool here, dry_run; /* the user's own world instead of the scene */
	bool any_agent; /* no --agent and no --cell */
	bool list, no_sandbox, quick, quiet, help, version;
};

/* Returns 0, or -1 with a message in error (256 bytes). argv's strings are borrowed. */
int options_parse(struct options *ret, int argc, char **argv, char *error);
void options_help(FILE *f);
