/* Protected paths that are absent: what the plan says about them. */
#include "protect.h"
#include "t.h"

/* What is reserved at path, and how it looks inside. */
static void must_reserve(const struct sbx_plan *plan, const char *path,
	enum sbx_reserve reserve, enum sbx_op_kind kind)
{
	const struct sbx_op *op = t_find_op(plan, path);

	if (op == NULL)
		fail_msg("%s is not there", path);
	assert_int_equal(op->reserve, reserve);
	assert_int_equal(op->kind, kind);
}

static void absent_protected_paths_are_reserved(void **state)
{
	struct sbx_policy p = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	struct sbx_host h;

	(void)state;
	t_host_debian(&h, "/w/p");
	t_host_dir(&h, "/w/p/.git");
	t_host_dir(&h, "/w/p/.git/hooks");
	t_host_dir(&h, "/w/p/.cursor");
	sbx_host_change_fact(&h, "/w/p/.cursor")->reserved = true; /* another sandbox's */
	t_host_dir(&h, "/w/p/.kiro");
	sbx_host_add_fact(&h, "/w/p/.gemini", SBX_FT_ABSENT, SBX_FT_ABSENT, NULL, NULL);
	sbx_host_change_fact(&h, "/w/p/.gemini")->closed = true;
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	must_reserve(&plan, "/w/p/.git/hooks", SBX_RESERVE_NONE, SBX_OP_RO_BIND);
	must_reserve(&plan, "/w/p/.kiro", SBX_RESERVE_NONE, SBX_OP_RO_BIND);
	must_reserve(&plan, "/w/p/.git/commondir", SBX_RESERVE_FILE, SBX_OP_RO_BIND);
	must_reserve(&plan, "/w/p/.claude", SBX_RESERVE_DIR, SBX_OP_RO_BIND);
	must_reserve(&plan, "/w/p/.cursor", SBX_RESERVE_DIR, SBX_OP_RO_BIND);
	must_reserve(&plan, "/w/p/.mcp.json", SBX_RESERVE_SOCKET, SBX_OP_TEXT);
	/* where this user may make nothing, nobody inside may */
	assert_null(t_find_op(&plan, "/w/p/.gemini"));
	sbx_plan_done(&plan);

	p.fs = SBX_FS_RO;
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_null(t_find_op(&plan, "/w/p/.claude"));
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

static void a_repository_is_made_only_where_allowed(void **state)
{
	struct sbx_policy p = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	struct sbx_host h;

	(void)state;
	t_host_debian(&h, "/w/p");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	must_reserve(&plan, "/w/p/.git", SBX_RESERVE_DIR, SBX_OP_RO_BIND);
	assert_null(t_find_op(&plan, "/w/p/.git/hooks"));
	sbx_plan_done(&plan);
	p.allow = SBX_ALLOW_GIT_INIT;
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_null(t_find_op(&plan, "/w/p/.git"));
	must_reserve(&plan, "/w/p/.claude", SBX_RESERVE_DIR, SBX_OP_RO_BIND);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_protected_paths_are_reserved),
		cmocka_unit_test(a_repository_is_made_only_where_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
