/* What the residue contract promises beyond single kinds: when, where, how much. */
#include "protect.h"
#include "residue_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

/* The first thing after the mark: no tick lies between. */
static void nothing_is_missed_in_the_first_tick(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		SBX_CLEANUP_FREE char *name = sbx_xasprintf("f%d", i);
		struct sbx_residue_mark m;
		struct sbx_residue r;

		res_begin(&m);
		assert_int_equal(mkfifo(name, 0600), 0);
		res_collect(&r, &m);
		assert_true(res_has(&r, SBX_RESIDUE_FIFO, name, NULL));
		sbx_residue_done(&r);
	}
}

static void each_protected_path_is_named_below(void **state)
{
	const struct sbx_protected *rows;
	size_t n;

	(void)state;
	rows = sbx_protected_paths(&n);
	for (size_t i = 0; i < n; i++) {
		SBX_CLEANUP_FREE char *top = sbx_xasprintf("deep/%zu", i);
		SBX_CLEANUP_FREE char *rel = sbx_xasprintf("%s/%s", top, rows[i].path);
		SBX_CLEANUP_FREE char *path = sbx_path_join(res_work, rel);
		SBX_CLEANUP_FREE char *hook = sbx_xasprintf("%s/pre-commit", rel);
		SBX_CLEANUP_FREE char *tree = sbx_xasprintf("%s/t/commondir", rel);
		bool found = false;
		struct sbx_residue_mark m;
		struct sbx_residue r;

		/* What is above it is not what is meant. */
		res_make_above(rel);
		res_next_tick();
		res_begin(&m);
		res_put_below(hook, "");
		res_put_below(tree, "");
		res_collect(&r, &m);
		for (size_t k = 0; k < r.n; k++)
			found |= sbx_path_is_beneath(r.items[k].path, path) ||
				 sbx_path_is_beneath(path, r.items[k].path);
		if (!found)
			fail_msg("%s is not named", rows[i].path);
		sbx_residue_done(&r);
	}
}

/* A number of a removed file is given to the next one. */
static void a_number_used_again_is_another_file(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_begin(&m);
	assert_int_equal(unlink(".git/config"), 0);
	res_next_tick();
	res_put(".git/config", "");
	res_collect(&r, &m);
	assert_true(res_has(&r, SBX_RESIDUE_LOOSE, ".git/config", NULL));
	sbx_residue_done(&r);
}

/* Its time is a mark that anybody can set. */
static void make_placeholder(const char *path, const char *text)
{
	const struct timespec old[2] = { { 500000000, 0 }, { 500000000, 0 } };

	res_put_below(path, text);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

static void a_placeholder_of_another_session_is_nothing(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	make_placeholder(".git/commondir", ".\n");
	make_placeholder(".mcp.json", "");
	for (size_t i = 0; i < res_plan.n; i++)
		if (strstr(res_plan.ops[i].dst, "commondir")) {
			res_plan.ops[i].text = ".\n";
			res_plan.ops[i].reserve = SBX_RESERVE_FILE;
		} else if (strstr(res_plan.ops[i].dst, ".mcp.json")) {
			res_plan.ops[i].reserve = SBX_RESERVE_FILE;
		}
	res_begin(&m);
	make_placeholder(".git/commondir", ".\n");
	make_placeholder(".mcp.json", "");
	res_collect(&r, &m);
	assert_int_equal(r.n, 0);
	sbx_residue_done(&r);

	/* Not what only looks like one: by what is in it, and by where it is. */
	res_begin(&m);
	make_placeholder(".git/commondir", "x");
	make_placeholder("sub/.mcp.json", "");
	res_collect(&r, &m);
	assert_int_equal(r.n, 3);
	assert_true(res_has(&r, SBX_RESIDUE_LOOSE, ".git/commondir", NULL));
	assert_true(res_has(&r, SBX_RESIDUE_GIT_SETTINGS, ".git/commondir", NULL));
	assert_true(res_has(&r, SBX_RESIDUE_PROTECTED, "sub/.mcp.json", NULL));
	sbx_residue_done(&r);
}

/* Nor is it a way to hide what lies in a directory. */
static void a_forged_mark_hides_nothing(void **state)
{
	static const char *const paths[] = { "d/fifo", "d", "sub/.claude/settings.json" };
	const struct timespec old[2] = { { 500000000, 0 }, { 500000000, 0 } };
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_begin(&m);
	res_make_above("d/x");
	assert_int_equal(mkfifo("d/fifo", 0600), 0);
	res_put("sub/.claude/settings.json", "evil");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(paths); i++)
		assert_int_equal(utimensat(AT_FDCWD, paths[i], old, 0), 0);
	res_collect(&r, &m);
	assert_int_equal(r.n, 2);
	assert_true(res_has(&r, SBX_RESIDUE_FIFO, "d/fifo", NULL));
	assert_true(
		res_has(&r, SBX_RESIDUE_PROTECTED, "sub/.claude/settings.json", NULL));
	sbx_residue_done(&r);
}

/* The host removed the placeholder, and the name was free. */
static void what_stands_where_a_placeholder_stood_is_told(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	for (size_t i = 0; i < res_plan.n; i++)
		if (strstr(res_plan.ops[i].dst, ".mcp.json"))
			res_plan.ops[i].reserve = SBX_RESERVE_SOCKET;
	res_begin(&m);
	res_put(".mcp.json", "evil");
	res_collect(&r, &m);
	assert_int_equal(r.n, 2);
	assert_true(res_has(
		&r, SBX_RESIDUE_LOOSE, ".mcp.json", "made where a placeholder stood"));
	assert_true(res_has(&r, SBX_RESIDUE_PROTECTED, ".mcp.json", NULL));
	sbx_residue_done(&r);
}

static void a_clock_that_is_set_back_hides_nothing(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_begin(&m);
	assert_int_equal(mkfifo("f", 0600), 0);
	/* As if it had been ten seconds later then. */
	m.since.tv_sec += 10;
	m.real.tv_sec += 10;
	res_collect(&r, &m);
	assert_true(res_has(&r, SBX_RESIDUE_FIFO, "f", NULL));
	sbx_residue_done(&r);
}

static void a_cut_time_counts_as_the_end_of_its_unit(void **state)
{
	const struct timespec since = { 101, 12345678 };
	static const struct {
		long long sec;
		unsigned nsec;
		bool is;
	} rows[] = { { 99, 0, false }, { 100, 0, true }, { 101, 0, true },
		{ 101, 10000000, true }, { 101, 12345000, true }, { 101, 12345600, true },
		{ 101, 12344000, false }, { 101, 12345500, false },
		{ 101, 12345677, false }, { 101, 12345678, true },
		{ 101, 12345679, true }, { 100, 990000000, false } };

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		const struct statx_timestamp t = { .tv_sec = rows[i].sec,
			.tv_nsec = rows[i].nsec };

		assert_int_equal(residue_since(&t, &since), rows[i].is);
	}
}

/* As an ordinary user, also when root runs the tests. */
static void collect_as_user(struct sbx_residue *r, struct sbx_residue_mark *m)
{
	bool root = geteuid() == 0;

	if (root)
		assert_int_equal(seteuid(NOBODY), 0);
	res_collect(r, m);
	if (root)
		assert_int_equal(seteuid(0), 0);
}

static void what_cannot_be_read_is_named(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_make_above("closed/");
	res_make_above("passable/");
	assert_int_equal(chmod("closed", 0), 0);
	assert_int_equal(chmod("passable", 0111), 0);
	res_next_tick();
	res_begin(&m);
	res_make_above("new/");
	assert_int_equal(chmod("new", 0), 0);
	collect_as_user(&r, &m);
	assert_true(res_has(&r, SBX_RESIDUE_UNREADABLE, "new", "Permission denied"));
	assert_true(res_has(&r, SBX_RESIDUE_UNREADABLE, "passable", "Permission denied"));
	/* Nobody could enter it, the command included. */
	assert_false(res_has(&r, SBX_RESIDUE_UNREADABLE, "closed", NULL));
	assert_int_equal(r.n, 2);
	sbx_residue_done(&r);
	chmod("closed", 0700);
	chmod("passable", 0700);
	chmod("new", 0700);
}

static void a_place_that_cannot_be_looked_at_is_not_gone(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_begin(&m);
	assert_int_equal(chmod(".git", 0), 0);
	collect_as_user(&r, &m);
	assert_int_equal(chmod(".git", 0755), 0);
	assert_true(
		res_has(&r, SBX_RESIDUE_UNREADABLE, ".git/config", "Permission denied"));
	assert_false(res_has(&r, SBX_RESIDUE_LOOSE, NULL, NULL));
	sbx_residue_done(&r);
}

static void links_are_not_followed(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_make_above("../beside/x");
	assert_int_equal(symlink("../beside", "way"), 0);
	res_next_tick();
	res_begin(&m);
	assert_int_equal(mkfifo("way/f", 0600), 0);
	res_collect(&r, &m);
	assert_int_equal(r.n, 0);
	sbx_residue_done(&r);
}

static void the_list_has_an_end(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_begin(&m);
	for (int i = 0; i < SBX_RESIDUE_ITEMS_MAX + 3; i++) {
		SBX_CLEANUP_FREE char *name = sbx_xasprintf("sub/f%d", i);

		assert_int_equal(mkfifo(name, 0600), 0);
	}
	res_collect(&r, &m);
	assert_int_equal(r.n, SBX_RESIDUE_ITEMS_MAX);
	assert_int_equal(r.more, 3);
	sbx_residue_done(&r);
}

static void too_many_links_are_said(void **state)
{
	struct residue_links *l = residue_links_new();
	struct sbx_residue r = { 0 };
	struct statx st = { .stx_nlink = 2 };

	(void)state;
	for (st.stx_ino = 0; st.stx_ino < RESIDUE_LINKS_MAX; st.stx_ino++)
		residue_links_see(l, &st, "/x");
	/* The second names make room again. */
	for (st.stx_ino = 0; st.stx_ino < RESIDUE_LINKS_MAX; st.stx_ino++)
		residue_links_see(l, &st, "/x");
	for (st.stx_ino = 0; st.stx_ino <= RESIDUE_LINKS_MAX; st.stx_ino++)
		residue_links_see(l, &st, "/y");
	residue_links_end(l, &r);
	assert_int_equal(r.more + r.n, RESIDUE_LINKS_MAX + 1);
	assert_int_equal(r.items[0].kind, SBX_RESIDUE_HARDLINK);
	sbx_residue_done(&r);
}

/* A state directory, an extra directory, a file; what is read-only is not looked at. */
static void every_writable_place_is_walked(void **state)
{
	SBX_CLEANUP_FREE char *state_dir = sbx_path_join(res_dir, "state/.claude");
	SBX_CLEANUP_FREE char *file = sbx_path_join(res_dir, "file");
	SBX_CLEANUP_FREE char *seen = sbx_path_join(res_dir, "state/.claude/f");
	SBX_CLEANUP_FREE char *readonly = sbx_path_join(res_dir, "ro");
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	res_make_above("../state/.claude/x");
	res_make_above("../ro/x");
	res_put("../file", "");
	res_next_tick();
	sbx_plan_add(&res_plan, SBX_OP_BIND, state_dir, "/home/u/.claude", "x");
	sbx_plan_add(&res_plan, SBX_OP_BIND, file, file, "x");
	sbx_plan_add(&res_plan, SBX_OP_RO_BIND, readonly, readonly, "x");
	res_begin(&m);
	assert_int_equal(m.n_roots, 3);
	assert_int_equal(mkfifo(seen, 0600), 0);
	assert_int_equal(mkfifo("../ro/f", 0600), 0);
	assert_int_equal(chmod(file, 04755), 0);
	res_collect(&r, &m);
	assert_int_equal(r.n, 2);
	assert_true(res_has(&r, SBX_RESIDUE_FIFO, "../state/.claude/f", NULL));
	assert_true(res_has(&r, SBX_RESIDUE_SETID, "../file", NULL));
	sbx_residue_done(&r);
}

/* One that the keeper makes for the session. */
static void a_reserved_directory_is_walked(void **state)
{
	SBX_CLEANUP_FREE char *late = sbx_path_join(res_dir, "late");
	struct sbx_residue_mark m;
	struct sbx_residue r;

	(void)state;
	sbx_plan_add(&res_plan, SBX_OP_BIND, late, "/home/u/late", "x")->reserve =
		SBX_RESERVE_DIR;
	res_begin(&m);
	res_make_above("../late/x");
	assert_int_equal(mkfifo("../late/f", 0600), 0);
	res_collect(&r, &m);
	assert_int_equal(r.n, 1);
	assert_true(res_has(&r, SBX_RESIDUE_FIFO, "../late/f", NULL));
	sbx_residue_done(&r);
	res_begin(&m);
	assert_int_equal(unlink("../late/f"), 0);
	assert_int_equal(rmdir("../late"), 0);
	res_collect(&r, &m);
	assert_int_equal(r.n, 0);
	sbx_residue_done(&r);
}

static void a_place_that_is_gone_is_an_error(void **state)
{
	struct sbx_residue_mark m;
	struct sbx_error e = { 0 };
	struct sbx_residue r;

	(void)state;
	sbx_plan_add(&res_plan, SBX_OP_BIND, "/nonexistent", "/nonexistent", "x");
	assert_int_equal(sbx_residue_begin(&m, &res_plan, &res_host, &e), -ENOENT);
	assert_int_equal(e.code, SBX_E_PATH_CHANGED);
	assert_non_null(strstr(e.message, "/nonexistent"));
	assert_non_null(e.remedy);
	sbx_error_done(&e);
	m = (struct sbx_residue_mark){ 0 };
	assert_int_equal(sbx_residue_collect(&r, &m, &e), -EINVAL);
	sbx_error_done(&e);
}

static void every_kind_has_its_words(void **state)
{
	(void)state;
	for (int i = 0; i < _SBX_RESIDUE_MAX; i++) {
		assert_true(strlen(sbx_residue_kind_name(i)) > 3);
		assert_true(strlen(sbx_residue_kind_why(i)) > 10);
		assert_true(strlen(sbx_residue_kind_mend(i)) > 8);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(
				sbx_residue_kind_name(i), sbx_residue_kind_name(k));
	}
	assert_string_equal(sbx_residue_kind_name(_SBX_RESIDUE_MAX), "?");
}

/* As git itself reads it. */
static const struct setting {
	const char *name, *text, *path; /* NULL: none */
} settings[] = {
	{ "plain", "[core]\nhooksPath = a\n", "a" },
	{ "same_line", "[Core] HOOKSPATH=a", "a" },
	{ "quoted", "[core]\n\thooksPath = \"a b\" # x\n", "a b" },
	{ "quoted_hash", "[core]\n\thooksPath = \"a#b\"\n", "a#b" },
	{ "half_quoted", "[core]\n\thooksPath = a\" b \" ; x\n", "a b " },
	{ "escaped", "[core]\n\thooksPath = a\\\\b\\\"\n", "a\\b\"" },
	{ "continued", "[core]\n\tbare = false\\\n\n\thooksPath = a\\\nb\n", "ab" },
	{ "later_section", "[user]\nname = x\n[core]\nhooksPath = a", "a" },
	{ "other_section", "[user]\nhooksPath = a\n", NULL },
	{ "subsection", "[core \"x\"]\nhooksPath = a\n", NULL },
	{ "comment", "[core]\n# hooksPath = a\n;hooksPath = a\n", NULL },
	{ "no_value", "[core]\nhooksPath\nbare = false\n", NULL },
	{ "husky", "[core]\nhooksPath = .husky/_\n", ".husky" },
};

static void hooks_path(void **state)
{
	const struct setting *row = *state;
	struct sbx_strv found = { 0 };

	res_setup(NULL);
	res_put(".git/config", row->text);
	residue_hooks_read(&found, res_work, &res_host);
	if (row->path) {
		SBX_CLEANUP_FREE char *path = sbx_path_join(res_work, row->path);

		assert_int_equal(found.n, 1);
		assert_string_equal(found.v[0], path);
	} else {
		assert_int_equal(found.n, 0);
	}
	sbx_strv_done(&found);
	res_teardown(NULL);
}

T_ROWS(hooks_paths, settings, hooks_path)

#define WITH_WORK(f) cmocka_unit_test_setup_teardown(f, res_setup, res_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORK(nothing_is_missed_in_the_first_tick),
		WITH_WORK(each_protected_path_is_named_below),
		WITH_WORK(a_number_used_again_is_another_file),
		WITH_WORK(a_placeholder_of_another_session_is_nothing),
		WITH_WORK(a_forged_mark_hides_nothing),
		WITH_WORK(what_stands_where_a_placeholder_stood_is_told),
		WITH_WORK(a_clock_that_is_set_back_hides_nothing),
		cmocka_unit_test(a_cut_time_counts_as_the_end_of_its_unit),
		WITH_WORK(what_cannot_be_read_is_named),
		WITH_WORK(a_place_that_cannot_be_looked_at_is_not_gone),
		WITH_WORK(links_are_not_followed),
		WITH_WORK(the_list_has_an_end),
		cmocka_unit_test(too_many_links_are_said),
		WITH_WORK(every_writable_place_is_walked),
		WITH_WORK(a_reserved_directory_is_walked),
		WITH_WORK(a_place_that_is_gone_is_an_error),
		cmocka_unit_test(every_kind_has_its_words),
	};

	return hooks_paths() + cmocka_run_group_tests(tests, NULL, NULL);
}
