#include "path.h"
#include "t.h"

static void all_seven_are_there(void **state)
{
	static const char *const names[] = { "claude", "codex", "gemini", "opencode",
		"agent", "kiro", "generic" };
	size_t n;

	(void)state;
	sbx_agents(&n);
	assert_int_equal(n, SBX_ARRAY_SIZE(names));
	for (size_t i = 0; i < n; i++)
		assert_string_equal(sbx_agent_find(names[i])->name, names[i]);
	assert_ptr_equal(sbx_agent_find(NULL), sbx_agent_find("generic"));
	assert_null(sbx_agent_find("cursor"));
}

/* A state directory bound whole is how three escapes went (research: daemon, queue, hooks). */
static void no_state_root_is_bound_whole(void **state)
{
	const struct sbx_agent *a;
	size_t n;

	(void)state;
	a = sbx_agents(&n);
	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; a[i].roots[r]; r++)
			for (const struct sbx_agent_path *p = a[i].paths; p->path; p++) {
				if (p->mode == SBX_PATH_STATE)
					assert_string_not_equal(p->path, a[i].roots[r]);
				if (p->mode == SBX_PATH_STATE)
					assert_null(strstr(p->path, "daemon"));
			}
}

/* Everything bound lies in a root, so that no work dir can be chosen inside it. */
static void every_path_lies_in_a_root(void **state)
{
	const struct sbx_agent *a;
	size_t n;

	(void)state;
	a = sbx_agents(&n);
	for (size_t i = 0; i < n; i++)
		for (const struct sbx_agent_path *p = a[i].paths; p->path; p++) {
			bool inside = p->path[0] == '/' || p->mode == SBX_PATH_COPY;

			for (size_t r = 0; a[i].roots[r]; r++)
				inside |= sbx_path_is_beneath(p->path, a[i].roots[r]);
			if (!inside)
				fail_msg("%s: %s lies in no root", a[i].name, p->path);
			assert_non_null(p->why);
			assert_string_not_equal(sbx_path_mode_name(p->mode), "?");
		}
}

static void what_runs_code_is_never_writable(void **state)
{
	const struct sbx_agent *a;
	size_t n;

	(void)state;
	a = sbx_agents(&n);
	for (size_t i = 0; i < n; i++)
		for (const struct sbx_agent_path *p = a[i].paths; p->path; p++) {
			if (p->mode != SBX_PATH_STATE)
				continue;
			for (const struct sbx_agent_path *q = a[i].paths; q->path; q++)
				if (q->mode == SBX_PATH_EXEC)
					assert_false(
						sbx_path_is_beneath(q->path, p->path));
		}
}

static void rows_are_complete(void **state)
{
	const struct sbx_agent *a;
	const struct sbx_protected *prot;
	size_t n;

	(void)state;
	a = sbx_agents(&n);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(a[i].why);
		assert_true(a[i].command != NULL || strcmp(a[i].name, "generic") == 0);
		for (size_t k = 0; a[i].env[k]; k++)
			assert_true(sbx_env_name_valid(a[i].env[k]));
	}
	prot = sbx_protected_paths(&n);
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++)
		assert_true(prot[i].path[0] != '/' && prot[i].why != NULL);
}

static bool has_id(const char *const *words)
{
	for (; words && *words; words++)
		if (strstr(*words, "{}"))
			return true;
	return false;
}

static bool is_among(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* An id is asked for again by those that are given one, and by no other. */
static void conversations_are_taken_up(void **state)
{
	const struct sbx_agent *a;
	size_t n;

	(void)state;
	a = sbx_agents(&n);
	for (size_t i = 0; i < n; i++) {
		const struct sbx_agent_resume *r = a[i].resume;

		assert_int_equal(r == NULL, strcmp(a[i].name, "generic") == 0);
		if (r == NULL)
			continue;
		assert_true(r->again[0] != NULL && r->own[0] != NULL && r->why != NULL);
		assert_int_equal(has_id(r->start), r->start != NULL);
		assert_int_equal(has_id(r->again), r->start != NULL);
		/* the user may say it himself with the same word */
		if (!is_among(r->own, r->again[0]))
			fail_msg("%s: %s is none of its own words", a[i].name,
				r->again[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_seven_are_there),
		cmocka_unit_test(no_state_root_is_bound_whole),
		cmocka_unit_test(every_path_lies_in_a_root),
		cmocka_unit_test(what_runs_code_is_never_writable),
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(conversations_are_taken_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
