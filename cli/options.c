#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

const struct command_row *options_command(const char *name)
{
	for (size_t i = 0; i < options_n_commands; i++)
		if (strcmp(options_commands[i].name, name) == 0)
			return &options_commands[i];
	return NULL;
}

const struct command_row *options_find(int argc, char *const *argv, int *ret_used)
{
	SBX_CLEANUP_FREE char *two =
		argc > 1 ? sbx_xasprintf("%s %s", argv[0], argv[1]) : NULL;
	const struct command_row *cmd = two ? options_command(two) : NULL;

	*ret_used = cmd ? 2 : 1;
	/* "session new" as one word is no name. */
	if (cmd == NULL && strchr(argv[0], ' ') == NULL)
		cmd = options_command(argv[0]);
	return cmd;
}

bool options_is_below(const struct command_row *b, const struct command_row *a)
{
	size_t len = strlen(a->name);

	return strncmp(a->name, b->name, len) == 0 && b->name[len] == ' ';
}

bool options_given(const struct options *o, int key)
{
	return o->given[key - KEY_PROFILE];
}

/* ---- help ---- */

static void print_usage(FILE *f, const struct command_row *cmd)
{
	const char *line = cmd->synopsis;

	for (bool first = true; *line; first = false) {
		int len = (int)strcspn(line, "\n");

		fprintf(f, "%s sbx %s %.*s\n", first ? "Usage:" : "      ", cmd->name,
			len, line);
		line += len + (line[len] == '\n');
	}
}

static void print_rows(FILE *f, const struct command_row *cmd)
{
	for (size_t i = 0; i < options_n_rows; i++) {
		const struct option_row *r = &options_rows[i];
		char left[64], letter[8] = "    ";

		if (!(r->cmds & cmd->cmd))
			continue;
		if (r->key < KEY_PROFILE)
			snprintf(letter, sizeof(letter), "-%c, ", r->key);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, r->name,
			r->arg ? " " : "", r->arg ? r->arg : "");
		fprintf(f, "  %-27s %s\n", left, r->help);
	}
}

static void print_below(FILE *f, const struct command_row *cmd)
{
	bool any = false;

	for (size_t i = 0; i < options_n_commands; i++)
		if (options_is_below(&options_commands[i], cmd)) {
			fprintf(f, "  %-15s %s\n", options_commands[i].name,
				options_commands[i].summary);
			any = true;
		}
	if (any)
		fputc('\n', f);
}

static void print_overview(FILE *f)
{
	fputs("Usage: sbx COMMAND [OPTION]...\n\n"
	      "Runs AI coding agents under bubblewrap, so that an agent with its permission prompts\n"
	      "off can damage one project directory and nothing else. sbx-verify proves it here.\n\n",
		f);
	for (size_t i = 0; i < options_n_commands; i++)
		if (!options_commands[i].hidden)
			fprintf(f, "  %-15s %s\n", options_commands[i].name,
				options_commands[i].summary);
	fputs("\n'sbx COMMAND --help' says more; 'sbx --version' prints the version.\n",
		f);
}

void options_print_help(FILE *f, const struct command_row *cmd)
{
	if (cmd == NULL) {
		print_overview(f);
		return;
	}
	print_usage(f, cmd);
	fprintf(f, "\n%c%s.\n\n", cmd->summary[0] - 'a' + 'A', cmd->summary + 1);
	print_below(f, cmd);
	print_rows(f, cmd);
	if (cmd->notes)
		fprintf(f, "\n%s\n", cmd->notes);
}

/* ---- parsing ---- */

static int usage(struct sbx_error *e, const struct command_row *cmd)
{
	if (e->remedy == NULL)
		sbx_error_remedy(e, "see 'sbx %s --help'", cmd->name);
	return -1;
}

static bool is_one_of(const char *values, const char *value)
{
	size_t len = strlen(value);

	for (const char *v = values; *v; v += strspn(v, " ")) {
		size_t n = strcspn(v, " ");

		if (n == len && strncmp(v, value, n) == 0)
			return true;
		v += n;
	}
	return false;
}

static int number(int *ret, const char *name, const char *text, int min, int max,
	struct sbx_error *e)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL,
			"--%s: '%s' is not a number from %d to %d", name, text, min, max);
		return -1;
	}
	*ret = (int)v;
	return 0;
}

/* Descriptors 0 to 2 are the agent's. The one that is given stays ours: it is closed inside. */
static int take_status_fd(struct options *o, const char *text, struct sbx_error *e)
{
	if (number(&o->status_fd, "status-fd", text, 3, INT_MAX, e) < 0)
		return -1;
	if (fcntl(o->status_fd, F_GETFD) < 0) {
		sbx_error_set(e, SBX_E_USAGE, EBADF, "--status-fd: %d is not open",
			o->status_fd);
		o->status_fd = -1;
		return -1;
	}
	return fcntl(o->status_fd, F_SETFD, FD_CLOEXEC);
}

/* The library wants absolute paths; links are its business. */
static int take_bind(struct options *o, const char *path, bool rw, struct sbx_error *e)
{
	char here[PATH_MAX];
	const char *abs;

	if (*path == '\0' || (*path != '/' && getcwd(here, sizeof(here)) == NULL)) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "--%s: '%s' is not a path",
			rw ? "bind" : "ro-bind", path);
		return -1;
	}
	abs = *path == '/' ? sbx_strv_add(&o->owned, path)
			   : sbx_strv_take(&o->owned, sbx_path_join(here, path));
	o->binds = sbx_xrealloc(o->binds, o->policy.n_binds + 1, sizeof(*o->binds));
	o->binds[o->policy.n_binds++] = (struct sbx_bind){ .path = abs, .rw = rw };
	o->policy.binds = o->binds;
	return 0;
}

static int take_env(struct options *o, const char *name, struct sbx_error *e)
{
	if (!sbx_env_name_valid(name)) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL,
			"--env: '%s' is not the name of a variable; the value is taken from "
			"the environment",
			name);
		return -1;
	}
	o->env = sbx_xrealloc(o->env, o->policy.n_env + 1, sizeof(*o->env));
	o->env[o->policy.n_env++] = name;
	o->policy.env = o->env;
	return 0;
}

static int take_limit(struct options *o, const char *arg, struct sbx_error *e)
{
	struct sbx_limit limit;

	if (sbx_limit_parse(&limit, arg, e) < 0) {
		e->code = SBX_E_USAGE;
		return -1;
	}
	o->limits = sbx_xrealloc(o->limits, o->policy.n_limits + 1, sizeof(*o->limits));
	o->limits[o->policy.n_limits++] = limit;
	o->policy.limits = o->limits;
	return 0;
}

static int take_memory(struct options *o, const char *arg, struct sbx_error *e)
{
	if (sbx_size_parse(&o->policy.memory, arg) == 0 && o->policy.memory > 0)
		return 0;
	sbx_error_set(e, SBX_E_USAGE, EINVAL,
		"--memory: '%s' is not a number of bytes, which may end in K, M or G",
		arg);
	return -1;
}

/* Bubblewrap, pid 1 and the command are three. */
static int take_pids_limit(struct options *o, const char *arg, struct sbx_error *e)
{
	int n;

	if (number(&n, "pids-limit", arg, 3, INT_MAX, e) < 0)
		return -1;
	o->policy.pids = (unsigned long long)n;
	return 0;
}

static enum format format_of(const char *text)
{
	if (strcmp(text, "text") == 0)
		return FORMAT_TEXT;
	return strcmp(text, "argv") == 0 ? FORMAT_ARGV : FORMAT_JSON;
}

static int take_allow(struct options *o, const char *arg)
{
	enum sbx_allow one;
	int r = sbx_allow_from_string(arg, &one);

	if (r == 0)
		o->policy.allow |= one;
	return r;
}

static int take(struct options *o, const struct option_row *r, const char *arg,
	struct sbx_error *e)
{
	if (r->key >= KEY_PROFILE)
		o->given[r->key - KEY_PROFILE] = true;
	switch (r->key) {
	case KEY_PROFILE:
		return sbx_profile_from_string(arg, &o->policy.profile);
	case KEY_FS:
		return sbx_fs_from_string(arg, &o->policy.fs);
	case KEY_NET:
		return sbx_net_from_string(arg, &o->policy.net);
	case KEY_WORKDIR:
		o->policy.workdir = arg;
		return 0;
	case KEY_BIND:
	case KEY_RO_BIND:
		return take_bind(o, arg, r->key == KEY_BIND, e);
	case KEY_ENV:
		return take_env(o, arg, e);
	case KEY_ALLOW:
		return take_allow(o, arg);
	case KEY_LIMIT:
		return take_limit(o, arg, e);
	case KEY_MEMORY:
		return take_memory(o, arg, e);
	case KEY_PIDS_LIMIT:
		return take_pids_limit(o, arg, e);
	case KEY_TIMEOUT:
		return number(&o->timeout_s, r->name, arg, 1, INT_MAX / 1000 - 10, e);
	case KEY_NO_SKIP:
		o->no_skip = true;
		return 0;
	case KEY_SANDBOX:
		o->sandbox = strcmp(arg, "none") != 0;
		return 0;
	case KEY_ON_UNAVAILABLE:
		o->fall_back = strcmp(arg, "run-unsandboxed") == 0;
		return 0;
	case KEY_AS:
		o->as = arg;
		return 0;
	case KEY_ALLOW_ROOT:
		o->allow_root = true;
		return 0;
	case KEY_STATUS_FD:
		return take_status_fd(o, arg, e);
	case KEY_STRICT_RESIDUE:
		o->strict_residue = true;
		return 0;
	case KEY_NO_RESIDUE:
		o->no_residue = true;
		return 0;
	case KEY_FORMAT:
		o->format = format_of(arg);
		return 0;
	case KEY_CHECK:
		o->check = true;
		return 0;
	case KEY_JSON:
		o->format = FORMAT_JSON;
		return 0;
	case KEY_BWRAP:
		o->bwrap = arg;
		return 0;
	case KEY_NAME:
		o->name = arg;
		return 0;
	case KEY_NO_START:
		o->no_start = true;
		return 0;
	case KEY_FRESH:
		o->fresh = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	default:
		o->version = true;
		return 0;
	}
}

static int take_checked(struct options *o, const struct option_row *r, const char *arg,
	struct sbx_error *e)
{
	if (r->kind == ARG_VALUES && !is_one_of(r->values, arg)) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "--%s: '%s' is not one of: %s",
			r->name, arg, r->values);
		return -1;
	}
	return take(o, r, arg, e) < 0 ? -1 : 0;
}

/* getopt's tables for one subcommand; index[] leads back to our rows. */
static void make_tables(const struct command_row *cmd, struct option *longs, char *shorts)
{
	*shorts++ = ':';
	for (size_t i = 0; i < options_n_rows; i++) {
		const struct option_row *r = &options_rows[i];

		if (!(r->cmds & cmd->cmd))
			continue;
		*longs++ = (struct option){ r->name, r->arg != NULL, NULL, r->key };
		if (r->key < KEY_PROFILE)
			*shorts++ = (char)r->key;
	}
	*shorts = '\0';
	*longs = (struct option){ 0 };
}

static const struct option_row *row_of(const struct command_row *cmd, int key)
{
	for (size_t i = 0; i < options_n_rows; i++)
		if (options_rows[i].key == key && (options_rows[i].cmds & cmd->cmd))
			return &options_rows[i];
	return NULL;
}

/* Of several letters in one word getopt stays at the word until the last. */
static const char *wrong_word(char *const *argv, int argc)
{
	const char *before = optind > 1 && optind <= argc ? argv[optind - 1] : "";
	bool letter = optopt > 0 && optopt < KEY_PROFILE && before[0] && before[1] != '-';

	if (letter && (before[0] != '-' || before[strlen(before) - 1] != optopt) &&
		optind < argc)
		return argv[optind];
	return before;
}

/* An agent's option that stands before "--". typed: the words as they were. */
static void remedy_separator(const struct command_row *cmd, char *const *typed, int argc,
	const char *wrong, struct sbx_error *e)
{
	int at = 1, agent = 0;

	for (; at < argc && typed[at] != wrong; at++)
		if (agent == 0 && sbx_agent_find(typed[at]))
			agent = at;
	if (agent == 0 || at == argc)
		return;
	/* generic's command, and its option */
	if (at == agent + 2 && typed[agent + 1][0] != '-')
		sbx_error_remedy(e,
			"what is meant for the agent stands after '--': "
			"sbx %s %s -- %s %s ...",
			cmd->name, typed[agent], typed[agent + 1], wrong);
	else
		sbx_error_remedy(e,
			"what is meant for the agent stands after '--': "
			"sbx %s %s -- %s ...",
			cmd->name, typed[agent], wrong);
}

static int unknown(const struct command_row *cmd, char *const *argv, char *const *typed,
	int argc, int c, struct sbx_error *e)
{
	const char *word = wrong_word(argv, argc);

	if (c == ':') {
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "%s wants an argument",
			optind <= argc ? argv[optind - 1] : "?");
		return -1;
	}
	sbx_error_set(e, SBX_E_USAGE, EINVAL, "there is no option %s", word);
	if (cmd->cmd & (CMD_RUN | CMD_PLAN | CMD_SESSION_NEW))
		remedy_separator(cmd, typed, argc, word, e);
	return -1;
}

/* What cannot be meant together. Without a sandbox nobody keeps these promises. */
static int check_together(const struct options *o, struct sbx_error *e)
{
	static const int promises[] = { KEY_PROFILE, KEY_FS, KEY_NET, KEY_BIND,
		KEY_RO_BIND, KEY_ENV, KEY_ALLOW, KEY_LIMIT, KEY_MEMORY, KEY_PIDS_LIMIT,
		KEY_TIMEOUT, KEY_ON_UNAVAILABLE };
	static const int bounds[] = { KEY_TIMEOUT, KEY_LIMIT, KEY_MEMORY,
		KEY_PIDS_LIMIT };

	for (int key = KEY_PROFILE; o->cmd == CMD_AGENTS && !o->check && key < _KEY_MAX;
		key++)
		if (options_given(o, key) && key != KEY_FORMAT && key != KEY_JSON) {
			sbx_error_set(e, SBX_E_USAGE, EINVAL,
				"--%s means nothing without --check",
				row_of(options_command("agents"), key)->name);
			return -1;
		}
	if (o->as && o->allow_root) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL,
			"--as and --allow-root contradict each other");
		return -1;
	}
	if (o->fall_back && o->policy.profile == SBX_PROFILE_STRICT) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL,
			"--on-unavailable run-unsandboxed is refused for the profile strict");
		return -1;
	}
	for (size_t i = 0; o->fall_back && i < SBX_ARRAY_SIZE(bounds); i++)
		if (options_given(o, bounds[i])) {
			sbx_error_set(e, SBX_E_USAGE, EINVAL,
				"--%s cannot be kept by --on-unavailable run-unsandboxed",
				row_of(options_command("run"), bounds[i])->name);
			return -1;
		}
	for (size_t i = 0; !o->sandbox && i < SBX_ARRAY_SIZE(promises); i++)
		if (options_given(o, promises[i])) {
			sbx_error_set(e, SBX_E_USAGE, EINVAL,
				"--%s means nothing with --sandbox none",
				row_of(options_command("run"), promises[i])->name);
			return -1;
		}
	return 0;
}

static int parse_head(struct options *o, const struct command_row *cmd, int argc,
	char **argv, struct sbx_error *e)
{
	struct option longs[OPTIONS_MAX + 1];
	char shorts[OPTIONS_MAX + 2];
	SBX_CLEANUP_FREE char **typed = sbx_xcalloc((size_t)argc, sizeof(*typed));
	int c;

	make_tables(cmd, longs, shorts);
	optind = 0;
	opterr = 0;
	memcpy(typed, argv, (size_t)argc * sizeof(*typed)); /* getopt moves words */
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *r = row_of(cmd, c);

		if (r == NULL)
			return unknown(cmd, argv, typed, argc, c, e);
		if (take_checked(o, r, optarg, e) < 0)
			return -1;
	}
	o->words = argv + optind;
	o->n_words = argc - optind;
	return 0;
}

int options_parse(struct options *ret, const struct command_row *cmd, int argc,
	char **argv, struct sbx_error *e)
{
	int head = 1;

	*ret = (struct options){ .cmd = cmd->cmd, .sandbox = true, .status_fd = -1 };
	while (head < argc && strcmp(argv[head], "--") != 0)
		head++;
	if (head < argc)
		ret->args = argv + head + 1;
	if (cmd->cmd == CMD_FDS) { /* its words are no options */
		ret->words = argv + 1;
		ret->n_words = head - 1;
		return 0;
	}
	if (parse_head(ret, cmd, head, argv, e) < 0)
		return usage(e, cmd);
	if (ret->help || ret->version)
		return 0;
	return check_together(ret, e) < 0 ? usage(e, cmd) : 0;
}

void options_done(struct options *o)
{
	free(o->binds);
	free(o->env);
	free(o->limits);
	sbx_strv_done(&o->owned);
	*o = (struct options){ .status_fd = -1 };
}
