#include "t.h"

#include <errno.h>

static void names_go_both_ways(void **state)
{
	enum sbx_profile p;
	enum sbx_fs fs;
	enum sbx_net net;

	(void)state;
	for (int i = 0; i < _SBX_PROFILE_MAX; i++) {
		assert_int_equal(sbx_profile_from_string(sbx_profile_name(i), &p), 0);
		assert_int_equal(p, i);
	}
	for (int i = 0; i < _SBX_FS_MAX; i++) {
		assert_int_equal(sbx_fs_from_string(sbx_fs_name(i), &fs), 0);
		assert_int_equal(fs, i);
	}
	for (int i = 0; i < _SBX_NET_MAX; i++) {
		assert_int_equal(sbx_net_from_string(sbx_net_name(i), &net), 0);
		assert_int_equal(net, i);
	}
	for (unsigned bit = 1; bit & _SBX_ALLOW_ALL; bit <<= 1) {
		enum sbx_allow one = 0;

		assert_int_equal(
			sbx_allow_from_string(sbx_allow_name((enum sbx_allow)bit), &one),
			0);
		assert_int_equal(one, bit);
	}
	assert_int_equal(
		sbx_policy_check(&(struct sbx_policy){ .allow = ~0U }, NULL), -EINVAL);
	assert_int_equal(sbx_profile_from_string("Lenient", &p), -EINVAL);
	assert_int_equal(sbx_fs_from_string(NULL, &fs), -EINVAL);
	assert_string_equal(sbx_profile_name(_SBX_PROFILE_MAX), "?");
}

static void the_network_follows_the_profile_unless_said(void **state)
{
	struct sbx_policy p = { 0 };

	(void)state;
	assert_int_equal(sbx_policy_net(&p), SBX_NET_ON);
	p.profile = SBX_PROFILE_STRICT;
	assert_int_equal(sbx_policy_net(&p), SBX_NET_OFF);
	p.net = SBX_NET_ON;
	assert_int_equal(sbx_policy_net(&p), SBX_NET_ON);
}

static const struct env_row {
	const char *name, *var;
	bool valid;
} env_rows[] = {
	{ "plain", "FOO_1", true },
	{ "underscore", "_x", true },
	{ "digit first", "1X", false },
	{ "with a value", "FOO=bar", false },
	{ "empty", "", false },
	{ "space", "A B", false },
	{ "newline", "A\n", false },
	{ "dash", "A-B", false },
};

static void env_row(void **state)
{
	const struct env_row *r = *state;
	const char *names[] = { r->var };
	struct sbx_policy p = { .env = names, .n_env = 1 };
	struct sbx_error e = { 0 };

	assert_int_equal(sbx_policy_check(&p, &e), r->valid ? 0 : -EINVAL);
	assert_int_equal(e.code, r->valid ? SBX_OK : SBX_E_ENV_NAME);
	sbx_error_done(&e);
}

static void a_relative_bind_and_wild_enums_are_refused(void **state)
{
	const struct sbx_bind bind = { .path = "x" };
	struct sbx_policy p = { .binds = &bind, .n_binds = 1 };
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(sbx_policy_check(&p, &e), -EINVAL);
	assert_int_equal(e.code, SBX_E_PATH_INVALID);
	p = (struct sbx_policy){ .fs = (enum sbx_fs)17 };
	assert_int_equal(sbx_policy_check(&p, &e), -EINVAL);
	sbx_error_done(&e);
}

static void strict_binds_nothing_and_passes_no_key(void **state)
{
	const struct sbx_profile_defaults *s = sbx_profile_defaults(SBX_PROFILE_STRICT);

	(void)state;
	assert_false(s->bind_state);
	assert_false(s->pass_keys);
	assert_int_equal(s->net, SBX_NET_OFF);
	/* An impossible profile is the stricter one. */
	assert_ptr_equal(sbx_profile_defaults((enum sbx_profile)9), s);
}

T_ROWS(env, env_rows, env_row)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(the_network_follows_the_profile_unless_said),
		cmocka_unit_test(a_relative_bind_and_wild_enums_are_refused),
		cmocka_unit_test(strict_binds_nothing_and_passes_no_key),
	};

	return env() + cmocka_run_group_tests(tests, NULL, NULL);
}
