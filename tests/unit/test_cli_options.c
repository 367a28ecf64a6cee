#include "options.h"
#include "t.h"

#include <unistd.h>

static const struct row {
	const char *name;
	const char *cmd;
	const char *argv[8];
	const char *error; /* part of it; NULL: fine */
	int words;
	int args; /* -1: no "--" */
} rows[] = {
	{ "an agent", "run", { "claude" }, NULL, 1, -1 },
	{ "options on both sides", "run", { "--fs", "ro", "claude", "--net=off" }, NULL,
		1, -1 },
	{ "arguments", "run", { "claude", "--", "--net", "x" }, NULL, 1, 2 },
	{ "the second separator is an argument", "run", { "--", "a", "--", "b" }, NULL, 0,
		3 },
	{ "nothing after the separator", "run", { "generic", "--" }, NULL, 1, 0 },
	{ "unknown", "run", { "--fast" }, "no option --fast", 0, -1 },
	{ "unknown after the agent", "run", { "claude", "--fast" }, "no option --fast", 0,
		-1 },
	{ "a letter", "run", { "claude", "-p", "hi" }, "no option -p", 0, -1 },
	{ "letters in one word", "run", { "generic", "ls", "-la" }, "no option -la", 0,
		-1 },
	{ "after one of ours", "run", { "-v", "claude", "-vl" }, "no option -vl", 0, -1 },
	{ "of another subcommand", "completion", { "--net", "on" }, "no option --net", 0,
		-1 },
	{ "another meaning", "agents", { "--format", "argv" }, "text json", 0, -1 },
	{ "its own meaning", "plan", { "--format", "argv", "claude" }, NULL, 1, -1 },
	{ "a value that only begins well", "run", { "--net", "o" }, "not one of: on off",
		0, -1 },
	{ "an empty value", "run", { "--fs", "" }, "not one of: rw ro", 0, -1 },
	{ "missing value", "run", { "claude", "--env" }, "wants an argument", 0, -1 },
	{ "strict does not fall back", "run",
		{ "--profile", "strict", "--on-unavailable", "run-unsandboxed",
			"claude" },
		"refused for the profile strict", 0, -1 },
	{ "in whatever order", "run",
		{ "--on-unavailable", "run-unsandboxed", "--profile", "strict",
			"claude" },
		"refused for the profile strict", 0, -1 },
	{ "without a sandbox nothing is promised", "run",
		{ "--fs", "ro", "--sandbox", "none", "claude" }, "--fs means nothing", 0,
		-1 },
	{ "limits", "run", { "--limit", "nofile=64", "--limit=as=4G", "claude" }, NULL, 1,
		-1 },
	{ "no limit", "run", { "--limit", "64", "claude" }, "NAME=VALUE", 0, -1 },
	{ "no limit without a sandbox", "run",
		{ "--limit", "nofile=64", "--sandbox", "none", "claude" },
		"--limit means nothing", 0, -1 },
	{ "limits of all of it", "plan",
		{ "--memory", "1g", "--pids-limit", "9", "claude" }, NULL, 1, -1 },
	{ "no memory at all", "run", { "--memory", "0", "claude" }, "number of bytes", 0,
		-1 },
	{ "no size", "run", { "--memory", "much", "claude" }, "number of bytes", 0, -1 },
	{ "too few to start", "run", { "--pids-limit", "2", "claude" },
		"not a number from 3", 0, -1 },
	{ "limits that nobody would keep", "run",
		{ "--limit", "nofile=9", "--on-unavailable", "run-unsandboxed",
			"claude" },
		"--limit cannot be kept", 0, -1 },
	{ "memory that nobody would limit", "run",
		{ "--memory", "1G", "--on-unavailable", "run-unsandboxed", "claude" },
		"--memory cannot be kept", 0, -1 },
	{ "help needs no sense", "run", { "--help", "--as", "x", "--allow-root" }, NULL,
		0, -1 },
	{ "a session with a sandbox", "session new",
		{ "--fs", "ro", "--name", "x", "claude", "--", "-p" }, NULL, 1, 1 },
	{ "a session that falls back", "session new",
		{ "--on-unavailable", "run-unsandboxed", "claude" }, "no option", 0, -1 },
	{ "a session of no sandbox keeps nothing", "session new",
		{ "--sandbox", "none", "--env", "X", "claude" }, "--env means nothing", 0,
		-1 },
	{ "a resumed one has its own sandbox", "session resume", { "--net", "on", "x" },
		"no option --net", 0, -1 },
	{ "several are removed", "session rm", { "a", "b" }, NULL, 2, -1 },
	{ "words that are none of ours", "fds", { "10=filter", "--", "--x" }, NULL, 1,
		1 },
};

static void row(void **state)
{
	const struct row *r = *state;
	char *argv[10];
	struct sbx_error e = { 0 };
	struct options o;
	int argc = 1, rc, n = 0;

	argv[0] = sbx_xstrdup(r->cmd);
	for (int i = 0; i < 8 && r->argv[i]; i++)
		argv[argc++] = sbx_xstrdup(r->argv[i]);
	argv[argc] = NULL;
	rc = options_parse(&o, options_command(r->cmd), argc, argv, &e);
	if (r->error) {
		assert_int_equal(rc, -1);
		assert_int_equal(e.code, SBX_E_USAGE);
		assert_non_null(e.remedy);
		if (strstr(e.message, r->error) == NULL)
			fail_msg("'%s' does not speak of '%s'", e.message, r->error);
	} else {
		if (rc < 0)
			fail_msg("%s", e.message);
		assert_int_equal(o.n_words, r->words);
		while (o.args && o.args[n])
			n++;
		assert_int_equal(o.args ? n : -1, r->args);
	}
	sbx_error_done(&e);
	options_done(&o);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
}

T_ROWS(parse, rows, row)

/* A key has one meaning in one subcommand, and every row says what it is. */
static void the_table_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < options_n_rows; i++) {
		const struct option_row *r = &options_rows[i];

		assert_true(r->cmds != 0 && r->help[0] != '\0');
		assert_int_equal(r->kind == ARG_NONE, r->arg == NULL);
		assert_int_equal(r->kind == ARG_VALUES, r->values != NULL);
		for (size_t k = i + 1; k < options_n_rows; k++)
			if (options_rows[k].cmds & r->cmds) {
				assert_int_not_equal(options_rows[k].key, r->key);
				assert_string_not_equal(options_rows[k].name, r->name);
			}
	}
	for (size_t i = 0; i < options_n_commands; i++)
		assert_ptr_equal(
			options_command(options_commands[i].name), &options_commands[i]);
	assert_null(options_command("nothing"));
}

static void relative_binds_are_from_here(void **state)
{
	char *argv[] = { (char *)"run", (char *)"--ro-bind", (char *)"a/../b",
		(char *)"--bind=/x", (char *)"claude", NULL };
	char here[4096];
	SBX_CLEANUP_FREE char *b = NULL;
	struct sbx_error e = { 0 };
	struct options o;

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	b = sbx_path_join(here, "b");
	assert_int_equal(options_parse(&o, options_command("run"), 5, argv, &e), 0);
	assert_int_equal(o.policy.n_binds, 2);
	assert_string_equal(o.policy.binds[0].path, b);
	assert_false(o.policy.binds[0].rw);
	assert_string_equal(o.policy.binds[1].path, "/x");
	assert_true(o.policy.binds[1].rw);
	assert_true(options_given(&o, KEY_BIND));
	assert_false(options_given(&o, KEY_NET));
	options_done(&o);
}

static void two_words_are_one_command(void **state)
{
	static const struct {
		const char *words[3];
		const char *name; /* NULL: there is none */
		int used;
	} finds[] = {
		{ { "session", "new", "run" }, "session new", 2 },
		{ { "session", "run" }, "session", 1 },
		{ { "session" }, "session", 1 },
		{ { "run", "session" }, "run", 1 },
		{ { "session new" }, NULL, 1 },
		{ { "new" }, NULL, 1 },
	};

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(finds); i++) {
		int argc = 0, used = 0;
		const struct command_row *c;

		while (argc < 3 && finds[i].words[argc])
			argc++;
		c = options_find(argc, (char *const *)(uintptr_t)finds[i].words, &used);
		assert_int_equal(c == NULL, finds[i].name == NULL);
		if (c)
			assert_string_equal(c->name, finds[i].name);
		assert_int_equal(used, finds[i].used);
	}
	assert_true(options_is_below(
		options_command("session rm"), options_command("session")));
	assert_false(
		options_is_below(options_command("session"), options_command("session")));
	assert_false(
		options_is_below(options_command("run"), options_command("session")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_sound),
		cmocka_unit_test(relative_binds_are_from_here),
		cmocka_unit_test(two_words_are_one_command),
	};

	return parse() + cmocka_run_group_tests(tests, NULL, NULL);
}
