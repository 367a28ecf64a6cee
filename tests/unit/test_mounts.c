#include "look.h"
#include "mounts.h"
#include "path.h"
#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands at dst, or NULL. */
static const struct sbx_op *at(const struct sbx_plan *plan, const char *dst)
{
	for (size_t i = 0; i < plan->n; i++)
		if (sbx_op_is_mount(plan->ops[i].kind) &&
			strcmp(plan->ops[i].dst, dst) == 0)
			return &plan->ops[i];
	return NULL;
}

static void build(struct sbx_plan *plan, struct sbx_host *h)
{
	struct sbx_policy p = { .agent = "generic", .net = SBX_NET_ON };
	struct sbx_error e = { 0 };

	assert_int_equal(sbx_plan_build(plan, &p, h, &e), 0);
}

static void the_read_only_grant_stays(void **state)
{
	struct sbx_plan m = { 0 };

	(void)state;
	sbx_mounts_add(&m, SBX_OP_BIND, "/a", "/a", SBX_PIN_NONE, "x");
	assert_non_null(
		sbx_mounts_add(&m, SBX_OP_RO_BIND, "/a", "/a", SBX_PIN_NONE, "x"));
	assert_null(sbx_mounts_add(&m, SBX_OP_BIND, "/a", "/a", SBX_PIN_NONE, "x"));
	assert_int_equal(m.n, 1);
	assert_int_equal(m.ops[0].kind, SBX_OP_RO_BIND);
	sbx_plan_done(&m);
}

static void parents_stand_first(void **state)
{
	struct sbx_plan m = { 0 };

	(void)state;
	sbx_plan_add(&m, SBX_OP_DIR, NULL, "/a/b/c", "x");
	sbx_plan_add(&m, SBX_OP_DIR, NULL, "/z", "x");
	sbx_plan_add(&m, SBX_OP_DIR, NULL, "/a", "x");
	sbx_mounts_sort(&m);
	assert_string_equal(m.ops[0].dst, "/z");
	assert_string_equal(m.ops[1].dst, "/a");
	assert_string_equal(m.ops[2].dst, "/a/b/c");
	sbx_plan_done(&m);
}

static void files_of_etc_are_copied_into_the_sealed_root(void **state)
{
	static const char *const texts[] = { "/etc/passwd", "/etc/group" };
	struct sbx_host h = { 0 };
	struct sbx_plan plan = { 0 };

	(void)state;
	t_host_debian(&h, "/w/p");
	build(&plan, &h);
	assert_int_equal(at(&plan, "/etc/hosts")->kind, SBX_OP_COPY);
	assert_true(at(&plan, "/etc/hosts")->sealed);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(texts); i++) {
		assert_int_equal(at(&plan, texts[i])->kind, SBX_OP_TEXT);
		assert_true(at(&plan, texts[i])->sealed);
	}
	/* directories are not, nor is what may change meanwhile */
	assert_int_equal(at(&plan, "/etc/profile.d")->kind, SBX_OP_RO_BIND);
	assert_int_equal(at(&plan, "/etc/resolv.conf")->kind, SBX_OP_RO_BIND);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

static void what_cannot_be_copied_is_bound(void **state)
{
	struct sbx_host h = { 0 };
	struct sbx_plan plan = { 0 };

	(void)state;
	t_host_debian(&h, "/w/p");
	sbx_host_change_fact(&h, "/etc/hosts")->kept_out = true;
	build(&plan, &h);
	assert_int_equal(at(&plan, "/etc/hosts")->kind, SBX_OP_RO_BIND);
	assert_false(at(&plan, "/etc/hosts")->sealed);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

/* bwrap would write through the mount to the host's own file. */
static void nothing_is_written_into_a_mount(void **state)
{
	struct sbx_host h = { 0 };
	struct sbx_plan plan = { 0 };

	(void)state;
	t_host_debian(&h, "/w/p");
	h.binds = sbx_xcalloc(1, sizeof(*h.binds));
	h.binds[0] = (struct sbx_opened){
		.real = sbx_xstrdup("/etc"), .fd = -1, .is_dir = true, .rw = true
	};
	h.n_binds = 1;
	build(&plan, &h);
	assert_int_equal(at(&plan, "/etc/hosts")->kind, SBX_OP_RO_BIND);
	assert_int_equal(at(&plan, "/etc/passwd")->kind, SBX_OP_TEXT);
	for (size_t i = 0; i < plan.n; i++)
		assert_false(plan.ops[i].sealed);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

static bool kept_out(const char *dir, const char *name, off_t size, mode_t mode)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, name);
	struct sbx_host h = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool out;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	sbx_look_at(&h, path);
	out = sbx_host_fact(&h, path)->kept_out;
	sbx_host_done(&h);
	return out;
}

static void large_and_unreadable_files_are_not_copied(void **state)
{
	char *dir = t_mkdir();

	(void)state;
	assert_false(kept_out(dir, "fits", SBX_COPY_MAX, 0444));
	assert_true(kept_out(dir, "large", SBX_COPY_MAX + 1, 0444));
	/* uid 0 reads everything */
	assert_int_equal(kept_out(dir, "unreadable", 1, 0), geteuid() != 0);
	t_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_read_only_grant_stays),
		cmocka_unit_test(parents_stand_first),
		cmocka_unit_test(files_of_etc_are_copied_into_the_sealed_root),
		cmocka_unit_test(what_cannot_be_copied_is_bound),
		cmocka_unit_test(nothing_is_written_into_a_mount),
		cmocka_unit_test(large_and_unreadable_files_are_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
