#include "acts.h"
#include "oracle/expect.h"
#include "roles.h"
#include "stage.h"
#include "t.h"

#include <ctype.h>

/* clang-format off: a table, one thing a line */
static const struct row {
	const char *name, *text, *error; /* part of it; NULL: fine */
} rows[] = {
	{ "complete", "a * op r EROFS ok [S1] why\n", NULL },
	{ "comments and blanks", "# x\n\n  \t\na * op r ok ok [S1] why\n", NULL },
	{ "two halves",
		"a fs=rw op r ok+host ok+host [S1] w\nb fs=ro op r EROFS-host ok+host [S2] w\n",
		NULL },
	{ "alternatives", "a * op r EPERM|EROFS ok [S1] why\n", NULL },
	{ "no control possible", "a * op r EPERM none:privileged [S1] why\n", NULL },
	{ "a twin", "a * op r EBADF same [S1] why\n", NULL },
	{ "absent", "a * op r ENOENT ok;absent:ENOENT [S1] why\n", NULL },
	{ "known gap", "a * op r EPERM ok [S1] why\nknown a net=on ok because\n", NULL },
	{ "empty", "# nothing\n", "no rule" },
	{ "gap", "a fs=rw op r ok ok [S1] why\n", "t:1: gap" },
	{ "overlap", "a * op r ok ok [S1] w\nb fs=ro op r EROFS ok [S1] w\n", "overlap" },
	{ "same id twice", "a * op r ok ok [S1] w\na * op s ok ok [S1] w\n",
		"second rule" },
	{ "no why", "a * op r ok ok [S1]\n", "wants" },
	{ "no citation", "a * op r ok ok why not\n", "cites" },
	{ "bad expectation", "a * op r maybe ok [S1] w\n", "not an expectation" },
	{ "bad condition", "a fs=x op r ok ok [S1] w\n", "unknown value" },
	{ "denial that its control shares", "a * op r EPERM EPERM [S1] w\n",
		"proves nothing" },
	{ "value that its control shares", "a * op r value:own value:own [S1] w\n",
		"proves nothing" },
	{ "host wanted, control does not look", "a * op r ok-host ok [S1] w\n", "+host" },
	{ "nonce wanted, control does not look", "a * op r EPERM-seen ok [S1] w\n",
		"+seen" },
	{ "none without a reason", "a * op r EPERM none: [S1] w\n", "without a reason" },
	{ "controls of one act differ",
		"a fs=rw op r ok ok [S1] w\nb fs=ro op r EROFS EPERM [S1] w\n",
		"other control" },
	{ "gap of a missing rule", "a * op r EPERM ok [S1] w\nknown b * ok x\n",
		"does not exist" },
	{ "gap where the rule does not apply",
		"a fs=rw op r EPERM ok [S1] w\nb fs=ro op r EROFS ok [S1] w\nknown a * ok x\n",
		"does not apply" },
	{ "two gaps in one cell",
		"a * op r EPERM ok [S1] w\nknown a * ok x\nknown a fs=rw ok x\n",
		"two known" },
	{ "left out in some cells",
		"a fs=rw op r ok ok [S1] w\nb fs=ro op r EROFS ok [S1] w\nomit a* net=on x\n",
		NULL },
	{ "left out everywhere",
		"a fs=rw op r ok ok [S1] w\nb fs=ro op r EROFS ok [S1] w\nomit a fs=rw x\n",
		"is run in no cell" },
	{ "left out under an unknown name", "a * op r EPERM ok [S1] w\nomit b* * x\n",
		"no rule has such an id" },
	{ "left out without a reason", "a * op r EPERM ok [S1] w\nomit a net=on\n",
		"omit wants" },
	{ "another control for another uid",
		"a uid=user op r EPERM ok [S1] w\nb uid=root op r EPERM ENOENT [S1] w\n",
		NULL },
	{ "gap without a reason", "a * op r EPERM ok [S1] w\nknown a * ok\n",
		"known wants" },
};
/* clang-format on */

static void row(void **state)
{
	const struct row *r = *state;
	char error[EXPECT_ERROR_MAX] = "";
	struct table t = { 0 };
	int rc = table_parse(&t, r->text, "t", error);

	if (r->error == NULL) {
		if (rc < 0)
			fail_msg("%s", error);
		table_done(&t);
		return;
	}
	assert_int_equal(rc, -1);
	assert_null(t.rules);
	if (strstr(error, r->error) == NULL)
		fail_msg("'%s' does not speak of '%s'", error, r->error);
	assert_int_equal(strncmp(error, "t:", 2), 0);
}

static char *read_all(const char *path)
{
	char *text = NULL;

	assert_int_equal(sbx_read_file(path, 1 << 20, &text, NULL), 0);
	return text;
}

static void load_real(struct table *t)
{
	SBX_CLEANUP_FREE char *text = read_all(TEST_TABLE);
	char error[EXPECT_ERROR_MAX] = "";

	if (table_parse(t, text, "expect.tbl", error) < 0)
		fail_msg("%s", error);
}

/* Each sentence of the security page has a rule, and each rule a sentence. */
static void sentences_and_rules_cite_each_other(void **state)
{
	SBX_CLEANUP_FREE char *doc = read_all(TEST_SECURITY);
	struct table t;

	(void)state;
	load_real(&t);
	for (size_t i = 0; i < t.n_rules; i++) {
		SBX_CLEANUP_FREE char *mark = sbx_xasprintf("**%s**", t.rules[i].cite);

		if (strstr(doc, mark) == NULL)
			fail_msg("%s cites %s, which docs/security.md does not have",
				t.rules[i].id, t.rules[i].cite);
	}
	for (const char *p = doc; (p = strstr(p, "**S")) != NULL; p += 3) {
		bool cited = false;

		if (!isdigit((unsigned char)p[3]))
			continue;
		for (size_t i = 0; i < t.n_rules; i++)
			cited |= strncmp(t.rules[i].cite, p + 2,
					 strlen(t.rules[i].cite)) == 0 &&
				 p[2 + strlen(t.rules[i].cite)] == '*';
		if (!cited)
			fail_msg("no rule proves %.6s", p + 2);
	}
	table_done(&t);
}

/* Every known gap is in the security page, by the rule's id. */
static void gaps_are_in_plain_sight(void **state)
{
	SBX_CLEANUP_FREE char *doc = read_all(TEST_SECURITY);
	struct table t;

	(void)state;
	load_real(&t);
	for (size_t i = 0; i < t.n_known; i++) {
		SBX_CLEANUP_FREE char *mark = sbx_xasprintf("`%s`", t.known[i].rule);

		if (strstr(doc, mark) == NULL)
			fail_msg(
				"the gap %s is not in docs/security.md", t.known[i].rule);
	}
	table_done(&t);
}

static void roles_of_the_table_exist_and_none_is_idle(void **state)
{
	struct table t;

	(void)state;
	load_real(&t);
	for (size_t i = 0; i < t.n_rules; i++)
		if (!role_exists(t.rules[i].role))
			fail_msg("%s: no role %s", t.rules[i].id, t.rules[i].role);
		else if (act_is_staged(t.rules[i].op) && !stage_exists(t.rules[i].role))
			fail_msg("%s: no scenario %s", t.rules[i].id, t.rules[i].role);
	for (size_t k = 0; stage_name(k); k++) {
		bool used = false;

		for (size_t i = 0; i < t.n_rules; i++)
			used |= act_is_staged(t.rules[i].op) &&
				strcmp(t.rules[i].role, stage_name(k)) == 0;
		if (!used)
			fail_msg("no rule plays %s", stage_name(k));
	}
	for (size_t k = 0; role_name(k); k++) {
		bool used = false;

		for (size_t i = 0; i < t.n_rules; i++)
			used |= strcmp(t.rules[i].role, role_name(k)) == 0;
		if (!used)
			fail_msg("no rule speaks of %s", role_name(k));
	}
	table_done(&t);
}

/* At least 80 acts, and both kinds: what must be denied and what must work. */
static void the_catalogue_has_its_size(void **state)
{
	struct table t;
	struct cell c = cell_at(0, UID_USER);
	size_t works = 0, denied = 0;

	(void)state;
	load_real(&t);
	for (size_t i = 0; i < t.n_rules; i++) {
		const struct rule *r = &t.rules[i];

		if (!condition_matches(&r->when, &c))
			continue;
		if (strcmp(r->expect.results[0], "ok") == 0 && r->expect.host >= 0)
			works++;
		else
			denied++;
	}
	assert_true(works + denied >= 80);
	assert_true(works >= 30 && denied >= 50);
	table_done(&t);
}

static bool tried(const struct table *t, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < t->n_rules; i++)
		if (strcmp(t->rules[i].op, "syscall") == 0 &&
			strncmp(t->rules[i].role, name, len) == 0 &&
			(t->rules[i].role[len] == '\0' || t->rules[i].role[len] == '_'))
			return true;
	return false;
}

/* A refused system call that no rule tries could be opened unnoticed. */
static void every_row_of_the_filter_is_tried(void **state)
{
	struct table t;
	size_t n;
	const struct sbx_filter_row *filter = sbx_filter_rows(&n);

	(void)state;
	load_real(&t);
	for (size_t i = 0; i < n; i++)
		if (!tried(&t, filter[i].name))
			fail_msg("no rule tries %s", filter[i].name);
	table_done(&t);
}

T_ROWS(parse, rows, row)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences_and_rules_cite_each_other),
		cmocka_unit_test(gaps_are_in_plain_sight),
		cmocka_unit_test(roles_of_the_table_exist_and_none_is_idle),
		cmocka_unit_test(every_row_of_the_filter_is_tried),
		cmocka_unit_test(the_catalogue_has_its_size),
	};

	return parse() + cmocka_run_group_tests(tests, NULL, NULL);
}
