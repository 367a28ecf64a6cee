#include "t.h"

#include "cgroup.h"
#include "cgroup_find.h"

static const struct own_row {
	const char *name, *mountinfo, *cgroup;
	const char *dir, *top; /* NULL: there is none */
} own_rows[] = {
	{ "systemd",
		"30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
		"0::/user.slice/user-1000.slice/x.scope\n",
		"/sys/fs/cgroup/user.slice/user-1000.slice/x.scope", "/sys/fs/cgroup" },
	{ "hybrid",
		"31 30 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
		"40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
		"8:pids:/a\n0::/b\n", "/sys/fs/cgroup/unified/b",
		"/sys/fs/cgroup/unified" },
	{ "the topmost", "30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"0::/\n", "/sys/fs/cgroup", "/sys/fs/cgroup" },
	{ "a part of the tree", "30 22 0:27 /pod /cg rw - cgroup2 none rw\n",
		"0::/pod/a\n", "/cg/a", "/cg" },
	{ "that part itself", "30 22 0:27 /pod /cg rw - cgroup2 none rw\n", "0::/pod\n",
		"/cg", "/cg" },
	{ "another part", "30 22 0:27 /pod /cg rw - cgroup2 none rw\n", "0::/podium\n",
		NULL, NULL },
	{ "the one that shows it",
		"30 22 0:27 /pod /cg rw - cgroup2 none rw\n"
		"31 22 0:27 / /all rw - cgroup2 none rw",
		"0::/a", "/all/a", "/all" },
	{ "outside of the namespace", "30 22 0:27 / /cg rw - cgroup2 none rw\n",
		"0::/../a\n", NULL, NULL },
	{ "just above it", "30 22 0:27 / /cg rw - cgroup2 none rw\n", "0::/..\n", NULL,
		NULL },
	{ "only cgroup v1", "31 30 0:28 / /cg rw - cgroup cgroup rw,pids\n", "1:pids:/\n",
		NULL, NULL },
	{ "not mounted", "31 30 0:28 / / rw - ext4 /dev/vda rw\n", "0::/\n", NULL, NULL },
	{ "a name that only looks like it",
		"31 30 0:28 / /a rw - fuse - cgroup2 rw\n32 30 0:28 / /b rw - tmpfs x rw\n",
		"0::/\n", NULL, NULL },
	{ "blanks in its name", "30 22 0:27 / /c\\040g rw - cgroup2 none rw\n", "0::/\n",
		NULL, NULL },
	{ "nothing at all", "", "", NULL, NULL },
	{ "cut short", "30 22 - cgroup2 ", "0::/", NULL, NULL },
};

static void own_row(void **state)
{
	const struct own_row *r = *state;
	SBX_CLEANUP_FREE char *dir = NULL, *top = NULL;
	bool found = sbx_cgroup_own(r->mountinfo, r->cgroup, &dir, &top);

	assert_int_equal(found, r->dir != NULL);
	if (found) {
		assert_string_equal(dir, r->dir);
		assert_string_equal(top, r->top);
	} else {
		assert_null(dir);
		assert_null(top);
	}
}

T_ROWS(own, own_rows, own_row)

static const struct remedy_row {
	const char *name;
	enum sbx_cgroup_why why;
	struct sbx_cgroup_machine m;
	const char *word;
} remedy_rows[] = {
	{ "a user of systemd", SBX_CGROUP_NO_RIGHT, { .systemd = true },
		"systemd-run --user --scope -p Delegate=yes -- sbx run" },
	{ "root of it", SBX_CGROUP_BUSY, { .systemd = true, .root = true },
		"systemd-run --scope -p Delegate=yes -- sbx run" },
	{ "controllers of v1", SBX_CGROUP_NO_CONTROLLER,
		{ .systemd = true, .bound = true }, "cgroup_no_v1=all" },
	{ "v1 is no matter once they are there", SBX_CGROUP_NO_RIGHT,
		{ .systemd = true, .bound = true }, "systemd-run" },
	{ "a container", SBX_CGROUP_NO_RIGHT, { .container = true, .systemd = true },
		"--cgroupns=private" },
	{ "nothing mounted", SBX_CGROUP_NO_MOUNT, { 0 }, "mount -t cgroup2" },
	{ "not enabled above", SBX_CGROUP_NO_CONTROLLER, { 0 }, "subtree_control" },
	{ "by hand", SBX_CGROUP_NO_RIGHT, { 0 }, "chown" },
};

static void remedy_row(void **state)
{
	const struct remedy_row *r = *state;
	const char *text = sbx_cgroup_remedy(r->why, &r->m);

	if (strstr(text, r->word) == NULL)
		fail_msg("'%s' does not speak of '%s'", text, r->word);
}

T_ROWS(remedies, remedy_rows, remedy_row)

static void controllers_are_whole_words(void **state)
{
	(void)state;
	assert_true(sbx_cgroup_has("cpu memory pids\n", "memory pids"));
	assert_true(sbx_cgroup_has("pids\n", "pids"));
	assert_true(sbx_cgroup_has("", ""));
	assert_false(sbx_cgroup_has("cpu memory\n", "memory pids"));
	assert_false(sbx_cgroup_has("cpuset\n", "cpu"));
	assert_false(sbx_cgroup_has("cpu\n", "cpuset"));
	assert_false(sbx_cgroup_has("", "pids"));
}

static void the_plan_says_what_is_set(void **state)
{
	struct sbx_plan plan = { 0 };

	(void)state;
	sbx_cgroup_add(&plan, &(struct sbx_policy){ 0 });
	assert_int_equal(plan.n, 0);
	sbx_cgroup_add(&plan, &(struct sbx_policy){ .memory = 1ULL << 40, .pids = 7 });
	assert_int_equal(plan.n, 4);
	for (size_t i = 0; i < plan.n; i++)
		assert_int_equal(plan.ops[i].kind, SBX_OP_CGROUP);
	assert_string_equal(t_find_op(&plan, "memory.max")->src, "1099511627776");
	assert_string_equal(t_find_op(&plan, "memory.swap.max")->src, "0");
	assert_string_equal(t_find_op(&plan, "memory.oom.group")->src, "1");
	assert_string_equal(t_find_op(&plan, "pids.max")->src, "7");
	sbx_plan_done(&plan);
}

static void a_plan_without_any_makes_none(void **state)
{
	struct sbx_plan plan = { 0 };
	struct sbx_cgroup g = { 0 };
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(sbx_cgroup_make(&g, &plan, &e), 0);
	assert_int_equal(g.procs, -1);
	assert_int_equal(g.keeper, 0);
	assert_false(sbx_cgroup_starved(&g));
	sbx_cgroup_end(&g, 0);
}

/* On any machine: there is no such controller. */
static void what_cannot_be_had_is_an_error_with_a_remedy(void **state)
{
	struct sbx_plan plan = { 0 };
	struct sbx_cgroup g = { .procs = 77 };
	struct sbx_error e = { 0 };

	(void)state;
	sbx_plan_add(&plan, SBX_OP_CGROUP, "1", "nonsense.max", "x");
	assert_true(sbx_cgroup_make(&g, &plan, &e) < 0);
	assert_int_equal(g.procs, 77);
	assert_int_equal(e.code, SBX_E_CGROUP);
	assert_non_null(strstr(e.message, "nonsense"));
	assert_non_null(e.remedy);
	sbx_error_done(&e);
	sbx_plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controllers_are_whole_words),
		cmocka_unit_test(the_plan_says_what_is_set),
		cmocka_unit_test(a_plan_without_any_makes_none),
		cmocka_unit_test(what_cannot_be_had_is_an_error_with_a_remedy),
	};

	return own() + remedies() + cmocka_run_group_tests(tests, NULL, NULL);
}
