/* The command line of each agent x profile x fs x net, against files in tests/golden that
 * people review. SBX_GOLDEN_UPDATE=1 writes them anew; the diff is then the review. */
#include "argv.h"
#include "path.h"
#include "t.h"

#include <unistd.h>

static const char *const agents[] = { "claude", "codex", "gemini", "opencode", "agent",
	"kiro", "generic" };

/* A user who has everything that any agent binds. */
static void full_host(struct sbx_host *h)
{
	size_t n;
	const struct sbx_protected *prot = sbx_protected_paths(&n);

	t_host_debian(h, "/home/u/src/app");
	for (size_t a = 0; a < SBX_ARRAY_SIZE(agents); a++)
		for (const struct sbx_agent_path *p = sbx_agent_find(agents[a])->paths;
			p->path; p++) {
			SBX_CLEANUP_FREE char *path =
				sbx_path_join(p->path[0] == '/' ? "/" : h->home, p->path);

			if (p->mode == SBX_PATH_STATE)
				t_host_dir(h, path);
			else
				t_host_file(h, path);
		}
	t_host_file(h, "/home/u/.gitconfig");
	t_host_dir(h, "/home/u/src/app/.git");
	for (size_t i = 0; i < n; i++)
		if (i % 2 == 0) {
			SBX_CLEANUP_FREE char *path =
				sbx_path_join(h->workdir.real, prot[i].path);

			t_host_file(h, path);
		}
	sbx_strv_add(&h->environ, "TERM=xterm");
	sbx_strv_add(&h->environ, "ANTHROPIC_API_KEY=key-of-claude");
	sbx_strv_add(&h->environ, "OPENAI_API_KEY=openai");
	sbx_strv_add(&h->environ, "GEMINI_API_KEY=gemini");
	sbx_strv_add(&h->environ, "AWS_SECRET_ACCESS_KEY=aws");
	sbx_strv_add(&h->environ, "https_proxy=http://proxy:3128");
}

/* One option a line, its arguments beside it; then the environment. */
static char *render(const struct sbx_policy *p)
{
	struct sbx_plan plan = { 0 };
	struct sbx_argv a = { 0 };
	struct sbx_error e = { 0 };
	struct sbx_host h;
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	full_host(&h);
	if (strcmp(p->agent, "claude") == 0) {
		h.state = (struct sbx_opened){
			.real = sbx_xstrdup("/home/u/.claude/projects"), .fd = -1
		};
		h.state_name = sbx_xstrdup("-home-u-src-app");
	}
	assert_int_equal(sbx_plan_build(&plan, p, &h, &e), 0);
	assert_int_equal(sbx_argv_render(&a, &plan, NULL, &e), 0);
	for (size_t i = 0; i < a.args.n; i++)
		fprintf(f, "%s%s",
			i == 0                               ? ""
			: strncmp(a.args.v[i], "--", 2) == 0 ? "\n"
							     : " ",
			a.args.v[i]);
	fputc('\n', f);
	for (size_t i = 0; i < a.env.n; i++)
		fprintf(f, "%s\n", a.env.v[i]);
	fclose(f);
	sbx_argv_done(&a);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
	return out;
}

static void compare(const char *name, const char *got)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s.argv", TEST_GOLDEN, name);
	SBX_CLEANUP_FREE char *want = NULL;

	if (getenv("SBX_GOLDEN_UPDATE")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(got, f);
		fclose(f);
		return;
	}
	if (sbx_read_file(path, 65536, &want, NULL) < 0)
		fail_msg("%s cannot be read", path);
	if (strcmp(want, got) != 0)
		fail_msg("%s differs; got:\n%s", path, got);
}

static void all_56(void **state)
{
	(void)state;
	for (size_t a = 0; a < SBX_ARRAY_SIZE(agents); a++)
		for (int profile = 0; profile < 2; profile++)
			for (int fs = 0; fs < 2; fs++)
				for (int net = 1; net < 3; net++) {
					struct sbx_policy p = { .agent = agents[a],
						.profile = (enum sbx_profile)profile,
						.fs = (enum sbx_fs)fs,
						.net = (enum sbx_net)net };
					SBX_CLEANUP_FREE char *name = sbx_xasprintf(
						"%s-%s-%s-%s", agents[a],
						sbx_profile_name(p.profile),
						sbx_fs_name(p.fs), sbx_net_name(p.net));
					SBX_CLEANUP_FREE char *got = render(&p);

					compare(name, got);
				}
}

static void values_never_stand_in_argv(void **state)
{
	struct sbx_policy p = { .agent = "claude" };
	SBX_CLEANUP_FREE char *got = render(&p);
	const char *env = strstr(got, "HOME=");

	(void)state;
	assert_non_null(env);
	assert_true(strstr(got, "key-of-claude") > env);
	assert_null(strstr(got, "--setenv"));
	assert_null(strstr(got, "aws"));
}

static void descriptors_replace_paths(void **state)
{
	struct sbx_plan plan = { 0 };
	struct sbx_argv a = { 0 };
	struct sbx_error e = { 0 };
	const int fds[] = { 7, -1, 8, 9, 10, 11 };
	static const char *const want[] = { "--bind-fd", "7", "/w", "--ro-bind", "/a",
		"/a", "--seccomp", "8", "--perms", "0600", "--file", "9", "/f", "--perms",
		"0644", "--ro-bind-data", "10", "/t", "--perms", "0444", "--file", "11",
		"/s" };

	(void)state;
	sbx_plan_add(&plan, SBX_OP_BIND, "/w", "/w", "x");
	sbx_plan_add(&plan, SBX_OP_RO_BIND, "/a", "/a", "x");
	sbx_plan_add(&plan, SBX_OP_SECCOMP, NULL, "deny-list", "x");
	sbx_plan_add(&plan, SBX_OP_COPY, "/f", "/f", "x");
	sbx_plan_add(&plan, SBX_OP_TEXT, "text", "/t", "x");
	sbx_plan_add(&plan, SBX_OP_TEXT, "text", "/s", "x")->sealed = true;
	assert_int_equal(sbx_argv_render(&a, &plan, fds, &e), 0);
	assert_int_equal(a.args.n, SBX_ARRAY_SIZE(want));
	for (size_t i = 0; i < a.args.n; i++)
		assert_string_equal(a.args.v[i], want[i]);
	sbx_argv_done(&a);
	sbx_plan_done(&plan);
}

static void packing_keeps_every_byte(void **state)
{
	struct sbx_argv a = { 0 };
	SBX_CLEANUP_FREE char *packed = NULL;
	size_t len;

	(void)state;
	sbx_strv_add(&a.args, "a b");
	sbx_strv_add(&a.args, "");
	sbx_strv_add(&a.args, "\n\xff");
	packed = sbx_argv_pack(&a, &len);
	assert_int_equal(len, 8);
	assert_memory_equal(packed, "a b\0\0\n\xff\0", 8);
	sbx_argv_done(&a);
}

static void an_unknown_operation_is_no_silence(void **state)
{
	struct sbx_plan plan = { 0 };
	struct sbx_argv a = { 0 };
	struct sbx_error e = { 0 };

	(void)state;
	sbx_plan_add(&plan, _SBX_OP_MAX, NULL, "x", "x");
	assert_true(sbx_argv_render(&a, &plan, NULL, &e) < 0);
	sbx_error_done(&e);
	sbx_plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_56),
		cmocka_unit_test(values_never_stand_in_argv),
		cmocka_unit_test(descriptors_replace_paths),
		cmocka_unit_test(packing_keeps_every_byte),
		cmocka_unit_test(an_unknown_operation_is_no_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
