/* What may be there and what must: both lists of mounts come from one page. */
#include "allow.h"
#include "t.h"

#include <sys/stat.h>

static struct tree tree = { .home = (char *)"/s/home",
	.work = (char *)"/s/home/projects/app",
	.sibling = (char *)"/s/home/projects/other",
	.nonce = (char *)"n" };

static bool has_line(const char *list, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = list; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") == len && strncmp(p, line, len) == 0)
			return true;
	return false;
}

/* Devices and the sealed root have words of their own in the second list. */
static void what_must_be_there_may_be_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < cell_all_count(); i++) {
		struct cell c = cell_all_at(i);
		char may[8192], must[8192], *save = NULL;

		allow_mounts(may, sizeof(may), &tree, &c);
		allow_mounts_must(must, sizeof(must), &tree, &c);
		assert_true(has_line(must, "sealed /"));
		assert_true(has_line(must, "dev /dev/null"));
		for (char *l = strtok_r(must, "\n", &save); l;
			l = strtok_r(NULL, "\n", &save))
			if (strncmp(l, "dev ", 4) != 0 && strcmp(l, "sealed /") != 0 &&
				!has_line(may, l))
				fail_msg("%s must be there and may not", l);
	}
}

static void the_work_dir_and_the_private_places_always_must(void **state)
{
	char must[8192];

	(void)state;
	for (size_t i = 0; i < cell_all_count(); i++) {
		struct cell c = cell_all_at(i);
		bool rw = strcmp(cell_value(&c, AXIS_FS), "rw") == 0;

		allow_mounts_must(must, sizeof(must), &tree, &c);
		assert_true(has_line(must, "ro /usr"));
		assert_true(has_line(must, "tmpfs /tmp"));
		assert_true(has_line(must, "tmpfs /s/home"));
		assert_true(has_line(must, "proc /proc"));
		assert_int_equal(has_line(must, "rw /s/home/projects/app"), rw);
		assert_int_equal(has_line(must, "ro /s/home/projects/app"), !rw);
	}
}

/* On uid 0 the kernel's settings are covered; for others bwrap decides. */
static void root_must_have_its_cover(void **state)
{
	char must[8192];

	(void)state;
	for (size_t i = 0; i < cell_all_count(); i++) {
		struct cell c = cell_all_at(i);

		allow_mounts_must(must, sizeof(must), &tree, &c);
		assert_int_equal(
			has_line(must, "ro /proc/sys"), c.value[AXIS_UID] == UID_ROOT);
	}
}

static void what_this_machine_lacks_need_not_be_there(void **state)
{
	struct cell c = cell_at(0, UID_USER);
	struct stat st;
	char must[8192];

	(void)state;
	allow_mounts_must(must, sizeof(must), &tree, &c);
	assert_int_equal(
		has_line(must, "ro /etc/profile.d"), stat("/etc/profile.d", &st) == 0);
	assert_int_equal(has_line(must, "ro /bin"),
		lstat("/bin", &st) == 0 && S_ISDIR(st.st_mode));
}

static void files_of_etc_need_be_no_mounts(void **state)
{
	struct cell c = cell_at(0, UID_USER);
	char may[8192], must[8192], files[4096];

	(void)state;
	allow_mounts(may, sizeof(may), &tree, &c);
	allow_mounts_must(must, sizeof(must), &tree, &c);
	allow_etc_files(files, sizeof(files), &c);
	assert_true(has_line(files, "/etc/hosts"));
	assert_true(has_line(may, "ro /etc/hosts"));
	assert_false(has_line(must, "ro /etc/hosts"));
	/* never the host's */
	assert_true(has_line(files, "/etc/passwd"));
	assert_false(has_line(may, "ro /etc/passwd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_must_be_there_may_be_there),
		cmocka_unit_test(the_work_dir_and_the_private_places_always_must),
		cmocka_unit_test(root_must_have_its_cover),
		cmocka_unit_test(what_this_machine_lacks_need_not_be_there),
		cmocka_unit_test(files_of_etc_need_be_no_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
