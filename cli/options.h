/* The command line of sbx, from one table: getopt, --help, the completions and the check of
 * the man page follow from it. */
#pragma once

#include "sbx.h"

#include <stdio.h>

/* Bits, so that a row can belong to several. A new subcommand is a bit here, a row in
 * options_commands[] and one in the table of main.c. */
enum cmd {
	CMD_RUN = 1 << 0,
	CMD_PLAN = 1 << 1,
	CMD_DOCTOR = 1 << 2,
	CMD_AGENTS = 1 << 3,
	CMD_COMPLETION = 1 << 4,
	CMD_FDS = 1 << 5,
	CMD_SESSION = 1 << 6, /* alone: its help */
	CMD_SESSION_NEW = 1 << 7,
	CMD_SESSION_LIST = 1 << 8,
	CMD_SESSION_SHOW = 1 << 9,
	CMD_SESSION_RESUME = 1 << 10,
	CMD_SESSION_RM = 1 << 11,
};

/* What a word of the command line is, for the completions. */
enum arg_kind {
	ARG_NONE, /* the option has no argument */
	ARG_WORD, /* anything */
	ARG_VALUES, /* one of the row's values */
	ARG_DIR,
	ARG_PATH,
	ARG_USER,
	ARG_VARIABLE, /* name of an environment variable */
};

enum {
	KEY_PROFILE = 256,
	KEY_FS,
	KEY_NET,
	KEY_WORKDIR,
	KEY_BIND,
	KEY_RO_BIND,
	KEY_ENV,
	KEY_ALLOW,
	KEY_LIMIT,
	KEY_MEMORY,
	KEY_PIDS_LIMIT,
	KEY_TIMEOUT,
	KEY_NO_SKIP,
	KEY_SANDBOX,
	KEY_ON_UNAVAILABLE,
	KEY_AS,
	KEY_ALLOW_ROOT,
	KEY_STATUS_FD,
	KEY_STRICT_RESIDUE,
	KEY_NO_RESIDUE,
	KEY_CHECK,
	KEY_FORMAT,
	KEY_JSON,
	KEY_BWRAP,
	KEY_NAME,
	KEY_NO_START,
	KEY_FRESH,
	_KEY_MAX,
};

struct option_row {
	const char *name;
	int key; /* a letter, or KEY_... */
	enum arg_kind kind;
	const char *arg; /* its name in the help; NULL: none */
	const char *values; /* ARG_VALUES: separated by spaces */
	unsigned cmds; /* enum cmd bits */
	const char *help;
};

struct command_row {
	enum cmd cmd;
	const char *name; /* one word or two, "session new" */
	const char *synopsis; /* after the name; lines are separated by \n */
	bool takes_agent; /* for the completions */
	bool hidden; /* not in the help */
	const char *summary; /* one line */
	const char *notes; /* after the options; or NULL */
};

/* options_table.c */
#define OPTIONS_MAX 64
extern const struct option_row options_rows[];
extern const size_t options_n_rows;
extern const struct command_row options_commands[];
extern const size_t options_n_commands;

enum format {
	FORMAT_TEXT,
	FORMAT_ARGV,
	FORMAT_JSON,
};

struct options {
	enum cmd cmd;
	struct sbx_policy policy; /* its vectors are owned by this struct */
	struct sbx_bind *binds;
	const char **env;
	struct sbx_limit *limits;
	struct sbx_strv owned; /* paths made absolute */
	char **words; /* before "--"; n_words of them, borrowed from argv */
	int n_words;
	char **args; /* after "--", NULL-ended, borrowed; NULL: there was no "--" */
	enum format format;
	const char *as; /* a user, or NULL */
	const struct sbx_cgroup *cgroup; /* made before by root, or NULL; not parsed */
	const char *bwrap; /* or NULL: searched for */
	int timeout_s; /* 0: none */
	int status_fd; /* -1: none */
	bool sandbox; /* false: --sandbox none */
	bool fall_back; /* --on-unavailable run-unsandboxed */
	bool strict_residue, no_residue;
	const char *name; /* of a session, or NULL */
	bool no_start, fresh;
	bool twice; /* of no option: another run may follow in this process (relay.h, let_go) */
	bool check; /* agents: try the rows */
	bool no_skip, allow_root, verbose, help, version;
	bool given[_KEY_MAX - KEY_PROFILE]; /* by key: was it on the command line? */
};

bool options_given(const struct options *o, int key);

/* The row of a subcommand by name; NULL: there is none. */
const struct command_row *options_command(const char *name);
/* The row that the first words of argv name: the longest, so that "session" "new" is that and
 * "session" "x" is "session". *ret_used is how many words it took. */
const struct command_row *options_find(int argc, char *const *argv, int *ret_used);
/* Is b a subcommand of a, as "session new" is of "session"? */
bool options_is_below(const struct command_row *b, const struct command_row *a);

/* Parses argv[1..] of one subcommand; argv's strings are borrowed. Returns 0, or -1 with e set;
 * *ret is to be ended with options_done() in both cases. */
int options_parse(struct options *ret, const struct command_row *cmd, int argc,
	char **argv, struct sbx_error *e);
void options_done(struct options *o);

/* The help of one subcommand, or, for NULL, of sbx. */
void options_print_help(FILE *f, const struct command_row *cmd);
