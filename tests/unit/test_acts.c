/* The runner's reading of what the probe says: a line too few, too many or odd is no pass. */
#include "acts.h"
#include "t.h"

static struct rule rules[3] = { { .id = (char *)"a", .op = (char *)"stat" },
	{ .id = (char *)"b", .op = (char *)"kill" },
	{ .id = (char *)"c", .op = (char *)"snapshot" } };

/* clang-format off: a table, one thing a line */
static const struct row {
	const char *name, *output, *wrong; /* part of it; NULL: fine */
	const char *second; /* result of act 1; NULL: not present */
} rows[] = {
	{ "complete", "obs\t0\tok\nobs\t1\tESRCH\ndone\t2\ttok\n", NULL, "ESRCH" },
	{ "any order", "obs\t1\tESRCH\nobs\t0\tok\ndone\t2\ttok\n", NULL, "ESRCH" },
	{ "silence", "", "did not run", NULL },
	{ "no end", "obs\t0\tok\nobs\t1\tok\n", "did not come to its end", "ok" },
	{ "one too few", "obs\t0\tok\ndone\t2\ttok\n", "left out", NULL },
	{ "end says fewer", "obs\t0\tok\ndone\t1\ttok\n", "cannot be read", NULL },
	{ "end of another run", "obs\t0\tok\nobs\t1\tok\ndone\t2\told\n",
		"cannot be read", "ok" },
	{ "twice", "obs\t0\tok\nobs\t0\tok\ndone\t2\ttok\n", "two observations", NULL },
	{ "no such act", "obs\t7\tok\ndone\t2\ttok\n", "cannot be read", NULL },
	{ "chatter", "bwrap: hello\nobs\t0\tok\n", "cannot be read", NULL },
	{ "control characters", "obs\t0\tok\nobs\t1\t\033[2J\ndone\t2\ttok\n",
		"cannot be read", NULL },
	{ "too long",
		"obs\t0\tok\nobs\t1\txxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
		"cannot be read", NULL },
};
/* clang-format on */

static void row(void **state)
{
	const struct row *r = *state;
	struct act v[3] = { { .rule = &rules[0] }, { .rule = &rules[1] },
		{ .rule = &rules[2] } };
	struct acts a = { .v = v, .n = 3, .token = "tok" };
	const char *wrong = acts_parse(&a, r->output);

	if (r->wrong == NULL)
		assert_null(wrong);
	else
		assert_non_null(strstr(wrong, r->wrong));
	assert_int_equal(v[1].obs.present, r->second != NULL);
	if (r->second)
		assert_string_equal(v[1].obs.result, r->second);
}

T_ROWS(parse, rows, row)

int main(void)
{
	return parse();
}
