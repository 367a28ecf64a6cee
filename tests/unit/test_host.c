#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char *root, *home, *work;
};

static int make_world(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));

	w->root = t_mkdir();
	w->home = sbx_xasprintf("%s/home", w->root);
	w->work = sbx_xasprintf("%s/home/app", w->root);
	if (mkdir(w->home, 0700) < 0 || mkdir(w->work, 0700) < 0)
		return -1;
	*state = w;
	return 0;
}

static int end_world(void **state)
{
	struct world *w = *state;

	t_rmdir(w->root);
	free(w->home);
	free(w->work);
	free(w);
	return 0;
}

static int read_host(struct sbx_host *h, const struct world *w, const char *workdir,
	struct sbx_error *e)
{
	char *env[] = { (char *)"PATH=/usr/bin", NULL };
	struct sbx_policy p = { .agent = "claude", .workdir = workdir };
	struct sbx_host_opts o = {
		.home = w->home, .environ = env, .bwrap = "/nonexistent"
	};

	return sbx_host_read(h, &p, &o, e);
}

static void expect_refusal(const struct world *w, const char *workdir, enum sbx_code code)
{
	struct sbx_error e = { 0 };
	struct sbx_host h;

	assert_true(read_host(&h, w, workdir, &e) < 0);
	assert_string_equal(sbx_error_code_name(e.code), sbx_error_code_name(code));
	sbx_error_done(&e);
}

static void a_link_is_resolved_once_and_its_target_judged(void **state)
{
	const struct world *w = *state;
	SBX_CLEANUP_FREE char *good = sbx_xasprintf("%s/good", w->root);
	SBX_CLEANUP_FREE char *evil = sbx_xasprintf("%s/evil", w->root);
	SBX_CLEANUP_FREE char *ssh = sbx_xasprintf("%s/.ssh", w->home);
	struct sbx_error e = { 0 };
	struct sbx_host h;

	assert_int_equal(mkdir(ssh, 0700), 0);
	assert_int_equal(symlink(w->work, good), 0);
	assert_int_equal(symlink(ssh, evil), 0);
	assert_int_equal(read_host(&h, w, good, &e), 0);
	assert_string_equal(h.workdir.real, w->work);
	sbx_host_done(&h);
	expect_refusal(w, evil, SBX_E_PATH_IN_CRED);
}

static void a_relative_work_dir_is_taken_from_here(void **state)
{
	const struct world *w = *state;
	SBX_CLEANUP_FD int here = open(".", O_PATH | O_DIRECTORY);
	struct sbx_error e = { 0 };
	struct sbx_host h;

	assert_int_equal(chdir(w->home), 0);
	assert_int_equal(read_host(&h, w, "app", &e), 0);
	assert_string_equal(h.workdir.real, w->work);
	sbx_host_done(&h);
	assert_int_equal(chdir(w->work), 0);
	assert_int_equal(read_host(&h, w, NULL, &e), 0);
	assert_string_equal(h.workdir.real, w->work);
	sbx_host_done(&h);
	expect_refusal(w, "..", SBX_E_PATH_HOME);
	assert_int_equal(fchdir(here), 0);
}

static void missing_file_and_forbidden_are_told_apart(void **state)
{
	const struct world *w = *state;
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/f", w->home);
	FILE *f = fopen(file, "w");

	fclose(f);
	expect_refusal(w, "/nonexistent/x", SBX_E_PATH_MISSING);
	expect_refusal(w, file, SBX_E_PATH_NOT_DIR);
	expect_refusal(w, "/", SBX_E_PATH_ROOT);
	expect_refusal(w, w->home, SBX_E_PATH_HOME);
	expect_refusal(w, w->root, SBX_E_PATH_ABOVE_HOME);
}

static void facts_tell_link_file_and_absence(void **state)
{
	const struct world *w = *state;
	SBX_CLEANUP_FREE char *json = sbx_xasprintf("%s/.claude.json", w->home);
	SBX_CLEANUP_FREE char *dir = sbx_xasprintf("%s/.claude", w->home);
	SBX_CLEANUP_FREE char *settings = sbx_xasprintf("%s/settings.json", dir);
	SBX_CLEANUP_FREE char *git = sbx_xasprintf("%s/.git", w->work);
	struct sbx_error e = { 0 };
	struct sbx_host h;

	fclose(fopen(json, "w"));
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(symlink("../.claude.json", settings), 0);
	assert_int_equal(read_host(&h, w, w->work, &e), 0);
	assert_int_equal(sbx_host_fact(&h, json)->type, SBX_FT_FILE);
	assert_int_equal(sbx_host_fact(&h, settings)->type, SBX_FT_LINK);
	assert_int_equal(sbx_host_fact(&h, settings)->target, SBX_FT_FILE);
	assert_string_equal(sbx_host_fact(&h, settings)->real, json);
	assert_int_equal(sbx_host_fact(&h, git)->type, SBX_FT_ABSENT);
	assert_int_equal(sbx_host_fact(&h, "/never/looked/at")->type, SBX_FT_ABSENT);
	sbx_host_done(&h);
}

static void home_must_be_absolute_and_not_root(void **state)
{
	static const char *const bad[] = { "", "relative", "/" };
	const struct world *w = *state;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		char *env[] = { NULL };
		struct sbx_policy p = { .workdir = w->work };
		struct sbx_host_opts o = { .home = bad[i], .environ = env };
		struct sbx_error e = { 0 };
		struct sbx_host h;

		assert_true(sbx_host_read(&h, &p, &o, &e) < 0);
		assert_int_equal(e.code, SBX_E_HOME_INVALID);
		sbx_error_done(&e);
	}
}

static void an_unknown_agent_is_named(void **state)
{
	const struct world *w = *state;
	struct sbx_policy p = { .agent = "clawd", .workdir = w->work };
	struct sbx_error e = { 0 };
	struct sbx_host h;

	assert_true(sbx_host_read(&h, &p, NULL, &e) < 0);
	assert_int_equal(e.code, SBX_E_AGENT_UNKNOWN);
	assert_non_null(strstr(e.message, "clawd"));
	sbx_error_done(&e);
}

/* In each place that payloads write to, and in those next to them. */
static void a_bwrap_that_payloads_write_to_is_told(void **state)
{
	static const struct {
		const char *bwrap, *in; /* NULL: nowhere */
	} where[] = {
		{ "/srv/app/bwrap", "/srv/app" },
		{ "/srv/app/a/b/bwrap", "/srv/app" },
		{ "/srv/application/bwrap", NULL },
		{ "/srv/bwrap", NULL },
		{ "/srv/rw/bwrap", "/srv/rw" },
		{ "/srv/ro/bwrap", NULL },
		{ "/home/u/.claude/projects/x/bwrap", "/home/u/.claude/projects" },
		{ "/home/u/.local/bin/bwrap", NULL },
		{ "/usr/bin/bwrap", NULL },
	};
	struct sbx_host h;

	(void)state;
	t_host_debian(&h, "/srv/app");
	h.binds = sbx_xcalloc(2, sizeof(*h.binds));
	h.binds[0] = (struct sbx_opened){ .real = sbx_xstrdup("/srv/ro"), .fd = -1 };
	h.binds[1] = (struct sbx_opened){
		.real = sbx_xstrdup("/srv/rw"), .fd = -1, .rw = true
	};
	h.n_binds = 2;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(where); i++) {
		SBX_CLEANUP_FREE char *in = NULL;

		free(h.bwrap.path);
		h.bwrap.path = sbx_xstrdup(where[i].bwrap);
		in = sbx_host_bwrap_exposed(&h);
		if (where[i].in)
			assert_string_equal(in, where[i].in);
		else
			assert_null(in);
	}
	sbx_host_done(&h);
}

static void bwrap_is_never_taken_from_a_relative_directory(void **state)
{
	const struct world *w = *state;
	SBX_CLEANUP_FREE char *fake = sbx_xasprintf("%s/bwrap", w->work);
	SBX_CLEANUP_FREE char *search = sbx_xasprintf(".::%s", w->work);
	SBX_CLEANUP_FREE char *found = NULL;
	SBX_CLEANUP_FD int here = open(".", O_PATH | O_DIRECTORY);

	fclose(fopen(fake, "w"));
	assert_int_equal(chmod(fake, 0755), 0);
	assert_int_equal(chdir(w->work), 0);
	assert_null(sbx_host_find_bwrap("."));
	assert_null(sbx_host_find_bwrap(""));
	found = sbx_host_find_bwrap(search);
	assert_string_equal(found, fake);
	/* Not executable is not found. */
	assert_int_equal(chmod(fake, 0644), 0);
	assert_null(sbx_host_find_bwrap(search));
	assert_int_equal(fchdir(here), 0);
}

static void options_come_from_help(void **state)
{
	const struct world *w = *state;
	SBX_CLEANUP_FREE char *fake = sbx_xasprintf("%s/fake", w->root);
	char *env[] = { NULL };
	struct sbx_policy p = { .workdir = w->work };
	struct sbx_host_opts o = { .home = w->home, .environ = env, .bwrap = fake };
	struct sbx_error e = { 0 };
	struct sbx_host h;
	FILE *f = fopen(fake, "w");

	fputs("#!/bin/sh\necho 'usage: x'; echo '    --bind SRC DEST   Bind'; "
	      "echo '    --bind-try SRC'\n",
		f);
	fclose(f);
	assert_int_equal(chmod(fake, 0755), 0);
	assert_int_equal(sbx_host_read(&h, &p, &o, &e), 0);
	assert_true(sbx_host_has_option(&h, "--bind"));
	assert_true(sbx_host_has_option(&h, "--bind-try"));
	assert_false(sbx_host_has_option(&h, "--bind-fd"));
	sbx_host_done(&h);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_link_is_resolved_once_and_its_target_judged),
		WORLD_TEST(a_relative_work_dir_is_taken_from_here),
		WORLD_TEST(missing_file_and_forbidden_are_told_apart),
		WORLD_TEST(facts_tell_link_file_and_absence),
		WORLD_TEST(home_must_be_absolute_and_not_root),
		WORLD_TEST(an_unknown_agent_is_named),
		cmocka_unit_test(a_bwrap_that_payloads_write_to_is_told),
		WORLD_TEST(bwrap_is_never_taken_from_a_relative_directory),
		WORLD_TEST(options_come_from_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
