/* Sources are taken from what was opened, and never through a link. */
#include "resources.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char *root, *work;
	struct sbx_host h;
	struct sbx_plan plan;
};

static int make(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));
	SBX_CLEANUP_FREE char *git = NULL;

	w->root = t_mkdir();
	w->work = sbx_xasprintf("%s/work", w->root);
	git = sbx_xasprintf("%s/.git", w->work);
	if (mkdir(w->work, 0700) < 0 || mkdir(git, 0700) < 0)
		return -1;
	t_host_debian(&w->h, w->work);
	w->h.workdir.fd = open(w->work, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = w;
	return w->h.workdir.fd < 0;
}

static int end(void **state)
{
	struct world *w = *state;

	sbx_plan_done(&w->plan);
	sbx_host_done(&w->h);
	t_rmdir(w->root);
	free(w->work);
	free(w);
	return 0;
}

static void add_pinned(struct world *w, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s%s", w->work, rel);

	sbx_plan_add(&w->plan, SBX_OP_BIND, path, path, "x")->pin = SBX_PIN_WORKDIR;
}

static void the_opened_directory_is_used_after_a_swap(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *moved = sbx_xasprintf("%s/moved", w->root);
	struct sbx_resources r;
	struct sbx_error e = { 0 };
	struct stat was, is;

	add_pinned(w, "");
	assert_int_equal(stat(w->work, &was), 0);
	assert_int_equal(rename(w->work, moved), 0);
	assert_int_equal(symlink("/etc", w->work), 0);
	assert_int_equal(sbx_resources_open(&r, &w->plan, &w->h, true, NULL, &e), 0);
	assert_int_equal(fstat(r.fds[0], &is), 0);
	assert_int_equal(was.st_ino, is.st_ino);
	assert_true(r.fds[0] >= 3 && (fcntl(r.fds[0], F_GETFD) & FD_CLOEXEC));
	sbx_resources_done(&r);
}

static void a_link_planted_after_the_look_is_not_followed(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *hooks = sbx_xasprintf("%s/.git/hooks", w->work);
	struct sbx_resources r;
	struct sbx_error e = { 0 };

	add_pinned(w, "/.git/hooks");
	assert_int_equal(symlink("/etc", hooks), 0);
	assert_true(sbx_resources_open(&r, &w->plan, &w->h, true, NULL, &e) < 0);
	assert_int_equal(e.code, SBX_E_PATH_CHANGED);
	assert_non_null(strstr(e.message, hooks));
	sbx_error_done(&e);
}

static void a_copy_is_of_a_regular_file_only(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *fifo = sbx_xasprintf("%s/fifo", w->root);
	struct sbx_resources r;
	struct sbx_error e = { 0 };

	assert_int_equal(mkfifo(fifo, 0600), 0);
	sbx_plan_add(&w->plan, SBX_OP_COPY, fifo, "/home/u/x", "x");
	assert_true(sbx_resources_open(&r, &w->plan, &w->h, true, NULL, &e) < 0);
	assert_non_null(strstr(e.message, "not a regular file"));
	sbx_error_done(&e);
}

static void without_bind_fd_paths_are_used(void **state)
{
	struct world *w = *state;
	struct sbx_resources r;
	struct sbx_error e = { 0 };

	add_pinned(w, "");
	sbx_plan_add(&w->plan, SBX_OP_SECCOMP, NULL, "deny-list", "x");
	assert_int_equal(sbx_resources_open(&r, &w->plan, &w->h, false, NULL, &e), 0);
	assert_int_equal(r.fds[0], -1);
	assert_true(r.fds[1] >= 3);
	sbx_resources_done(&r);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_opened_directory_is_used_after_a_swap),
		WORLD_TEST(a_link_planted_after_the_look_is_not_followed),
		WORLD_TEST(a_copy_is_of_a_regular_file_only),
		WORLD_TEST(without_bind_fd_paths_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
