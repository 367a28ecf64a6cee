#include "options.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_MAX 256

struct option_row {
	const char *name;
	int key;
	const char *arg; /* NULL: none */
	const char *help;
};

enum {
	KEY_AGENT = 256,
	KEY_PROFILE,
	KEY_FS,
	KEY_NET,
	KEY_CELL,
	KEY_RULE,
	KEY_MUTANT,
	KEY_LIST,
	KEY_FORMAT,
	KEY_UID,
	KEY_SCENE_DIR,
	KEY_BWRAP,
	KEY_EXPECT,
	KEY_EQUIVALENT,
	KEY_PROBE_DIR,
	KEY_TIMEOUT,
	KEY_NO_SANDBOX,
	KEY_QUICK,
	KEY_HERE,
	KEY_DRY_RUN
};

/* clang-format off: a table, one thing a line */
static const struct option_row rows[] = {
	{ "agent", KEY_AGENT, "LIST",
		"only these: claude, codex, gemini, opencode, agent, kiro, generic" },
	{ "profile", KEY_PROFILE, "LIST", "only these profiles: lenient, strict" },
	{ "fs", KEY_FS, "LIST", "only these file system modes: rw, ro" },
	{ "net", KEY_NET, "LIST", "only these network modes: on, off" },
	{ "cell", KEY_CELL, "LIST",
		"only these, by name or glob: 'claude/lenient/rw/on,generic/*'" },
	{ "rule", KEY_RULE, "GLOB", "only rules whose id matches, for example 'net.*'" },
	{ "mutant", KEY_MUTANT, "GLOB", "mutate: only these, for example 'drop:*'" },
	{ "list", KEY_LIST, NULL,
		"print the rules in force in the selected cells, run nothing" },
	{ "here", KEY_HERE, NULL,
		"your own HOME, agents, environment and this directory, not a scene" },
	{ "dry-run", KEY_DRY_RUN, NULL,
		"with --here: print what would be looked at, and do nothing" },
	{ "jobs", 'j', "N", "cells at a time (default 1)" },
	{ "format", KEY_FORMAT, "FORMAT", "text (default), json or junit" },
	{ "output", 'o', "FILE", "write the report there instead of to standard output" },
	{ "uid", KEY_UID, "USER",
		"started by root: who runs the cells (default nobody; or 0)" },
	{ "scene-dir", KEY_SCENE_DIR, "DIR",
		"where the throw-away scene is made (default /var/tmp)" },
	{ "bwrap", KEY_BWRAP, "PATH",
		"the bwrap to verify (default: the first in PATH)" },
	{ "expect", KEY_EXPECT, "FILE", "another expectation table" },
	{ "equivalent", KEY_EQUIVALENT, "FILE",
		"mutate: another table of what no observer can notice" },
	{ "probe-dir", KEY_PROBE_DIR, "DIR", "where sbx-probe and sbx-probe-http are" },
	{ "timeout", KEY_TIMEOUT, "SEC", "for one cell (default 30)" },
	{ "no-sandbox", KEY_NO_SANDBOX, NULL,
		"run the cells without a sandbox; must fail: it can say no" },
	{ "quick", KEY_QUICK, NULL,
		"leave out the staged scenarios: they need starts of their own" },
	{ "quiet", 'q', NULL, "no progress on standard error" },
	{ "help", 'h', NULL, "print this and exit" },
	{ "version", 'V', NULL, "print the version and exit" },
};
/* clang-format on */

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

void options_help(FILE *f)
{
	fputs("Usage: sbx-verify [OPTION]...\n"
	      "       sbx-verify mutate [OPTION]...\n\n"
	      "Runs every agent x profile x fs x net cell of the sandbox under real bwrap, with\n"
	      "probe programs inside, and compares what happened with what the policy says must\n"
	      "happen. 'mutate' proves that the verifier can fail: it changes one thing of the\n"
	      "launch at a time, and some rule must notice.\n\n",
		f);
	for (size_t i = 0; i < N_ROWS; i++) {
		char left[48], shortform[8] = "    ";

		if (rows[i].key < 256)
			snprintf(shortform, sizeof(shortform), "-%c, ", rows[i].key);
		snprintf(left, sizeof(left), "%s--%s%s%s", shortform, rows[i].name,
			rows[i].arg ? " " : "", rows[i].arg ? rows[i].arg : "");
		fprintf(f, "  %-26s %s\n", left, rows[i].help);
	}
	fputs("\nExit status: 0 everything had to hold and holds; 1 it deviates; 2 usage or\n"
	      "configuration; 3 could not verify. LIST is comma-separated.\n",
		f);
}

static void unknown_value(enum axis a, const char *value, char *error)
{
	char known[128] = "";
	size_t n = 0;

	for (int k = 0; k < axis_size(a) && n < sizeof(known); k++)
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, " %s", axis_value(a, k));
	snprintf(error, ERROR_MAX, "--%s: '%.60s' is not one of%s", axis_name(a), value,
		known);
}

/* Narrows an axis to the comma-separated values. */
static int narrow(unsigned *mask, enum axis a, char *list, char *error)
{
	unsigned m = 0;
	char *save = NULL;

	for (char *v = strtok_r(list, ",", &save); v; v = strtok_r(NULL, ",", &save)) {
		int i = axis_value_find(a, v);

		if (i < 0) {
			unknown_value(a, v, error);
			return -1;
		}
		m |= 1U << i;
	}
	if (*mask) {
		snprintf(error, ERROR_MAX,
			"--%s: given twice; put a comma between values", axis_name(a));
		return -1;
	}
	if (m == 0) {
		snprintf(error, ERROR_MAX, "--%s: the list is empty", axis_name(a));
		return -1;
	}
	*mask = m;
	return 0;
}

static int number(int *ret, const char *name, const char *text, int max, char *error)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < 1 || v > max) {
		snprintf(error, ERROR_MAX, "--%s: '%s' is not a number from 1 to %d",
			name, text, max);
		return -1;
	}
	*ret = (int)v;
	return 0;
}

static int format(enum report_format *ret, const char *text, char *error)
{
	static const char *const names[] = { "text", "json", "junit" };

	for (int i = 0; i < 3; i++)
		if (strcmp(names[i], text) == 0) {
			*ret = (enum report_format)i;
			return 0;
		}
	snprintf(error, ERROR_MAX, "--format: '%s' is not text, json or junit", text);
	return -1;
}

static int take(struct options *o, struct condition *w, int key, char *arg, char *error)
{
	switch (key) {
	case KEY_AGENT:
	case KEY_PROFILE:
	case KEY_FS:
	case KEY_NET:
		return narrow(&w->mask[key - KEY_AGENT], (enum axis)(key - KEY_AGENT),
			arg, error);
	case KEY_CELL:
		o->cell = arg;
		return 0;
	case KEY_MUTANT:
		o->mutant = arg;
		return 0;
	case KEY_EQUIVALENT:
		o->equivalent = arg;
		return 0;
	case KEY_RULE:
		o->rule = arg;
		return 0;
	case KEY_LIST:
		o->list = true;
		return 0;
	case 'j':
		return number(&o->jobs, "jobs", arg, 64, error);
	case KEY_FORMAT:
		return format(&o->format, arg, error);
	case 'o':
		o->output = arg;
		return 0;
	case KEY_UID:
		o->uid = arg;
		return 0;
	case KEY_SCENE_DIR:
		o->scene_dir = arg;
		return 0;
	case KEY_BWRAP:
		o->bwrap = arg;
		return 0;
	case KEY_EXPECT:
		o->expect = arg;
		return 0;
	case KEY_PROBE_DIR:
		o->probe_dir = arg;
		return 0;
	case KEY_TIMEOUT:
		return number(&o->timeout_s, "timeout", arg, 3600, error);
	case KEY_NO_SANDBOX:
		o->no_sandbox = true;
		return 0;
	case KEY_HERE:
		o->here = true;
		return 0;
	case KEY_DRY_RUN:
		o->dry_run = true;
		return 0;
	case KEY_QUICK:
		o->quick = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	default:
		return -1;
	}
}

/* Is the cell named by one of the globs? NULL names all. */
static bool named(const char *list, const struct cell *c)
{
	char name[CELL_NAME_MAX], glob[CELL_NAME_MAX];

	if (list == NULL)
		return true;
	cell_name(c, name);
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");

		snprintf(glob, sizeof(glob), "%.*s", (int)n, p);
		if (fnmatch(glob, name, 0) == 0)
			return true;
		p += n;
	}
	return false;
}

static void unknown(int argc, char **argv, int c, char *error)
{
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "?";

	if (c == ':')
		snprintf(error, ERROR_MAX, "%s wants an argument", word);
	else
		snprintf(error, ERROR_MAX, "there is no option %s", word);
}

static void make_table(struct option *longs, char *shorts)
{
	*shorts++ = ':';
	for (size_t i = 0; i < N_ROWS; i++) {
		longs[i] = (struct option){ rows[i].name, rows[i].arg != NULL, NULL,
			rows[i].key };
		if (rows[i].key >= 256)
			continue;
		*shorts++ = (char)rows[i].key;
		if (rows[i].arg)
			*shorts++ = ':';
	}
	*shorts = '\0';
	longs[N_ROWS] = (struct option){ 0 };
}

static int check_here(const struct options *o, char *error)
{
	const char *wrong =
		o->dry_run && !o->here ? "--dry-run belongs to --here"
		: o->here && o->mutate ? "mutate has no --here"
		: o->here && o->list
			? "--list prints the rules of the scene; with --here it is --dry-run"
		: o->here && o->jobs > 1
			? "--here runs one cell at a time; leave --jobs out"
			: NULL;

	if (wrong)
		snprintf(error, ERROR_MAX, "%s", wrong);
	return wrong ? -1 : 0;
}

int options_parse(struct options *ret, int argc, char **argv, char *error)
{
	struct options o = { .jobs = 1, .timeout_s = 30, .scene_dir = "/var/tmp" };
	struct option longs[N_ROWS + 1];
	struct condition w = { { 0 } };
	char shorts[64];
	bool any = false;
	int c;

	make_table(longs, shorts);
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == '?' || c == ':') {
			unknown(argc, argv, c, error);
			return -1;
		}
		if (take(&o, &w, c, optarg, error) < 0)
			return -1;
	}
	if (optind < argc && strcmp(argv[optind], "mutate") == 0) {
		o.mutate = true;
		optind++;
	}
	if (optind < argc) {
		snprintf(error, ERROR_MAX, "'%s' is not an option", argv[optind]);
		return -1;
	}
	for (size_t i = 0; i < cell_count(); i++) {
		struct cell cell = cell_at(i, UID_USER);

		o.cells[i] = condition_matches(&w, &cell) && named(o.cell, &cell);
		any |= o.cells[i];
	}
	if (!any) {
		snprintf(error, ERROR_MAX, "--cell: no selected cell is called '%.100s'",
			o.cell ? o.cell : "");
		return -1;
	}
	if (!o.mutate && (o.mutant || o.equivalent)) {
		snprintf(error, ERROR_MAX,
			"--mutant and --equivalent belong to 'sbx-verify mutate'");
		return -1;
	}
	if (o.mutate && (o.no_sandbox || o.format == FORMAT_JUNIT)) {
		snprintf(error, ERROR_MAX, "mutate knows no --no-sandbox and no junit");
		return -1;
	}
	o.any_agent = w.mask[AXIS_AGENT] == 0 && o.cell == NULL;
	if (check_here(&o, error) < 0)
		return -1;
	*ret = o;
	return 0;
}
