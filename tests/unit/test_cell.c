#include "oracle/cell.h"
#include "t.h"

static void there_are_56_and_all_differ(void **state)
{
	char a[CELL_NAME_MAX], b[CELL_NAME_MAX];

	(void)state;
	assert_int_equal(cell_count(), 7 * 2 * 2 * 2);
	assert_int_equal(cell_count(), CELL_MAX);
	for (size_t i = 0; i < cell_count(); i++)
		for (size_t k = 0; k < i; k++) {
			struct cell x = cell_at(i, UID_USER), y = cell_at(k, UID_USER);

			assert_string_not_equal(cell_name(&x, a), cell_name(&y, b));
		}
}

/* The labels are the library's words: a cell means what `sbx run` would do. */
static void every_label_is_known_to_the_library(void **state)
{
	enum sbx_profile p;
	enum sbx_net net;
	enum sbx_fs fs;

	(void)state;
	for (size_t i = 0; i < cell_count(); i++) {
		struct cell c = cell_at(i, UID_USER);

		assert_non_null(sbx_agent_find(cell_value(&c, AXIS_AGENT)));
		assert_int_equal(
			sbx_profile_from_string(cell_value(&c, AXIS_PROFILE), &p), 0);
		assert_int_equal(sbx_fs_from_string(cell_value(&c, AXIS_FS), &fs), 0);
		assert_int_equal(sbx_net_from_string(cell_value(&c, AXIS_NET), &net), 0);
	}
}

static const struct row {
	const char *name, *text;
	int cells; /* -1: refused */
} rows[] = {
	{ "all", "*", 56 },
	{ "one axis", "fs=ro", 28 },
	{ "list", "agent=claude,codex", 16 },
	{ "conjunction", "profile=strict&net=off&fs=rw", 7 },
	{ "exclusion", "agent!=generic", 48 },
	{ "exclusion of a list", "agent!=generic,kiro&fs=rw", 20 },
	{ "unknown axis", "os=linux", -1 },
	{ "unknown value", "fs=maybe", -1 },
	{ "no value", "fs=", -1 },
	{ "no axis", "rw", -1 },
	{ "twice", "fs=rw&fs=ro", -1 },
	{ "impossible", "fs!=rw,ro", -1 },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct condition w = { { 0 } };
	const char *wrong = condition_parse(r->text, &w);
	int n = 0;

	if (r->cells < 0) {
		assert_non_null(wrong);
		return;
	}
	assert_null(wrong);
	for (size_t i = 0; i < cell_count(); i++) {
		struct cell c = cell_at(i, UID_USER);

		n += condition_matches(&w, &c);
	}
	assert_int_equal(n, r->cells);
}

T_ROWS(conditions, rows, row)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_56_and_all_differ),
		cmocka_unit_test(every_label_is_known_to_the_library),
	};

	return conditions() + cmocka_run_group_tests(tests, NULL, NULL);
}
