#include "t.h"

#include "init.h"
#include "limit.h"

#include <errno.h>
#include <sys/resource.h>

static const struct row {
	const char *name, *text;
	int which; /* -1: refused */
	unsigned long long value;
	const char *error; /* part of it */
} rows[] = {
	{ "plain", "nofile=64", SBX_LIMIT_NOFILE, 64, NULL },
	{ "none at all", "nproc=0", SBX_LIMIT_NPROC, 0, NULL },
	{ "bytes", "fsize=4096", SBX_LIMIT_FSIZE, 4096, NULL },
	{ "kilo", "stack=8K", SBX_LIMIT_STACK, 8192, NULL },
	{ "mega", "memlock=2M", SBX_LIMIT_MEMLOCK, 2 << 20, NULL },
	{ "giga", "as=4G", SBX_LIMIT_AS, 4ULL << 30, NULL },
	{ "small letters", "as=4g", SBX_LIMIT_AS, 4ULL << 30, NULL },
	{ "another small one", "stack=8k", SBX_LIMIT_STACK, 8192, NULL },
	{ "the most", "data=18446744073709551614", SBX_LIMIT_DATA, ~0ULL - 1, NULL },
	{ "seconds", "cpu=60", SBX_LIMIT_CPU, 60, NULL },
	{ "seconds have no letters", "cpu=1K", -1, 0, "a number of seconds" },
	{ "nor have numbers", "nofile=1K", -1, 0, "'1K' is not a number" },
	{ "another letter", "as=1T", -1, 0, "K, M or G" },
	{ "two letters", "as=1KB", -1, 0, "K, M or G" },
	{ "only a letter", "as=K", -1, 0, "K, M or G" },
	{ "no limit is none", "as=unlimited", -1, 0, "K, M or G" },
	{ "what means no limit", "as=18446744073709551615", -1, 0, "K, M or G" },
	{ "too long", "as=99999999999999999999", -1, 0, "K, M or G" },
	{ "too large by its letter", "as=18014398509481985K", -1, 0, "K, M or G" },
	{ "negative", "nofile=-1", -1, 0, "'-1' is not a number" },
	{ "signed", "nofile=+1", -1, 0, "'+1' is not a number" },
	{ "space", "nofile= 1", -1, 0, "' 1' is not a number" },
	{ "two values", "nofile=1:2", -1, 0, "'1:2' is not a number" },
	{ "no value", "nofile=", -1, 0, "'' is not a number" },
	{ "no sign", "nofile", -1, 0, "NAME of these: as, cpu, data" },
	{ "no name", "=1", -1, 0, "NAME of these" },
	{ "empty", "", -1, 0, "NAME of these" },
	{ "no such limit", "rss=1", -1, 0, "NAME of these" },
	{ "by another case", "NOFILE=1", -1, 0, "NAME of these" },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct sbx_limit l = { _SBX_LIMIT_MAX, 77 };
	struct sbx_error e = { 0 };
	int rc = sbx_limit_parse(&l, r->text, &e);

	if (r->which >= 0) {
		if (rc < 0)
			fail_msg("%s", e.message);
		assert_int_equal(l.which, r->which);
		assert_int_equal(l.value, r->value);
	} else {
		assert_int_equal(rc, -EINVAL);
		assert_int_equal(e.code, SBX_E_LIMIT);
		assert_int_equal(l.value, 77);
		if (strstr(e.message, r->error) == NULL)
			fail_msg("'%s' does not speak of '%s'", e.message, r->error);
	}
	sbx_error_done(&e);
}

T_ROWS(parse, rows, row)

static void names_go_both_ways(void **state)
{
	enum sbx_limit_kind which = _SBX_LIMIT_MAX;

	(void)state;
	for (int i = 0; i < _SBX_LIMIT_MAX; i++) {
		assert_int_equal(sbx_limit_from_string(sbx_limit_name(i), &which), 0);
		assert_int_equal(which, i);
		assert_true(sbx_limit_resource(i) >= 0);
	}
	assert_string_equal(sbx_limit_name(_SBX_LIMIT_MAX), "?");
	assert_int_equal(sbx_limit_resource(_SBX_LIMIT_MAX), -1);
	assert_int_equal(sbx_limit_from_string(NULL, &which), -EINVAL);
	assert_int_equal(sbx_limit_resource(SBX_LIMIT_NPROC), RLIMIT_NPROC);
	assert_int_equal(sbx_limit_resource(SBX_LIMIT_AS), RLIMIT_AS);
}

static void the_callers_own_are_read(void **state)
{
	unsigned long long max[_SBX_LIMIT_MAX];
	struct rlimit lim;
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(sbx_limits_read(max, &e), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_int_equal(max[SBX_LIMIT_NOFILE], lim.rlim_max);
}

/* Plans with these limits on a machine where nofile may be 1000. */
static int plan_with(struct sbx_plan *plan, const struct sbx_limit *limits, size_t n,
	struct sbx_error *e)
{
	struct sbx_policy p = { .workdir = "/home/u/p",
		.agent = "generic",
		.limits = limits,
		.n_limits = n };
	struct sbx_host h;
	int r;

	t_host_debian(&h, "/home/u/p");
	h.max[SBX_LIMIT_NOFILE] = 1000;
	r = sbx_plan_build(plan, &p, &h, e);
	sbx_host_done(&h);
	return r;
}

static char *words_of(const struct sbx_plan *plan)
{
	struct sbx_strv argv = { 0 };
	char *word;

	sbx_init_words(&argv, &(struct sbx_init_fds){ 0 }, plan, 0);
	assert_int_equal(argv.n, SBX_INIT_WORDS);
	assert_string_equal(argv.v[argv.n - 1], "--");
	word = sbx_xstrdup(argv.v[argv.n - 2]);
	sbx_strv_done(&argv);
	return word;
}

static void of_two_of_a_kind_the_last_counts(void **state)
{
	const struct sbx_limit limits[] = { { SBX_LIMIT_NOFILE, 64 },
		{ SBX_LIMIT_FSIZE, 5 }, { SBX_LIMIT_NOFILE, 1000 } };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	size_t n = 0;

	(void)state;
	assert_int_equal(plan_with(&plan, limits, SBX_ARRAY_SIZE(limits), &e), 0);
	for (size_t i = 0; i < plan.n; i++)
		n += plan.ops[i].kind == SBX_OP_LIMIT;
	assert_int_equal(n, 2);
	assert_string_equal(t_find_op(&plan, "nofile")->src, "1000");
	assert_string_equal(t_find_op(&plan, "fsize")->src, "5");
	{
		SBX_CLEANUP_FREE char *word = words_of(&plan);

		assert_string_equal(word, "1=5,7=1000");
	}
	sbx_plan_done(&plan);
}

static void without_any_there_is_a_word_that_says_so(void **state)
{
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(plan_with(&plan, NULL, 0, &e), 0);
	{
		SBX_CLEANUP_FREE char *word = words_of(&plan);

		assert_string_equal(word, "-");
	}
	sbx_plan_done(&plan);
}

static void more_than_the_callers_own_is_refused(void **state)
{
	const struct sbx_limit limits[] = { { SBX_LIMIT_NOFILE, 1001 } };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(plan_with(&plan, limits, 1, &e), -EPERM);
	assert_int_equal(e.code, SBX_E_LIMIT);
	assert_non_null(strstr(e.message, "nofile: 1001 is above"));
	assert_non_null(strstr(e.message, "1000"));
	assert_non_null(strstr(e.remedy, "prlimit"));
	assert_int_equal(plan.n, 0);
	sbx_error_done(&e);
}

static void a_kind_that_is_none_is_refused(void **state)
{
	const struct sbx_limit limits[] = { { _SBX_LIMIT_MAX, 1 } };
	struct sbx_policy p = { .limits = limits, .n_limits = 1 };
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(sbx_policy_check(&p, &e), -EINVAL);
	assert_int_equal(e.code, SBX_E_LIMIT);
	sbx_error_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(the_callers_own_are_read),
		cmocka_unit_test(of_two_of_a_kind_the_last_counts),
		cmocka_unit_test(without_any_there_is_a_word_that_says_so),
		cmocka_unit_test(more_than_the_callers_own_is_refused),
		cmocka_unit_test(a_kind_that_is_none_is_refused),
	};

	return parse() + cmocka_run_group_tests(tests, NULL, NULL);
}
