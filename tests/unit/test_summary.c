/* What a run amounts to: nothing that was not verified may come out as 0. */
#include "report.h"
#include "t.h"

static struct rule rule = { .id = (char *)"a", .op = (char *)"op", .role = (char *)"r" };
static struct table table = { .rules = &rule, .n_rules = 1 };

static const struct row {
	const char *name;
	enum verdict verdict;
	bool trouble, interrupted, unavailable, no_cell, no_observation;
	enum exit_status want;
} rows[] = {
	{ "match", VERDICT_MATCH, .want = EXIT_HOLDS },
	{ "known gap", VERDICT_KNOWN, .want = EXIT_HOLDS },
	{ "not on this machine", VERDICT_ABSENT, .want = EXIT_HOLDS },
	{ "mismatch", VERDICT_MISMATCH, .want = EXIT_DEVIATES },
	{ "gap closed", VERDICT_FIXED, .want = EXIT_DEVIATES },
	{ "missing", VERDICT_MISSING, .want = EXIT_UNVERIFIED },
	{ "control failed", VERDICT_CONTROL, .want = EXIT_UNVERIFIED },
	{ "trouble", VERDICT_MATCH, .trouble = true, .want = EXIT_UNVERIFIED },
	{ "interrupted", VERDICT_MATCH, .interrupted = true, .want = EXIT_UNVERIFIED },
	{ "unavailable", VERDICT_MATCH, .unavailable = true, .want = EXIT_UNVERIFIED },
	{ "no cell", VERDICT_MATCH, .no_cell = true, .want = EXIT_UNVERIFIED },
	{ "fewer than declared", VERDICT_MATCH, .no_observation = true,
		.want = EXIT_UNVERIFIED },
	{ "a mismatch outweighs trouble", VERDICT_MISMATCH, .trouble = true,
		.want = EXIT_DEVIATES },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct result result = { .rule = &rule, .verdict = r->verdict };
	struct cell_result cell = { .cell = cell_at(0, UID_USER),
		.v = &result,
		.n = r->no_observation ? 0 : 1,
		.done = true,
		.trouble = r->trouble ? (char *)"x" : NULL };
	struct run run = {
		.cells = &cell, .n = r->no_cell ? 0 : 1, .interrupted = r->interrupted
	};
	struct run_options o = { .table = &table };
	struct report report = { .run = &run, .options = &o };
	struct summary s;

	cell.count[r->verdict] = cell.n;
	run.error.code = r->unavailable ? SBX_E_NOT_INSTALLED : SBX_OK;
	report_summarise(&report, &s);
	assert_int_equal(s.status, r->want);
	assert_non_null(s.sentence);
}

/* Two rules of the table; one of them is staged. */
static void without_the_staged_ones_it_does_not_hold_plainly(void **state)
{
	struct rule both[] = { rule,
		{ .id = (char *)"b", .op = (char *)"stage", .role = (char *)"r" } };
	struct table t = { .rules = both, .n_rules = 2 };
	struct result result = { .rule = &both[0], .verdict = VERDICT_MATCH };
	struct cell_result cell = { .cell = cell_at(0, UID_USER),
		.v = &result,
		.n = 1,
		.done = true,
		.count = { [VERDICT_MATCH] = 1 } };
	struct run run = { .cells = &cell, .n = 1 };
	struct run_options o = { .table = &t, .select = { .quick = true } };
	struct report report = { .run = &run, .options = &o };
	struct summary s;

	(void)state;
	report_summarise(&report, &s);
	assert_int_equal(s.status, EXIT_HOLDS);
	assert_int_equal(s.declared, 1);
	assert_non_null(strstr(s.sentence, "staged scenarios were not looked at"));
	o.other_table = true; /* said before anything else */
	report_summarise(&report, &s);
	assert_non_null(strstr(s.sentence, "not the one of sbx"));
	o.select.quick = false;
	report_summarise(&report, &s);
	assert_int_equal(s.status, EXIT_UNVERIFIED);
}

T_ROWS(summary, rows, row)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_staged_ones_it_does_not_hold_plainly),
	};

	return summary() + cmocka_run_group_tests(tests, NULL, NULL);
}
