#include "options.h"
#include "t.h"

static const struct row {
	const char *name;
	const char *argv[6];
	const char *error; /* part of it; NULL: fine */
	int cells;
} rows[] = {
	{ "none", { NULL }, NULL, 56 },
	{ "one agent", { "--agent", "claude" }, NULL, 8 },
	{ "two axes", { "--agent=codex,kiro", "--net", "off" }, NULL, 8 },
	{ "short", { "-j", "4", "-q" }, NULL, 56 },
	{ "unknown agent", { "--agent", "cursor" }, "not one of claude codex", 0 },
	{ "a very long word",
		{ "--agent",
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
		"not one of claude codex gemini opencode agent kiro generic", 0 },
	{ "the same option twice", { "--agent", "claude", "--agent", "codex" },
		"given twice", 0 },
	{ "empty list", { "--fs", "," }, "empty", 0 },
	{ "unknown option", { "--fast" }, "no option --fast", 0 },
	{ "missing argument", { "--agent" }, "wants an argument", 0 },
	{ "cells by name", { "--cell", "claude/lenient/rw/on,generic/*/ro/*" }, NULL, 5 },
	{ "no such cell", { "--agent", "claude", "--cell", "kiro/*" }, "is called", 0 },
	{ "mutate", { "mutate", "--mutant", "drop:*", "--net", "on" }, NULL, 28 },
	{ "mutate after an option", { "-q", "mutate" }, NULL, 56 },
	{ "mutate twice", { "mutate", "mutate" }, "not an option", 0 },
	{ "mutants of nothing", { "--mutant", "x" }, "sbx-verify mutate", 0 },
	{ "mutate without a sandbox", { "mutate", "--no-sandbox" }, "knows no", 0 },
	{ "a word", { "claude" }, "not an option", 0 },
	{ "jobs zero", { "--jobs", "0" }, "number from 1", 0 },
	{ "jobs text", { "--jobs", "2x" }, "number from 1", 0 },
	{ "format", { "--format", "xml" }, "text, json or junit", 0 },
};

static void row(void **state)
{
	const struct row *r = *state;
	char *argv[8] = { (char *)"sbx-verify" }, error[256] = "";
	struct options o;
	int argc = 1, rc, n = 0;

	for (int i = 0; i < 6 && r->argv[i]; i++)
		argv[argc++] = sbx_xstrdup(r->argv[i]);
	rc = options_parse(&o, argc, argv, error);
	if (r->error) {
		assert_int_equal(rc, -1);
		if (strstr(error, r->error) == NULL)
			fail_msg("'%s' does not speak of '%s'", error, r->error);
	} else {
		assert_int_equal(rc, 0);
		for (int i = 0; i < CELL_MAX; i++)
			n += o.cells[i];
		assert_int_equal(n, r->cells);
	}
	for (int i = 1; i < argc; i++)
		free(argv[i]);
}

T_ROWS(parse, rows, row)

int main(void)
{
	return parse();
}
