/* Words: quoting, the command line of an agent, who root becomes. */
#include "identity.h"
#include "prepare.h"
#include "quote.h"
#include "t.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- quoting: what sh reads back is what went in ---- */

static const struct quote_row {
	const char *name;
	const char *word;
	const char *quoted; /* or NULL: as long as it comes back */
} quotes[] = {
	{ "bare", "/usr/bin/x-1.0_y", "/usr/bin/x-1.0_y" },
	{ "an option", "--ro-bind", "--ro-bind" },
	{ "an assignment", "10=init", "10=init" },
	{ "empty", "", "''" },
	{ "a space", "a b", "'a b'" },
	{ "a quote", "it's", "'it'\\''s'" },
	{ "only quotes", "''", NULL },
	{ "everything", "$HOME `id` \"x\" \\ ! * ? [a] {b,c} ~ # & ; | < > ( ) \n\t%s",
		NULL },
	{ "a leading equals sign", "=ls", "'=ls'" },
	{ "a tilde", "~root", "'~root'" },
	{ "not ASCII", "h\xc3\xa9\xff", NULL },
	{ "control characters", "\001\033[2J\r", NULL },
};

static void quote_row(void **state)
{
	const struct quote_row *r = *state;
	SBX_CLEANUP_FREE char *q = quote_sh(r->word);
	SBX_CLEANUP_FREE char *script = sbx_xasprintf("printf %%s %s", q);
	char back[256];
	size_t n;
	FILE *f;

	if (r->quoted)
		assert_string_equal(q, r->quoted);
	f = popen(script, "r");
	assert_non_null(f);
	n = fread(back, 1, sizeof(back) - 1, f);
	back[n] = '\0';
	assert_int_equal(pclose(f), 0);
	assert_string_equal(back, r->word);
}

T_ROWS(quoting, quotes, quote_row)

static void what_may_be_pasted(void **state)
{
	SBX_CLEANUP_FREE char *plain = quote_plain("a\033[2Jb\n");
	SBX_CLEANUP_FREE char *eight =
		quote_plain("\xc3\xa9\x9b"
			    "2J\xc2\x9d"
			    "52;\xe2\x82\xac\xff \xf0\x9f\x98\x80\xe2");

	(void)state;
	assert_true(quote_is_pasteable("a\n\tb\xc3\xa9"));
	assert_false(quote_is_pasteable("a\033b"));
	assert_false(quote_is_pasteable("a\rb"));
	assert_false(quote_is_pasteable("a\177"));
	assert_string_equal(plain, "a?[2Jb?");
	assert_string_equal(eight, "\xc3\xa9?2J??52;\xe2\x82\xac? \xf0\x9f\x98\x80?");
	assert_false(quote_is_pasteable("a\x9b"
					"2J"));
	assert_false(quote_is_pasteable("a\xc2\x9b"
					"2J"));
}

/* ---- the command line ---- */

static void the_flag_comes_with_the_sandbox(void **state)
{
	char *args[] = { (char *)"-p", (char *)"x", NULL };
	struct sbx_strv with = { 0 }, without = { 0 }, generic = { 0 };

	(void)state;
	prepare_command(&with, sbx_agent_find("claude"), args, true);
	assert_int_equal(with.n, 4);
	assert_string_equal(with.v[0], "claude");
	assert_string_equal(with.v[1], "--dangerously-skip-permissions");
	assert_string_equal(with.v[3], "x");
	prepare_command(&without, sbx_agent_find("claude"), args, false);
	assert_int_equal(without.n, 3);
	prepare_command(&generic, sbx_agent_find("generic"), args, true);
	assert_int_equal(generic.n, 2);
	assert_string_equal(generic.v[0], "-p");
	sbx_strv_done(&with);
	sbx_strv_done(&without);
	sbx_strv_done(&generic);
}

static void the_key_is_kept_from_tools_where_there_is_a_way(void **state)
{
	char *args[] = { (char *)"exec", NULL };
	struct sbx_strv with = { 0 }, without = { 0 };

	(void)state;
	prepare_command(&with, sbx_agent_find("codex"), args, true);
	assert_int_equal(with.n, 5);
	assert_string_equal(with.v[2], "-c");
	assert_non_null(strstr(with.v[3], "CODEX_API_KEY"));
	assert_string_equal(with.v[4], "exec");
	prepare_command(&without, sbx_agent_find("codex"), args, false);
	assert_int_equal(without.n, 2);
	sbx_strv_done(&with);
	sbx_strv_done(&without);
}

/* "opencode --auto run" is no command of opencode's. */
static void the_flag_stands_behind_a_subcommand_that_takes_it(void **state)
{
	char *run[] = { (char *)"run", (char *)"x", NULL },
	     *plain[] = { (char *)"x", NULL };
	struct sbx_strv with = { 0 }, without = { 0 }, other = { 0 }, none = { 0 };

	(void)state;
	prepare_command(&with, sbx_agent_find("opencode"), run, true);
	assert_int_equal(with.n, 4);
	assert_string_equal(with.v[1], "run");
	assert_string_equal(with.v[2], "--auto");
	assert_string_equal(with.v[3], "x");
	prepare_command(&without, sbx_agent_find("opencode"), run, false);
	assert_int_equal(without.n, 3);
	prepare_command(&other, sbx_agent_find("opencode"), plain, true);
	assert_string_equal(other.v[1], "--auto");
	prepare_command(&none, sbx_agent_find("opencode"), NULL, true);
	assert_int_equal(none.n, 2);
	sbx_strv_done(&with);
	sbx_strv_done(&without);
	sbx_strv_done(&other);
	sbx_strv_done(&none);
}

/* ---- who root becomes ---- */

static int chosen(
	struct identity *id, const char *as, const char *workdir, struct sbx_error *e)
{
	struct options o = { .as = as, .policy.workdir = workdir };
	SBX_CLEANUP_FREE char *home = NULL;
	int rc = identity_choose(id, &home, &o, e);

	if (rc == 0)
		assert_true(home[0] == '/');
	return rc;
}

static void nobody_is_chosen_who_is_root(void **state)
{
	static const char *const bad[] = { "root", "0", "+0", "no-such-user", "-1",
		"4294967295", "99999999999999999999", "1x", "" };
	struct sbx_error e = { 0 };
	struct identity id = { 0 };

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		if (chosen(&id, bad[i], NULL, &e) == 0)
			fail_msg("'%s' became uid %u", bad[i], (unsigned)id.uid);
		assert_non_null(e.remedy);
		sbx_error_done(&e);
	}
	assert_int_equal(chosen(&id, NULL, "/", &e), -1);
	assert_int_equal(e.code, SBX_E_ROOT);
	sbx_error_done(&e);
	assert_int_equal(chosen(&id, NULL, "/nonexistent/x", &e), -1);
	assert_int_equal(e.code, SBX_E_PATH_MISSING);
	sbx_error_done(&e);
}

static void the_owner_or_the_named_one_is_chosen(void **state)
{
	struct sbx_error e = { 0 };
	struct identity id;
	char *dir = t_mkdir();

	(void)state;
	assert_int_equal(chosen(&id, "nobody", "/", &e), 0);
	assert_int_equal(id.uid, 65534);
	assert_string_equal(id.name, "nobody");
	identity_done(&id);
	assert_int_equal(chosen(&id, "54321", "/", &e), 0);
	assert_int_equal(id.uid, 54321);
	assert_int_equal(id.gid, 54321);
	assert_string_equal(id.name, "54321");
	identity_done(&id);
	if (geteuid() == 0)
		assert_int_equal(chown(dir, 54322, 0), 0);
	assert_int_equal(chosen(&id, NULL, dir, &e), 0);
	assert_int_equal(id.uid, geteuid() == 0 ? 54322 : geteuid());
	/* Never the group of the directory, which may be root's. */
	assert_int_not_equal(id.gid, 0);
	identity_done(&id);
	t_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_pasted),
		cmocka_unit_test(the_flag_comes_with_the_sandbox),
		cmocka_unit_test(the_key_is_kept_from_tools_where_there_is_a_way),
		cmocka_unit_test(the_flag_stands_behind_a_subcommand_that_takes_it),
		cmocka_unit_test(nobody_is_chosen_who_is_root),
		cmocka_unit_test(the_owner_or_the_named_one_is_chosen),
	};

	return quoting() + cmocka_run_group_tests(tests, NULL, NULL);
}
