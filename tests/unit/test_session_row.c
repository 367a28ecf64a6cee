/* A session's sandbox choice and arguments: to JSON and back, strictly. */
#include "session_row.h"
#include "t.h"

#define HEAD "{\"profile\":\"lenient\",\"fs\":\"rw\",\"net\":\"on\","
#define TAIL "\"binds\":[],\"env\":[],\"allow\":[],\"skip_permissions\":true}"

static const struct row {
	const char *name;
	const char *text;
	const char *error; /* part of it; NULL: it is read, and written as it was */
} rows[] = {
	{ "the usual", HEAD TAIL, NULL },
	{ "everything",
		"{\"profile\":\"strict\",\"fs\":\"ro\",\"net\":\"off\",\"binds\":[{\"path\":\"/a\","
		"\"mode\":\"ro\"},{\"path\":\"/b \\u00e4\",\"mode\":\"rw\"}],\"env\":[\"A\",\"B_1\"],"
		"\"allow\":[\"git-init\"],\"skip_permissions\":false}",
		NULL },
	{ "nothing", "", "no JSON" },
	{ "no JSON", "{fs:rw}", "no JSON" },
	{ "something behind it", HEAD TAIL "x", "no JSON" },
	{ "a list", "[]", "exactly" },
	{ "null", "null", "no JSON" },
	{ "schema 1", "{\"fs\":\"rw\",\"net\":\"on\"}", "exactly" },
	{ "a further key", HEAD "\"gpu\":true," TAIL, "exactly" },
	{ "a key twice", HEAD "\"fs\":\"rw\"," TAIL, "twice" },
	{ "a missing key", HEAD "\"binds\":[],\"env\":[],\"allow\":[]}", "exactly" },
	{ "a number for a word", "{\"profile\":1,\"fs\":\"rw\",\"net\":\"on\"," TAIL,
		"exactly" },
	{ "an unknown profile", "{\"profile\":\"lax\",\"fs\":\"rw\",\"net\":\"on\"," TAIL,
		"no such profile" },
	{ "an unknown fs", "{\"profile\":\"strict\",\"fs\":\"wo\",\"net\":\"on\"," TAIL,
		"neither rw nor ro" },
	{ "a net that is the profile's",
		"{\"profile\":\"strict\",\"fs\":\"rw\",\"net\":\"default\"," TAIL,
		"neither on nor off" },
	{ "a net of schema 1 of others",
		"{\"profile\":\"strict\",\"fs\":\"rw\",\"net\":true," TAIL, "exactly" },
	{ "binds that are none",
		HEAD "\"binds\":{},\"env\":[],\"allow\":[],\"skip_permissions\":true}",
		"binds is no list" },
	{ "a bind without a mode",
		HEAD "\"binds\":[{\"path\":\"/a\"}],\"env\":[],\"allow\":[],"
		     "\"skip_permissions\":true}",
		"binds is no list" },
	{ "a bind of another mode",
		HEAD
		"\"binds\":[{\"path\":\"/a\",\"mode\":\"rx\"}],\"env\":[],\"allow\":[],"
		"\"skip_permissions\":true}",
		"binds is no list" },
	{ "a relative bind",
		HEAD
		"\"binds\":[{\"path\":\"a\",\"mode\":\"ro\"}],\"env\":[],\"allow\":[],"
		"\"skip_permissions\":true}",
		"absolute" },
	{ "a value for a variable",
		HEAD
		"\"binds\":[],\"env\":[\"A=1\"],\"allow\":[],\"skip_permissions\":true}",
		"not a variable name" },
	{ "a variable that is a number",
		HEAD "\"binds\":[],\"env\":[1],\"allow\":[],\"skip_permissions\":true}",
		"env is no list" },
	{ "an unknown permission",
		HEAD
		"\"binds\":[],\"env\":[],\"allow\":[\"sudo\"],\"skip_permissions\":true}",
		"allow has a word" },
	{ "a permission that is null",
		HEAD
		"\"binds\":[],\"env\":[],\"allow\":[null],\"skip_permissions\":true}",
		"allow has a word" },
	{ "skip_permissions as a word",
		HEAD
		"\"binds\":[],\"env\":[],\"allow\":[],\"skip_permissions\":\"true\"}",
		"exactly" },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct session_sandbox s = { 0 };
	struct sbx_error e = { 0 };
	int rc = session_sandbox_parse(&s, r->text, &e);

	if (r->error) {
		assert_int_equal(rc, -1);
		assert_int_equal(e.code, SBX_E_SESSION_INVALID);
		assert_non_null(e.remedy);
		if (strstr(e.message, r->error) == NULL)
			fail_msg("'%s' does not speak of '%s'", e.message, r->error);
	} else {
		SBX_CLEANUP_FREE char *back = NULL;
		json_t *is, *was;

		assert_int_equal(rc, 0);
		back = session_sandbox_format(&s.policy, s.skip, &e);
		is = json_loads(back, 0, NULL);
		was = json_loads(r->text, 0, NULL);
		assert_true(json_equal(is, was));
		json_decref(is);
		json_decref(was);
		session_sandbox_done(&s);
	}
	sbx_error_done(&e);
}

T_ROWS(choices, rows, row)

/* The profile's default is resolved when it is recorded, so that it cannot change later. */
static void the_net_in_force_is_recorded(void **state)
{
	const struct sbx_policy lenient = { .profile = SBX_PROFILE_LENIENT };
	const struct sbx_policy strict = { .profile = SBX_PROFILE_STRICT };
	SBX_CLEANUP_FREE char *on = session_sandbox_format(&lenient, true, NULL);
	SBX_CLEANUP_FREE char *off = session_sandbox_format(&strict, true, NULL);

	(void)state;
	assert_non_null(strstr(on, "\"net\":\"on\""));
	assert_non_null(strstr(off, "\"net\":\"off\""));
}

static void what_is_no_utf8_is_refused(void **state)
{
	const struct sbx_bind bind = { .path = "/\377" };
	const struct sbx_policy p = { .binds = &bind, .n_binds = 1 };
	char *args[] = { (char *)"ok", (char *)"\300", NULL };
	struct sbx_error e = { 0 };

	(void)state;
	assert_null(session_sandbox_format(&p, true, &e));
	assert_int_equal(e.code, SBX_E_SESSION_INVALID);
	sbx_error_done(&e);
	assert_null(session_args_format(args, &e));
	assert_int_equal(e.code, SBX_E_SESSION_INVALID);
	sbx_error_done(&e);
}

static const struct up_row {
	const char *name, *text, *better; /* NULL: left alone */
} ups[] = {
	{ "rw, on", "{\"fs\":\"rw\",\"net\":\"on\"}", HEAD TAIL },
	{ "ro, off", "{\"net\":\"off\",\"fs\":\"ro\"}",
		"{\"profile\":\"lenient\",\"fs\":\"ro\",\"net\":\"off\"," TAIL },
	{ "a further key", "{\"fs\":\"rw\",\"net\":\"on\",\"x\":1}", NULL },
	{ "an unknown word", "{\"fs\":\"rw\",\"net\":\"default\"}", NULL },
	{ "no JSON", "rw", NULL },
};

static void up_row(void **state)
{
	const struct up_row *r = *state;
	SBX_CLEANUP_FREE char *better = session_sandbox_upgrade(r->text);

	if (r->better)
		assert_string_equal(better, r->better);
	else
		assert_null(better);
}

T_ROWS(upgrades, ups, up_row)

static void arguments_come_back(void **state)
{
	char *args[] = { (char *)"-p", (char *)"", (char *)"a \"b\"\n\303\244", NULL };
	SBX_CLEANUP_FREE char *text = session_args_format(args, NULL);
	SBX_CLEANUP_FREE char *none = session_args_format(NULL, NULL);
	struct sbx_strv back = { 0 };
	struct sbx_error e = { 0 };

	(void)state;
	assert_string_equal(none, "[]");
	assert_int_equal(session_args_parse(&back, text, &e), 0);
	assert_int_equal(back.n, 3);
	for (int i = 0; i < 3; i++)
		assert_string_equal(back.v[i], args[i]);
	sbx_strv_done(&back);
	for (size_t i = 0; i < 4; i++) {
		static const char *const bad[] = { "", "{}", "[1]", "[\"a\"" };

		assert_int_equal(session_args_parse(&back, bad[i], &e), -1);
		assert_non_null(e.remedy);
		sbx_error_done(&e);
	}
}

static void names(void **state)
{
	static const char *const good[] = { "a", "7", "fix-1.2_x", "deadbee", "deadbeef0",
		"DEADBEEF" };
	static const char *const bad[] = { "", "-a", ".a", "a b", "a/b", "deadbeef",
		"12345678", "\303\244", "a\n",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(good); i++)
		assert_true(session_name_valid(good[i]));
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++)
		assert_false(session_name_valid(bad[i]));
}

static void a_summary_never_hides_that_there_is_none(void **state)
{
	SBX_CLEANUP_FREE char *good = session_sandbox_summary(HEAD TAIL);
	SBX_CLEANUP_FREE char *bad = session_sandbox_summary("{}");

	(void)state;
	assert_string_equal(good, "lenient, rw, net on");
	assert_string_equal(bad, "invalid");
	assert_null(session_sandbox_summary(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_net_in_force_is_recorded),
		cmocka_unit_test(what_is_no_utf8_is_refused),
		cmocka_unit_test(arguments_come_back),
		cmocka_unit_test(names),
		cmocka_unit_test(a_summary_never_hides_that_there_is_none),
	};

	return choices() + upgrades() + cmocka_run_group_tests(tests, NULL, NULL);
}
