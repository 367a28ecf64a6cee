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

static void a_bind_that_would_not_be_writable_is_refused(void **state)
{
	static const struct {
		const char *path;
		bool rw;
		enum sbx_fs fs;
		bool refused;
	} rows[] = {
		{ "/w/p/.claude", true, SBX_FS_RW, true },
		{ "/w/p/.git/hooks", true, SBX_FS_RW, true },
		{ "/w/p", true, SBX_FS_RO, true },
		{ "/w/p/.claude", false, SBX_FS_RW, false },
		{ "/w/p/src", true, SBX_FS_RO, false },
		{ "/w/p", true, SBX_FS_RW, false },
		{ "/w/p/.claude", true, SBX_FS_RO, false }, /* nothing is in its way */
	};

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		struct sbx_policy p = { .fs = rows[i].fs };
		struct sbx_plan plan = { 0 };
		struct sbx_error e = { 0 };
		struct sbx_host h;
		int r;

		t_host_debian(&h, "/w/p");
		t_host_dir(&h, "/w/p/.git");
		t_host_dir(&h, "/w/p/.git/hooks");
		t_host_dir(&h, "/w/p/.claude");
		h.binds = sbx_xcalloc(1, sizeof(*h.binds));
		h.binds[0] = (struct sbx_opened){
			.real = sbx_xstrdup(rows[i].path), .fd = -1, .rw = rows[i].rw
		};
		h.n_binds = 1;
		r = sbx_plan_build(&plan, &p, &h, &e);
		assert_int_equal(r < 0, rows[i].refused);
		if (rows[i].refused) {
			assert_int_equal(e.code, SBX_E_BIND_READ_ONLY);
			assert_non_null(strstr(e.message, rows[i].path));
			assert_non_null(e.remedy);
		}
		sbx_plan_done(&plan);
		sbx_error_done(&e);
		sbx_host_done(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_protected_paths_are_reserved),
		cmocka_unit_test(a_repository_is_made_only_where_allowed),
		cmocka_unit_test(a_bind_that_would_not_be_writable_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
