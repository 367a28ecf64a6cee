/* sbx_wrap() on this machine: a command line that another launcher can run as it is. */
#include "init.h"
#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int index_of(const struct sbx_strv *sv, const char *word)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], word) == 0)
			return (int)i;
	return -1;
}

static bool inherited(const struct sbx_wrapped *w, const char *number)
{
	for (size_t i = 0; i < w->n_fds; i++)
		if (w->fds[i] == atoi(number))
			return true;
	return false;
}

static void the_command_stands_after_the_dashes(void **state)
{
	char *dir = t_mkdir();
	SBX_CLEANUP_FREE char *home = sbx_xasprintf("%s/home", dir);
	SBX_CLEANUP_FREE char *work = sbx_xasprintf("%s/work", dir);
	char *const cmd[] = { (char *)"--bind", (char *)"x y", NULL };
	char *env[] = { (char *)"PATH=/usr/bin:/bin", (char *)"OPENAI_API_KEY=s3cr3t",
		NULL };
	const struct sbx_limit limits[] = { { SBX_LIMIT_NOFILE, 64 },
		{ SBX_LIMIT_CPU, 4096 } };
	struct sbx_policy p = { .agent = "codex",
		.workdir = work,
		.limits = limits,
		.n_limits = SBX_ARRAY_SIZE(limits) };
	struct sbx_host_opts o = { .home = home, .environ = env, .bwrap = "/opt/bwrap" };
	struct sbx_error e = { 0 };
	struct sbx_wrapped w;
	int dashes;

	(void)state;
	mkdir(home, 0700);
	mkdir(work, 0700);
	assert_int_equal(sbx_wrap(&w, cmd, &p, &o, &e), 0);
	dashes = index_of(&w.argv, "--");
	assert_string_equal(w.argv.v[0], "/opt/bwrap");
	/* pid 1, without the channels that only a runner of ours has, and the command */
	assert_int_equal(dashes, w.argv.n - 3 - SBX_INIT_WORDS);
	assert_string_equal(w.argv.v[dashes + 3], "-1");
	assert_string_equal(w.argv.v[dashes + 4], "-1");
	assert_string_equal(
		w.argv.v[dashes + 10], "0=4096,7=64"); /* it sets the limits */
	assert_string_equal(w.argv.v[dashes + 11], "--");
	assert_string_equal(w.argv.v[dashes + 12], "--bind");
	assert_string_equal(w.argv.v[dashes + 13], "x y");
	/* rw by default, by its path: the caller has no descriptor of ours for it */
	assert_true(index_of(&w.argv, work) > 0);
	assert_int_equal(index_of(&w.argv, "--bind-fd"), -1);
	/* the key is passed, and not in argv */
	assert_true(index_of(&w.env, "OPENAI_API_KEY=s3cr3t") >= 0);
	for (size_t i = 0; i < w.argv.n; i++)
		assert_null(strstr(w.argv.v[i], "s3cr3t"));
	/* the descriptors are closed on exec until the caller says otherwise */
	assert_true(w.n_fds >= 4); /* two texts, the filter, pid 1, files of /etc */
	for (size_t i = 0; i < w.n_fds; i++)
		assert_true(fcntl(w.fds[i], F_GETFD) & FD_CLOEXEC);
	assert_true(inherited(&w, w.argv.v[dashes + 2]));
	assert_true(inherited(&w, w.argv.v[index_of(&w.argv, "--seccomp") + 1]));
	assert_true(inherited(&w, w.argv.v[index_of(&w.argv, "/etc/passwd") - 1]));
	sbx_wrapped_done(&w);
	t_rmdir(dir);
}

static void a_refused_work_dir_gives_no_command_line(void **state)
{
	char *const cmd[] = { (char *)"true", NULL };
	struct sbx_policy p = { .workdir = "/" };
	struct sbx_error e = { 0 };
	struct sbx_wrapped w = { 0 };

	(void)state;
	assert_true(sbx_wrap(&w, cmd, &p, NULL, &e) < 0);
	assert_int_equal(e.code, SBX_E_PATH_ROOT);
	assert_null(w.argv.v);
	sbx_error_done(&e);
}

static void what_a_command_line_cannot_keep_is_refused(void **state)
{
	char *const cmd[] = { (char *)"true", NULL };
	struct sbx_policy both[] = { { .memory = 1 << 30 }, { .pids = 9 } };

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(both); i++) {
		struct sbx_error e = { 0 };
		struct sbx_wrapped w = { 0 };

		assert_true(sbx_wrap(&w, cmd, &both[i], NULL, &e) < 0);
		assert_int_equal(e.code, SBX_E_CGROUP);
		assert_null(w.argv.v);
		sbx_error_done(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_stands_after_the_dashes),
		cmocka_unit_test(a_refused_work_dir_gives_no_command_line),
		cmocka_unit_test(what_a_command_line_cannot_keep_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
