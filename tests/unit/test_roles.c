#include "roles.h"
#include "t.h"

static struct scene make_scene(void)
{
	struct scene s = { .root = (char *)"/s",
		.nonce = "sbx0123456789abcdef",
		.probe_http = (char *)"/s/http",
		.tree = { .home = (char *)"/s/home",
			.work = (char *)"/s/home/projects/app",
			.sibling = (char *)"/s/home/projects/other",
			.nonce = (char *)"sbx0123456789abcdef" },
		.objects = { .key = 7,
			.victim = 4242,
			.leak_dir = 100,
			.leak_path = 101,
			.leak_file = 102 } };

	for (int i = 0; i < _LISTEN_MAX; i++)
		s.listeners.port[i] = 1000 + i;
	return s;
}

static void resolve(struct role_args *ret, const struct scene *s, const char *role,
	const char *agent, bool outside)
{
	struct cell c = { { axis_value_find(AXIS_AGENT, agent), 0, 0, 0 } };
	struct role_use use = {
		.scene = s, .cell = &c, .token = "tok", .index = 9, .outside = outside
	};

	assert_int_equal(role_resolve(ret, role, &use), 0);
}

/* A word in braces that expand() does not know would abort here. */
static void every_role_resolves_for_every_agent(void **state)
{
	struct scene s = make_scene();

	(void)state;
	for (size_t i = 0; role_name(i); i++)
		for (int a = 0; a < axis_size(AXIS_AGENT); a++)
			for (int outside = 0; outside < 2; outside++) {
				struct role_args args;

				resolve(&args, &s, role_name(i),
					axis_value(AXIS_AGENT, a), outside);
				assert_non_null(args.v[0]);
				for (int k = 0; args.v[k]; k++)
					assert_null(strchr(args.v[k], '{'));
				role_args_done(&args);
			}
}

static void new_names_are_unique_to_act_and_run(void **state)
{
	struct scene s = make_scene();
	struct role_args args;

	(void)state;
	resolve(&args, &s, "@home_new", "claude", false);
	assert_string_equal(args.v[0], "/s/home/tok-9");
	role_args_done(&args);
}

static void own_means_the_cells_agent(void **state)
{
	struct scene s = make_scene();
	struct role_args args;

	(void)state;
	assert_true(role_is_per_agent("@own_config"));
	assert_false(role_is_per_agent("@ssh_key"));
	assert_false(role_is_per_agent("mount"));
	resolve(&args, &s, "@own_config", "codex", false);
	assert_string_equal(args.v[0], "/s/home/.codex/config.toml");
	role_args_done(&args);
	resolve(&args, &s, "@own_config", "kiro", false);
	assert_string_equal(args.v[0], "/s/home/.kiro/settings/mcp.json");
	role_args_done(&args);
}

static void some_roles_are_others_outside(void **state)
{
	struct scene s = make_scene();
	struct role_args in, out;

	(void)state;
	resolve(&in, &s, "@pid1_exe", "claude", false);
	resolve(&out, &s, "@pid1_exe", "claude", true);
	assert_string_equal(in.v[0], "/proc/1/exe");
	assert_string_equal(out.v[0], "/proc/4242/exe");
	role_args_done(&in);
	role_args_done(&out);
}

static void listeners_and_literals(void **state)
{
	struct scene s = make_scene();
	struct role_args args;

	(void)state;
	resolve(&args, &s, "@tcp6", "claude", false);
	assert_string_equal(args.v[0], "::1");
	assert_string_equal(args.v[1], "1001");
	assert_int_equal(args.listener, LISTEN_TCP6);
	role_args_done(&args);
	resolve(&args, &s, "mount", "claude", false);
	assert_string_equal(args.v[0], "mount");
	assert_int_equal(args.listener, -1);
	role_args_done(&args);
	resolve(&args, &s, "-", "claude", false);
	assert_null(args.v[0]);
	assert_true(role_exists("mount"));
	assert_false(role_exists("@nobody"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_role_resolves_for_every_agent),
		cmocka_unit_test(new_names_are_unique_to_act_and_run),
		cmocka_unit_test(own_means_the_cells_agent),
		cmocka_unit_test(some_roles_are_others_outside),
		cmocka_unit_test(listeners_and_literals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
