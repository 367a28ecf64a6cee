/* git's directories below a work dir, and those of a work dir that is a linked work tree. */
#include "gitdirs.h"
#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char *dir; /* is the home as well */
	struct sbx_host h;
};

static void make(const char *dir, const char *rel, const char *text)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, rel);
	int fd;

	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int setup(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));

	w->dir = t_mkdir();
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	t_rmdir(w->dir);
	sbx_host_done(&w->h);
	free(w);
	return 0;
}

/* The host as it is read with this work dir. */
static void read_host(struct world *w, const char *rel)
{
	SBX_CLEANUP_FREE char *work = sbx_path_join(w->dir, rel);
	char *env[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	struct sbx_policy p = { .workdir = work };
	struct sbx_host_opts o = { .home = w->dir, .environ = env, .bwrap = "" };
	struct sbx_error e = { 0 };

	if (sbx_host_read(&w->h, &p, &o, &e) < 0)
		fail_msg("%s", e.message);
}

static void submodules_are_found_by_any_name(void **state)
{
	struct world *w = *state;

	make(w->dir, "p/.git/HEAD", "ref: refs/heads/main\n");
	make(w->dir, "p/.git/modules/a/HEAD", "x");
	make(w->dir, "p/.git/modules/libs/b/HEAD", "x");
	make(w->dir, "p/.git/modules/a/modules/inner/HEAD", "x");
	make(w->dir, "p/.git/modules/none/config", "x");
	make(w->dir, "elsewhere/HEAD", "x");
	{
		SBX_CLEANUP_FREE char *link =
			sbx_path_join(w->dir, "p/.git/modules/link");

		assert_int_equal(symlink("../../../elsewhere", link), 0);
	}
	read_host(w, "p");
	assert_int_equal(w->h.modules.n, 3);
	assert_true(sbx_strv_contains(&w->h.modules, ".git/modules/a"));
	assert_true(sbx_strv_contains(&w->h.modules, ".git/modules/libs/b"));
	assert_true(sbx_strv_contains(&w->h.modules, ".git/modules/a/modules/inner"));
	assert_null(w->h.git.real);
}

static void linked_work_trees_are_found(void **state)
{
	struct world *w = *state;

	make(w->dir, "p/.git/HEAD", "ref: refs/heads/main\n");
	make(w->dir, "p/.git/worktrees/one/gitdir", "x");
	make(w->dir, "p/.git/worktrees/broken/HEAD", "x");
	read_host(w, "p");
	assert_int_equal(w->h.worktrees.n, 1);
	assert_string_equal(w->h.worktrees.v[0], ".git/worktrees/one");
}

/* A repository in REPO with a linked work tree in "tree", as git makes them. */
static void link_tree(struct world *w, const char *repo)
{
	SBX_CLEANUP_FREE char *admin = sbx_xasprintf("%s/.git/worktrees/tree", repo);
	SBX_CLEANUP_FREE char *head = sbx_xasprintf("%s/HEAD", admin);
	SBX_CLEANUP_FREE char *back = sbx_xasprintf("%s/gitdir", admin);
	SBX_CLEANUP_FREE char *common = sbx_xasprintf("%s/commondir", admin);
	SBX_CLEANUP_FREE char *object = sbx_xasprintf("%s/.git/objects/keep", repo);
	SBX_CLEANUP_FREE char *pointer = sbx_xasprintf("gitdir: %s/%s\n", w->dir, admin);
	SBX_CLEANUP_FREE char *to = sbx_xasprintf("%s/tree/.git\n", w->dir);

	make(w->dir, head, "ref: refs/heads/tree\n");
	make(w->dir, back, to);
	make(w->dir, common, "../..\n");
	make(w->dir, object, "");
	make(w->dir, "tree/.git", pointer);
}

static const struct sbx_op *op_at(
	const struct sbx_plan *plan, const char *fmt, const char *dir)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s%s", dir, fmt);

	return t_find_op(plan, path);
}

static void the_repository_of_a_linked_tree_is_bound(void **state)
{
	struct world *w = *state;
	struct sbx_policy p = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	const struct sbx_op *op;

	link_tree(w, "repo");
	read_host(w, "tree");
	assert_non_null(w->h.git.real);
	assert_string_equal(w->h.git_admin, "worktrees/tree");
	assert_int_equal(sbx_plan_build(&plan, &p, &w->h, &e), 0);
	assert_int_equal(op_at(&plan, "/repo/.git", w->dir)->kind, SBX_OP_RO_BIND);
	assert_int_equal(op_at(&plan, "/repo/.git/objects", w->dir)->kind, SBX_OP_BIND);
	assert_int_equal(
		op_at(&plan, "/repo/.git/worktrees/tree", w->dir)->kind, SBX_OP_BIND);
	op = op_at(&plan, "/repo/.git/worktrees/tree/commondir", w->dir);
	assert_int_equal(op->kind, SBX_OP_RO_BIND);
	assert_int_equal(op->reserve, SBX_RESERVE_NONE);
	op = op_at(&plan, "/repo/.git/worktrees/tree/config.worktree", w->dir);
	assert_int_equal(op->kind, SBX_OP_RO_BIND);
	assert_int_equal(op->reserve, SBX_RESERVE_FILE);
	assert_null(op_at(&plan, "/repo/.git/refs", w->dir)); /* there is none */
	sbx_plan_done(&plan);

	p.fs = SBX_FS_RO;
	assert_int_equal(sbx_plan_build(&plan, &p, &w->h, &e), 0);
	assert_int_equal(op_at(&plan, "/repo/.git", w->dir)->kind, SBX_OP_RO_BIND);
	assert_null(op_at(&plan, "/repo/.git/objects", w->dir));
	sbx_plan_done(&plan);
}

/* Else whoever can write to a work dir could name any repository of the user's. */
static const struct row {
	const char *name;
	const char *file, *text;
} rows[] = {
	{ "a repository that knows nothing of it", "repo/.git/worktrees/tree/gitdir",
		"../../../../other/.git\n" },
	{ "a commondir that leads elsewhere", "repo/.git/worktrees/tree/commondir",
		"../../../../other/.git\n" },
	{ "a pointer to a repository itself", "tree/.git", "gitdir: ../repo/.git\n" },
	{ "a pointer to a submodule's", "tree/.git", "gitdir: ../repo/.git/modules/m\n" },
	{ "no pointer", "tree/.git", "nothing of the kind\n" },
	{ "an empty pointer", "tree/.git", "" },
	{ "a pointer to nothing", "tree/.git",
		"gitdir: /nonexistent/.git/worktrees/tree\n" },
};

static void one_that_does_not_agree_is_left_out(void **state)
{
	const struct row *r = *state;
	struct world *w;
	void *s;

	setup(&s);
	w = s;
	link_tree(w, "repo");
	make(w->dir, "other/.git/HEAD", "x");
	make(w->dir, "repo/.git/modules/m/HEAD", "x");
	make(w->dir, r->file, r->text);
	read_host(w, "tree");
	assert_null(w->h.git.real);
	teardown(&s);
}

T_ROWS(disagreements, rows, one_that_does_not_agree_is_left_out)

static void no_repository_among_credentials_is_bound(void **state)
{
	struct world *w = *state;

	link_tree(w, ".ssh");
	read_host(w, "tree");
	assert_null(w->h.git.real);
}

static void a_link_in_the_repository_stops_the_start(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *objects = sbx_path_join(w->dir, "repo/.git/objects");
	SBX_CLEANUP_FREE char *aside = sbx_path_join(w->dir, "repo/.git/was");
	struct sbx_policy p = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };

	link_tree(w, "repo");
	assert_int_equal(rename(objects, aside), 0);
	assert_int_equal(symlink("../../.ssh", objects), 0);
	read_host(w, "tree");
	assert_true(sbx_plan_build(&plan, &p, &w->h, &e) < 0);
	assert_int_equal(e.code, SBX_E_PATH_SYMLINK);
	sbx_error_done(&e);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(submodules_are_found_by_any_name),
		CASE(linked_work_trees_are_found),
		CASE(the_repository_of_a_linked_tree_is_bound),
		CASE(no_repository_among_credentials_is_bound),
		CASE(a_link_in_the_repository_stops_the_start),
	};

	return disagreements() + cmocka_run_group_tests(tests, NULL, NULL);
}
