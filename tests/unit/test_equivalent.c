#include "oracle/equivalent.h"
#include "oracle/expect.h"
#include "t.h"

static const struct row {
	const char *name;
	const char *text;
	const char *error; /* part of it; NULL: fine */
} rows[] = {
	{ "empty", "", NULL },
	{ "comments", "# nothing\n\n  \t\n", NULL },
	{ "both kinds", "same drop:* net=off r\nidle twin.* * a twin\n", NULL },
	{ "carriage returns", "same a * r\r\n", NULL },
	{ "no reason", "same drop:x *\n", "t:1: a line wants" },
	{ "a blank for a reason", "same drop:x * \t\n", "t:1: a line wants" },
	{ "one word", "same\n", "t:1: a line wants" },
	{ "unknown kind", "\nfine drop:x * r\n", "t:2: a line begins with" },
	{ "unknown axis", "same drop:x colour=red r\n", "t:1: unknown axis" },
	{ "unknown value", "idle x agent=cursor r\n", "t:1: unknown value" },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct equivalents e = { 0 };
	char error[EXPECT_ERROR_MAX] = "";

	if (r->error == NULL) {
		assert_int_equal(equivalents_parse(&e, r->text, "t", error), 0);
		equivalents_done(&e);
		return;
	}
	assert_int_equal(equivalents_parse(&e, r->text, "t", error), -1);
	if (strstr(error, r->error) == NULL)
		fail_msg("'%s' does not speak of '%s'", error, r->error);
}

T_ROWS(parse, rows, row)

static struct cell cell_called(const char *want, int uid)
{
	char name[CELL_NAME_MAX];

	for (size_t i = 0; i < cell_count(); i++) {
		struct cell c = cell_at(i, uid);

		if (strcmp(cell_name(&c, name), want) == 0)
			return c;
	}
	fail_msg("no cell %s", want);
	return cell_at(0, uid);
}

static void looked_up_by_name_cell_and_kind(void **state)
{
	struct cell off = cell_called("claude/strict/rw/off", UID_USER);
	struct cell on = cell_called("claude/strict/rw/on", UID_USER);
	struct cell root = cell_called("claude/strict/rw/off", UID_ROOT);
	char error[EXPECT_ERROR_MAX];
	struct equivalents e;

	(void)state;
	assert_int_equal(equivalents_parse(&e,
				 "same drop:a* net=off&uid=user one\n"
				 "same drop:b * two\nidle drop:c * three\n",
				 "t", error),
		0);
	assert_string_equal(equivalents_mutant(&e, "drop:ab", &off)->why, "one");
	assert_int_equal(equivalents_mutant(&e, "drop:b", &on)->line, 2);
	assert_null(equivalents_mutant(&e, "drop:ab", &on));
	assert_null(equivalents_mutant(&e, "drop:ab", &root));
	assert_null(equivalents_mutant(&e, "drop:c", &off));
	assert_string_equal(equivalents_rule(&e, "drop:c", &off)->why, "three");
	assert_null(equivalents_rule(&e, "drop:b", &off));
	equivalents_done(&e);
}

static char *read_all(const char *path)
{
	char *text = NULL;

	assert_int_equal(sbx_read_file(path, 1U << 20, &text, NULL), 0);
	return text;
}

/* A line about a rule that is gone, or that no cell has, would explain nothing. */
static void every_idle_line_of_the_real_table_names_a_rule(void **state)
{
	SBX_CLEANUP_FREE char *table_text = read_all(TEST_TABLE);
	SBX_CLEANUP_FREE char *text = read_all(TEST_EQUIVALENT);
	char error[EXPECT_ERROR_MAX] = "";
	struct equivalents e;
	struct table t;
	SBX_CLEANUP_FREE size_t *used = NULL;

	(void)state;
	assert_int_equal(table_parse(&t, table_text, "expect.tbl", error), 0);
	assert_int_equal(equivalents_parse(&e, text, "equivalent.tbl", error), 0);
	used = sbx_xcalloc(e.n_rules + 1, sizeof(*used));
	for (size_t i = 0; i < cell_all_count(); i++) {
		struct cell c = cell_all_at(i);

		for (size_t k = 0; k < t.n_rules; k++) {
			struct equivalence *x = equivalents_rule(&e, t.rules[k].id, &c);

			if (x && table_runs(&t, &t.rules[k], &c))
				used[x - e.rules]++;
		}
	}
	for (size_t i = 0; i < e.n_rules; i++)
		if (used[i] == 0)
			fail_msg("line %d names no rule: %s", e.rules[i].line,
				e.rules[i].glob);
	equivalents_done(&e);
	table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looked_up_by_name_cell_and_kind),
		cmocka_unit_test(every_idle_line_of_the_real_table_names_a_rule),
	};

	return parse() + cmocka_run_group_tests(tests, NULL, NULL);
}
