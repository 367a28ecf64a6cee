/* What is looked for in a world that is not ours, and that it is only looked at. */
#include "here.h"
#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct scene world;
static char *top;

static void make(const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", world.tree.home, rel);
	SBX_CLEANUP_FREE char *dir = sbx_xstrdup(path);
	int fd;

	for (char *s = dir + 1; (s = strchr(s, '/')) != NULL; *s++ = '/') {
		*s = '\0';
		mkdir(dir, 0700);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	top = t_mkdir();
	world = (struct scene){ .root = sbx_xasprintf("%s/app/.sbx1", top),
		.tree = { .home = sbx_xstrdup(top),
			.work = sbx_xasprintf("%s/app", top) } };
	sbx_strv_add(&world.env, "LANG=C");
	sbx_strv_add(&world.env, "GITHUB_TOKEN=x");
	sbx_strv_add(&world.env, "ANTHROPIC_MODEL=x");
	make("app/file");
	make(".ssh/id_rsa");
	make(".ssh/bell\a");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sbx_strv_done(&world.env);
	free(world.root);
	free(world.tree.home);
	free(world.tree.work);
	t_rmdir(top);
	return 0;
}

static void find(struct here_targets *ret, const char *role)
{
	static struct cell any;
	const struct role_use use = { .scene = &world, .cell = &any, .token = "" };

	assert_int_equal(here_targets_find(ret, role, &use), 0);
}

static const struct here_target *target(const struct here_targets *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].name, name) == 0)
			return &t->v[i];
	return NULL;
}

static void the_table_is_whole(void **state)
{
	SBX_CLEANUP_FREE char *text = NULL;
	struct table table;
	char error[EXPECT_ERROR_MAX];

	(void)state;
	assert_int_equal(sbx_read_file(TEST_HERE, 1 << 20, &text, NULL), 0);
	if (table_parse(&table, text, "here.tbl", error) < 0)
		fail_msg("%s", error);
	for (size_t i = 0; i < table.n_rules; i++) {
		struct here_targets t;

		if (!here_is_harmless(table.rules[i].op))
			fail_msg("%s: %s changes something", table.rules[i].id,
				table.rules[i].op);
		find(&t, table.rules[i].role);
		/* what is made is in our own directory */
		if (strcmp(table.rules[i].op, "create") == 0)
			assert_int_equal(
				strncmp(t.v[0].args[0], world.root, strlen(world.root)),
				0);
		here_targets_done(&t);
	}
	table_done(&table);
}

static void files_are_found_and_absent_ones_said(void **state)
{
	struct here_targets t;

	(void)state;
	find(&t, "@here_keys");
	assert_non_null(target(&t, "~/.ssh/id_rsa"));
	assert_non_null(target(&t, "~/.netrc")); /* absent, and reported so */
	assert_non_null(target(&t, "~/.ssh/bell?")); /* a terminal would ring */
	here_targets_done(&t);
	find(&t, "@here_gitconfig"); /* only where it is there */
	assert_int_equal(t.n, 0);
	here_targets_done(&t);
}

static void what_lies_in_the_work_dir_is_the_project(void **state)
{
	char *work = world.tree.work;
	struct here_targets t;

	(void)state;
	world.tree.work = sbx_xasprintf("%s/.config/nvim", top);
	find(&t, "@here_startup_dirs");
	assert_null(target(&t, "~/.config/nvim"));
	assert_non_null(target(&t, "~/bin"));
	here_targets_done(&t);
	free(world.tree.work);
	world.tree.work = work;
}

static void a_home_may_be_called_anything(void **state)
{
	char *home = world.tree.home;
	struct here_targets t;

	(void)state;
	make("odd[h]*me/.ssh/id_rsa");
	world.tree.home = sbx_xasprintf("%s/odd[h]*me", top);
	find(&t, "@here_keys");
	assert_non_null(target(&t, "~/.ssh/id_rsa"));
	here_targets_done(&t);
	free(world.tree.home);
	world.tree.home = home;
}

static void of_many_only_the_first_are_taken(void **state)
{
	struct here_targets t;

	(void)state;
	for (int i = 0; i < 40; i++) {
		SBX_CLEANUP_FREE char *rel = sbx_xasprintf(".ssh/key%02d", i);

		make(rel);
	}
	find(&t, "@here_keys");
	assert_int_equal(t.more, 42 - 24);
	here_targets_done(&t);
}

static void only_unnamed_variables_are_looked_at(void **state)
{
	struct here_targets t;

	(void)state;
	find(&t, "@here_env");
	assert_int_equal(t.n, 1);
	assert_string_equal(t.v[0].name, "$GITHUB_TOKEN");
	here_targets_done(&t);
}

static void an_unknown_role_is_none(void **state)
{
	static struct cell any;
	const struct role_use use = { .scene = &world, .cell = &any, .token = "" };
	struct here_targets t;

	(void)state;
	assert_int_equal(here_targets_find(&t, "@here_nothing", &use), -1);
	assert_int_equal(here_targets_find(&t, "@no_such_role", &use), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_whole),
		cmocka_unit_test(files_are_found_and_absent_ones_said),
		cmocka_unit_test(what_lies_in_the_work_dir_is_the_project),
		cmocka_unit_test(a_home_may_be_called_anything),
		cmocka_unit_test(of_many_only_the_first_are_taken),
		cmocka_unit_test(only_unnamed_variables_are_looked_at),
		cmocka_unit_test(an_unknown_role_is_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
