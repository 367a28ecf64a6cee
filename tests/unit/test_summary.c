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

T_ROWS(summary, rows, row)

int main(void)
{
	return summary();
}
