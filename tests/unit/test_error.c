#include "t.h"

#include <errno.h>

static void set_returns_the_negative_errno(void **state)
{
	struct sbx_error e = { 0 };

	(void)state;
	assert_int_equal(
		sbx_error_set(&e, SBX_E_PATH_MISSING, ENOENT, "no %s", "x"), -ENOENT);
	assert_int_equal(e.code, SBX_E_PATH_MISSING);
	assert_string_equal(e.message, "no x");
	sbx_error_remedy(&e, "make it");
	assert_string_equal(e.remedy, "make it");
	sbx_error_done(&e);
	assert_null(e.message);
}

static void without_errno_it_is_einval_and_null_is_fine(void **state)
{
	(void)state;
	assert_int_equal(sbx_error_set(NULL, SBX_E_PATH_ROOT, 0, "x"), -EINVAL);
	sbx_error_remedy(NULL, "x");
}

static void every_code_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < _SBX_CODE_MAX; i++) {
		assert_string_not_equal(sbx_error_code_name(i), "?");
		for (int k = 0; k < i; k++)
			assert_string_not_equal(
				sbx_error_code_name(i), sbx_error_code_name(k));
	}
	assert_string_equal(sbx_error_code_name(_SBX_CODE_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_returns_the_negative_errno),
		cmocka_unit_test(without_errno_it_is_einval_and_null_is_fine),
		cmocka_unit_test(every_code_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
