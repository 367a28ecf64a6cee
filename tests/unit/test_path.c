#include "path.h"
#include "t.h"

static const struct normal_row {
	const char *name, *in, *out;
} normal_rows[] = {
	{ "root", "/", "/" },
	{ "plain", "/a/b", "/a/b" },
	{ "trailing slash", "/a/b/", "/a/b" },
	{ "double slash", "//a///b", "/a/b" },
	{ "dot", "/a/./b/.", "/a/b" },
	{ "dotdot", "/a/../b", "/b" },
	{ "dotdot above root", "/../../a", "/a" },
	{ "dotdot to root", "/a/..", "/" },
	{ "three dots are a name", "/a/.../b", "/a/.../b" },
	{ "newline and space", "/a b/c\nd", "/a b/c\nd" },
	{ "relative", "a/b", NULL },
	{ "empty", "", NULL },
};

static void normal_row(void **state)
{
	const struct normal_row *r = *state;
	SBX_CLEANUP_FREE char *got = sbx_path_normalise(r->in);

	if (r->out == NULL)
		assert_null(got);
	else
		assert_string_equal(got, r->out);
}

static const struct beneath_row {
	const char *name, *path, *dir;
	bool want;
} beneath_rows[] = {
	{ "itself", "/a/b", "/a/b", true },
	{ "child", "/a/b/c", "/a/b", true },
	{ "parent", "/a", "/a/b", false },
	{ "same prefix, other name", "/a/bc", "/a/b", false },
	{ "root holds all", "/x", "/", true },
	{ "root itself", "/", "/", true },
};

static void beneath_row(void **state)
{
	const struct beneath_row *r = *state;

	assert_int_equal(sbx_path_is_beneath(r->path, r->dir), r->want);
}

static const struct depth_row {
	const char *name, *path, *parent;
	size_t depth;
} depth_rows[] = {
	{ "root", "/", "/", 0 },
	{ "one", "/a", "/", 1 },
	{ "three", "/a/b/c", "/a/b", 3 },
};

static void depth_row(void **state)
{
	const struct depth_row *r = *state;
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(r->path);

	assert_int_equal(sbx_path_depth(r->path), r->depth);
	assert_string_equal(parent, r->parent);
}

static void join_ignores_leading_slash(void **state)
{
	SBX_CLEANUP_FREE char *a = sbx_path_join("/h", ".ssh/id");
	SBX_CLEANUP_FREE char *b = sbx_path_join("/", "/etc//x");

	(void)state;
	assert_string_equal(a, "/h/.ssh/id");
	assert_string_equal(b, "/etc/x");
}

T_ROWS(normalise, normal_rows, normal_row)
T_ROWS(beneath, beneath_rows, beneath_row)
T_ROWS(depth, depth_rows, depth_row)

int main(void)
{
	const struct CMUnitTest join[] = { cmocka_unit_test(join_ignores_leading_slash) };

	return normalise() + beneath() + depth() +
	       cmocka_run_group_tests(join, NULL, NULL);
}
