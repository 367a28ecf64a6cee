#include "oracle/verdict.h"
#include "t.h"

#define SEEN(text, h, s)                                                  \
	{                                                                 \
		.present = true, .result = text, .host = (h), .seen = (s) \
	}
#define NOTHING                  \
	{                        \
		.present = false \
	}

/* clang-format off: a table, one thing a line */
static const struct row {
	const char *name;
	const char *expect, *control, *known; /* as in the table; known may be NULL */
	struct observation inside, outside;
	enum verdict want;
} rows[] = {
	{ "denied as it should be", "EROFS", "ok", NULL, SEEN("EROFS", 0, 0),
		SEEN("ok", 0, 0), VERDICT_MATCH },
	{ "allowed", "EROFS", "ok", NULL, SEEN("ok", 0, 0), SEEN("ok", 0, 0),
		VERDICT_MISMATCH },
	{ "denied by the wrong wall", "EROFS", "ok", NULL, SEEN("EACCES", 0, 0),
		SEEN("ok", 0, 0), VERDICT_MISMATCH },
	{ "denied outside as well", "EROFS", "ok", NULL, SEEN("EROFS", 0, 0),
		SEEN("EACCES", 0, 0), VERDICT_CONTROL },
	{ "no control was run", "EROFS", "ok", NULL, SEEN("EROFS", 0, 0), NOTHING,
		VERDICT_CONTROL },
	{ "control timed out", "EROFS", "ok", NULL, SEEN("EROFS", 0, 0),
		SEEN("probe:timeout", 0, 0), VERDICT_CONTROL },
	{ "a hole is one even without control", "EROFS", "ok", NULL, SEEN("ok", 0, 0),
		NOTHING, VERDICT_MISMATCH },
	{ "no observation", "EROFS", "ok", NULL, NOTHING, SEEN("ok", 0, 0),
		VERDICT_MISSING },
	{ "probe gave up", "EROFS", "ok", NULL, SEEN("probe:timeout", 0, 0),
		SEEN("ok", 0, 0), VERDICT_MISSING },
	{ "nobody looked on the host", "ok-host", "ok+host", NULL, SEEN("ok", 0, 0),
		SEEN("ok", 1, 0), VERDICT_MISSING },
	{ "succeeded, but only inside", "ok-host", "ok+host", NULL, SEEN("ok", -1, 0),
		SEEN("ok", 1, 0), VERDICT_MATCH },
	{ "succeeded, and the host sees it", "ok-host", "ok+host", NULL, SEEN("ok", 1, 0),
		SEEN("ok", 1, 0), VERDICT_MISMATCH },
	{ "the probe lies: denied, yet the host sees it", "EROFS-host", "ok+host", NULL,
		SEEN("EROFS", 1, 0), SEEN("ok", 1, 0), VERDICT_MISMATCH },
	{ "the probe lies: ok, yet the host sees nothing", "ok+host", "ok+host", NULL,
		SEEN("ok", -1, 0), SEEN("ok", 1, 0), VERDICT_MISMATCH },
	{ "refused, nobody counted", "ECONNREFUSED-seen", "ok+seen", NULL,
		SEEN("ECONNREFUSED", 0, -1), SEEN("ok", 0, 1), VERDICT_MATCH },
	{ "refused, yet the listener saw it", "ECONNREFUSED-seen", "ok+seen", NULL,
		SEEN("ECONNREFUSED", 0, 1), SEEN("ok", 0, 1), VERDICT_MISMATCH },
	{ "nobody was listening", "ECONNREFUSED-seen", "ok+seen", NULL,
		SEEN("ECONNREFUSED", 0, -1), SEEN("ECONNREFUSED", 0, -1),
		VERDICT_CONTROL },
	{ "control connected, listener saw nothing", "ECONNREFUSED-seen", "ok+seen", NULL,
		SEEN("ECONNREFUSED", 0, -1), SEEN("ok", 0, -1), VERDICT_CONTROL },
	{ "what must work fails, inside and out", "ok", "ok", NULL, SEEN("ENOENT", 0, 0),
		SEEN("ENOENT", 0, 0), VERDICT_CONTROL },
	{ "what must work fails inside alone", "ok", "ok", NULL, SEEN("ENOENT", 0, 0),
		SEEN("ok", 0, 0), VERDICT_MISMATCH },
	{ "second alternative", "EPERM|EROFS", "ok", NULL, SEEN("EROFS", 0, 0),
		SEEN("ok", 0, 0), VERDICT_MATCH },
	{ "no such thing here", "ENOENT", "ok;absent:ENOENT", NULL, SEEN("ENOENT", 0, 0),
		SEEN("ENOENT", 0, 0), VERDICT_ABSENT },
	{ "no such thing here, but found inside", "ENOENT", "ok;absent:ENOENT", NULL,
		SEEN("ok", 0, 0), SEEN("ENOENT", 0, 0), VERDICT_MISMATCH },
	{ "no such thing here, but a value inside", "value:absent",
		"value:found;absent:EACCES", NULL, SEEN("value:found", 0, 0),
		SEEN("EACCES", 0, 0), VERDICT_MISMATCH },
	{ "no such thing here, yet an effect", "EROFS-host", "ok+host;absent:EOPNOTSUPP",
		NULL, SEEN("EOPNOTSUPP", 1, 0), SEEN("EOPNOTSUPP", -1, 0),
		VERDICT_MISMATCH },
	{ "no such thing here, yet seen", "ECONNREFUSED-seen",
		"ok+seen;absent:EADDRNOTAVAIL", NULL, SEEN("EADDRNOTAVAIL", 0, 1),
		SEEN("EADDRNOTAVAIL", 0, -1), VERDICT_MISMATCH },
	{ "no such thing here, denied by the sandbox", "EPERM", "EBADF;absent:ENOSYS",
		NULL, SEEN("EPERM", 0, 0), SEEN("ENOSYS", 0, 0), VERDICT_ABSENT },
	{ "no control possible", "EPERM", "none:x", NULL, SEEN("EPERM", 0, 0), NOTHING,
		VERDICT_MATCH },
	{ "a twin", "EBADF", "same", NULL, SEEN("EBADF", 0, 0), SEEN("EBADF", 0, 0),
		VERDICT_MATCH },
	{ "a twin that the filter hit", "EBADF", "same", NULL, SEEN("EPERM", 0, 0),
		SEEN("EBADF", 0, 0), VERDICT_MISMATCH },
	{ "a twin that fails outside too", "EBADF", "same", NULL, SEEN("EBADF", 0, 0),
		SEEN("EPERM", 0, 0), VERDICT_CONTROL },
	{ "gap as listed", "EPERM", "ok", "ok", SEEN("ok", 0, 0), SEEN("ok", 0, 0),
		VERDICT_KNOWN },
	{ "gap, but worse than listed", "EPERM-host", "ok+host", "ok-host",
		SEEN("ok", 1, 0), SEEN("ok", 1, 0), VERDICT_MISMATCH },
	{ "gap that has closed", "EPERM", "ok", "ok", SEEN("EPERM", 0, 0),
		SEEN("ok", 0, 0), VERDICT_FIXED },
	{ "gap, nothing observed", "EPERM", "ok", "ok", NOTHING, SEEN("ok", 0, 0),
		VERDICT_MISSING },
};
/* clang-format on */

static void row(void **state)
{
	const struct row *r = *state;
	SBX_CLEANUP_FREE char *gap =
		r->known ? sbx_xasprintf("known a * %s x\n", r->known) : NULL;
	/* b tells cells apart where a alone would equal its control. */
	SBX_CLEANUP_FREE char *text = sbx_xasprintf(
		"a * op r %s %s [S1] w\n%s", r->expect, r->control, gap ? gap : "");
	char error[EXPECT_ERROR_MAX] = "";
	struct cell c = cell_at(0, UID_USER);
	struct table t;
	enum verdict got;

	if (table_parse(&t, text, "t", error) < 0)
		fail_msg("%s", error);
	got = verdict_judge(
		&t.rules[0], table_known(&t, &t.rules[0], &c), &r->inside, &r->outside);
	assert_string_equal(verdict_name(got), verdict_name(r->want));
	table_done(&t);
}

/* Nothing but these three is green. */
static void only_three_verdicts_pass(void **state)
{
	(void)state;
	for (int v = 0; v < _VERDICT_MAX; v++) {
		assert_int_equal(verdict_passes(v),
			v == VERDICT_MATCH || v == VERDICT_KNOWN || v == VERDICT_ABSENT);
		assert_false(verdict_passes(v) && verdict_fails(v));
		assert_string_not_equal(verdict_name(v), "?");
	}
}

T_ROWS(judge, rows, row)

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(only_three_verdicts_pass) };

	return judge() + cmocka_run_group_tests(tests, NULL, NULL);
}
