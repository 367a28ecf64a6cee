/* The rows of the command line: options and subcommands. */
#include "options.h"

#define LAUNCHES (CMD_RUN | CMD_PLAN | CMD_SESSION_NEW)
/* What a sandbox is made of. */
#define MAKES (LAUNCHES | CMD_DOCTOR | CMD_AGENTS)
/* Not of a session: its row does not say it, and a resumed one would be without. */
#define ONE_RUN (CMD_RUN | CMD_PLAN)
#define STARTS (CMD_RUN | CMD_SESSION_NEW | CMD_SESSION_RESUME)
#define STORED (CMD_SESSION_LIST | CMD_SESSION_SHOW | CMD_SESSION_RESUME | CMD_SESSION_RM)
#define ALL (LAUNCHES | CMD_DOCTOR | CMD_AGENTS | CMD_COMPLETION | CMD_SESSION | STORED)

/* clang-format off: a table, one thing a line */
const struct option_row options_rows[] = {
	{ "profile", KEY_PROFILE, ARG_VALUES, "PROFILE", "lenient strict", MAKES,
		"lenient (default): the agent's login and the network are there; strict: neither" },
	{ "fs", KEY_FS, ARG_VALUES, "MODE", "rw ro", MAKES,
		"the work dir may be changed (rw, default) or only read (ro)" },
	{ "net", KEY_NET, ARG_VALUES, "MODE", "on off", MAKES,
		"the host's network or none; the default is the profile's" },
	{ "workdir", KEY_WORKDIR, ARG_DIR, "DIR", NULL, MAKES,
		"the project (default: the current directory)" },
	{ "bind", KEY_BIND, ARG_PATH, "PATH", NULL, MAKES,
		"a further path that may be changed; may be repeated" },
	{ "ro-bind", KEY_RO_BIND, ARG_PATH, "PATH", NULL, MAKES,
		"a further path that may be read; may be repeated" },
	{ "env", KEY_ENV, ARG_VARIABLE, "NAME", NULL, MAKES,
		"a further variable to pass; may be repeated" },
	{ "allow", KEY_ALLOW, ARG_VALUES, "WHAT", "git-init", MAKES,
		"what is refused otherwise; git-init: make .git in a work dir without one" },
	{ "limit", KEY_LIMIT, ARG_WORD, "NAME=VALUE", NULL, ONE_RUN | CMD_DOCTOR,
		"what one process may use: as cpu data fsize memlock nofile nproc stack; repeatable" },
	{ "memory", KEY_MEMORY, ARG_WORD, "SIZE", NULL, ONE_RUN,
		"all memory of the sandbox together, 512M or 4G; needs a cgroup, see 'sbx doctor'" },
	{ "pids-limit", KEY_PIDS_LIMIT, ARG_WORD, "N", NULL, ONE_RUN,
		"processes and threads of the sandbox, two of them its own; needs a cgroup" },
	{ "timeout", KEY_TIMEOUT, ARG_WORD, "SEC", NULL, STARTS | CMD_AGENTS,
		"end it after so many seconds: TERM, and two seconds later KILL" },
	{ "no-skip-permissions", KEY_NO_SKIP, ARG_NONE, NULL, NULL, LAUNCHES,
		"leave the agent's permission prompts on, although it is sandboxed" },
	{ "sandbox", KEY_SANDBOX, ARG_VALUES, "HOW", "bwrap none", LAUNCHES,
		"bwrap (default), or none: run the agent exactly as without sbx, prompts on" },
	{ "on-unavailable", KEY_ON_UNAVAILABLE, ARG_VALUES, "WHAT",
		"error run-unsandboxed", CMD_RUN,
		"no sandbox to be had: error (default), or run-unsandboxed, with prompts on" },
	{ "as", KEY_AS, ARG_USER, "USER", NULL, MAKES | STORED,
		"started by root: become USER (default: the owner of the work dir)" },
	{ "allow-root", KEY_ALLOW_ROOT, ARG_NONE, NULL, NULL, MAKES | STORED,
		"started by root: stay uid 0, which no sandbox confines as well" },
	{ "status-fd", KEY_STATUS_FD, ARG_WORD, "FD", NULL, STARTS,
		"write there, as a line of JSON, how it ended" },
	{ "strict-residue", KEY_STRICT_RESIDUE, ARG_NONE, NULL, NULL, STARTS,
		"exit with 123 when it ended well but left what could act on the host later" },
	{ "no-residue", KEY_NO_RESIDUE, ARG_NONE, NULL, NULL, STARTS,
		"do not look, after the end, for what could act on the host later" },
	{ "format", KEY_FORMAT, ARG_VALUES, "FORMAT", "text argv json", CMD_PLAN,
		"text (default); argv: a command line to paste into sh; json" },
	{ "format", KEY_FORMAT, ARG_VALUES, "FORMAT", "text json", CMD_AGENTS,
		"text (default) or json" },
	{ "check", KEY_CHECK, ARG_NONE, NULL, NULL, CMD_AGENTS,
		"start the agent's --version and --help in the sandbox, and say what is missing" },
	{ "name", KEY_NAME, ARG_WORD, "NAME", NULL, CMD_SESSION_NEW,
		"a name for it, besides its id: letters, digits and . _ -" },
	{ "no-start", KEY_NO_START, ARG_NONE, NULL, NULL, CMD_SESSION_NEW,
		"record it only, print its id, and start nothing" },
	{ "fresh", KEY_FRESH, ARG_NONE, NULL, NULL, CMD_SESSION_RESUME,
		"start the agent anew in the same sandbox, without its conversation" },
	{ "json", KEY_JSON, ARG_NONE, NULL, NULL,
		CMD_DOCTOR | CMD_AGENTS | CMD_SESSION_LIST | CMD_SESSION_SHOW,
		"for programs" },
	{ "bwrap", KEY_BWRAP, ARG_PATH, "PATH", NULL, MAKES | CMD_SESSION_RESUME,
		"the bwrap to use (default: the first in PATH)" },
	{ "verbose", 'v', ARG_NONE, NULL, NULL, LAUNCHES | CMD_SESSION_RESUME,
		"say what is run, and which variables are withheld" },
	{ "help", 'h', ARG_NONE, NULL, NULL, ALL, "print this and exit" },
	{ "version", 'V', ARG_NONE, NULL, NULL, ALL, "print the version and exit" },
};

const struct command_row options_commands[] = {
	{ CMD_RUN, "run",
		"[OPTION]... AGENT [-- ARG...]\n[OPTION]... generic -- COMMAND [ARG...]",
		true, false, "run an agent, or any command, in a sandbox",
		"The flag that switches an agent's permission prompts off is added when, and only when,\n"
		"it is sandboxed. When no sandbox can be had nothing runs, and the reason and the remedy\n"
		"are printed.\n\n"
		"What was made or changed in the work dir meanwhile and could act on the host later (setuid\n"
		"files, links that lead out, repositories, names that agents obey, ...) is listed at the end.\n\n"
		"Exit status: that of the agent; 128+N when signal N ended it; 123 for --strict-residue; 124\n"
		"after --timeout; 125\n"
		"when sbx itself failed: usage, no sandbox, or the agent could not be started. An agent\n"
		"may end with 124 or 125, too: sbx's own come with a line 'sbx: ...' on standard error,\n"
		"and --status-fd, which no agent can write to, tells them apart for sure:\n"
		"  {\"how\": \"exited\"|\"signal\"|\"timeout\"|\"error\"|\"unsandboxed\", \"status\": N, ...}\n"
		"An unsandboxed agent takes the place of sbx, so that nothing is known of its end; where it\n"
		"cannot be executed either, a line with \"error\" follows.\n\n"
		"INT, TERM, HUP, QUIT, USR1, USR2, WINCH and CONT are passed on to the agent.\n\n"
		"--limit sets what one process may use, with prlimit's names: as, data, fsize, memlock and\n"
		"stack in bytes (4096, 64K, 512M, 4G), cpu in seconds, nofile and nproc as numbers. nproc\n"
		"counts what runs in this sandbox, pid 1 included. Nothing inside can raise one; one above\n"
		"your own is refused. --memory and --pids-limit count the sandbox as a whole, in a cgroup of\n"
		"its own (v2, with its controllers, given to you: 'sbx doctor' tries it; often all it takes\n"
		"is: systemd-run --user --scope -p Delegate=yes -- sbx run ...). What needs more memory is\n"
		"killed as a whole: 137." },
	{ CMD_PLAN, "plan", "[OPTION]... AGENT [-- ARG...]", true, false,
		"print what 'sbx run' would run, and why; run nothing",
		"Values of passed variables are never printed. Exit status: 0, or 125 for what 'sbx run'\n"
		"would refuse." },
	{ CMD_DOCTOR, "doctor", "[OPTION]... [AGENT...]", true, false,
		"prove, by doing it, everything that 'sbx run' needs",
		"Without AGENT: every agent that is installed. Nothing of the user's is read: config and\n"
		"logins are looked for by name. Exit status: 0 all is there; 1 something is missing, and\n"
		"its remedy is printed; 125 usage. That the sandbox holds is proved by sbx-verify." },
	{ CMD_AGENTS, "agents", "[--format FORMAT] [NAME]\n--check [OPTION]... [NAME...]",
		true, false, "print the table of agents, and where each row comes from",
		"--check tries a row on this machine: the program, without a model, a terminal and (but for\n"
		"--net on) a network, in a throw-away work dir (but for --workdir). Without NAME: every agent\n"
		"that is installed. The other options but --format and --json go with it. Exit status: 0 the\n"
		"row fits; 1 something is missing, and its remedy is printed; 125 usage." },
	{ CMD_SESSION, "session", "new|list|show|resume|rm ...", false, false,
		"record an agent with its sandbox, and take it up again",
		"The commands are 'sbx session new', 'list', 'show', 'resume' and 'rm'; each has its\n"
		"own --help. Sessions are kept in $XDG_STATE_HOME/sbx/sessions.db, by default\n"
		"~/.local/state/sbx/sessions.db." },
	{ CMD_SESSION_NEW, "session new",
		"[OPTION]... AGENT [-- ARG...]\n[OPTION]... generic -- COMMAND [ARG...]",
		true, false, "record a session, and start its agent",
		"Without AGENT, on a terminal, a dialog asks: TAB and the arrows move, SPACE changes,\n"
		"ENTER starts, ESC and Ctrl-C leave with status 130, and nothing is recorded. Where the\n"
		"terminal cannot show it (TERM=dumb, smaller than 50x16), plain questions are asked.\n\n"
		"The row is written before the agent starts, and holds the sandbox (profile, fs, net,\n"
		"binds, names of variables, --allow), the work dir and the arguments; no values of\n"
		"variables. Its id is printed on standard error; with --no-start on standard output.\n"
		"Exit status: as of 'sbx run'; of --no-start 0, or 125 when nothing was recorded." },
	{ CMD_SESSION_LIST, "session list", "[OPTION]...", false, false,
		"print the sessions, the last used first",
		"STATUS is the exit status of the last run; - when none has ended." },
	{ CMD_SESSION_SHOW, "session show", "[OPTION]... ID|NAME", false, false,
		"print what is recorded of a session", NULL },
	{ CMD_SESSION_RESUME, "session resume", "[OPTION]... ID|NAME [-- ARG...]", false,
		false, "start the agent of a session again, in the same sandbox",
		"The sandbox is rebuilt from the row; where it cannot be had nothing runs. A session that\n"
		"was recorded without one runs without one, and says so.\n\n"
		"The agent is told to take its conversation up again, where it has a way to be told.\n"
		"When there is none on this machine it starts anew instead: at once where a sandbox keeps\n"
		"no conversations (--profile strict); else after the agent itself has ended with a\n"
		"failure within ten seconds, no file of the conversation is there, and its standard input\n"
		"is a terminal or /dev/null, of which it cannot have used up anything. A line on standard\n"
		"error says so each time. --fresh starts anew without trying.\n\n"
		"ARG... replaces the recorded arguments for this run; without, they are given again.\n"
		"Exit status: as of 'sbx run'." },
	{ CMD_SESSION_RM, "session rm", "[OPTION]... ID|NAME...", false, false,
		"forget sessions: all that are named or, when one is not known, none",
		"The agent's own transcripts stay where they are." },
	{ CMD_COMPLETION, "completion", "bash|zsh|fish|man|data", false, true,
		"print a completion script, made from the table of options", NULL },
	{ CMD_FDS, "fds", "N=filter|init|copy:FILE|text:TEXT... -- COMMAND...", false,
		true, "open descriptors for a command line of 'sbx plan', and execute it",
		NULL },
};
/* clang-format on */

_Static_assert(
	SBX_ARRAY_SIZE(options_rows) <= OPTIONS_MAX, "more options than room for them");
const size_t options_n_rows = SBX_ARRAY_SIZE(options_rows);
const size_t options_n_commands = SBX_ARRAY_SIZE(options_commands);
