/* What a session has left: each kind made for real, told from what was there before. */
#include "residue.h"
#include "t.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

struct world {
	char *dir; /* the work dir */
	struct sbx_plan plan;
	struct sbx_residue_mark mark;
};

static char *at(const struct world *w, const char *rel)
{
	return sbx_path_join(w->dir, rel);
}

static void put(const struct world *w, const char *rel)
{
	SBX_CLEANUP_FREE char *path = at(w, rel);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, "x", 1), 0);
	close(fd);
}

static void make_dir(const struct world *w, const char *rel)
{
	SBX_CLEANUP_FREE char *path = at(w, rel);

	assert_int_equal(mkdir(path, 0755), 0);
}

/* The kernel's clock for files goes in steps: waits for the next one. */
static void let_the_clock_tick(const struct world *w)
{
	SBX_CLEANUP_FREE char *path = at(w, "tick");
	struct timespec now;
	struct stat st;

	put(w, "tick");
	assert_int_equal(stat(path, &st), 0);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_sec == st.st_ctim.tv_sec && now.tv_nsec <= st.st_ctim.tv_nsec);
	assert_int_equal(unlink(path), 0);
}

static int setup(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));
	SBX_CLEANUP_FREE char *config = NULL;
	struct sbx_op *op;

	w->dir = t_mkdir();
	config = at(w, ".git/config");
	make_dir(w, ".git");
	make_dir(w, "sub");
	make_dir(w, "sub/.git");
	make_dir(w, "sub/.git/hooks");
	make_dir(w, "sub/.claude");
	put(w, ".git/config");
	put(w, "sub/.git/config");
	put(w, "sub/.git/hooks/old");
	put(w, "old");
	sbx_plan_add(&w->plan, SBX_OP_BIND, w->dir, w->dir, "test")->pin =
		SBX_PIN_WORKDIR;
	op = sbx_plan_add(&w->plan, SBX_OP_RO_BIND, config, config, "test");
	op->pin = SBX_PIN_WORKDIR;
	op = sbx_plan_add(&w->plan, SBX_OP_TEXT, "", "", "test");
	free(op->dst);
	op->dst = at(w, ".mcp.json");
	op->pin = SBX_PIN_WORKDIR;
	op->reserve = SBX_RESERVE_SOCKET;
	let_the_clock_tick(w);
	sbx_residue_begin(&w->mark, &w->plan);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	sbx_residue_mark_done(&w->mark);
	sbx_plan_done(&w->plan);
	t_rmdir(w->dir);
	free(w);
	return 0;
}

/* ---- one thing at a time ---- */

static void chmod_at(const struct world *w, const char *rel, mode_t mode)
{
	SBX_CLEANUP_FREE char *path = at(w, rel);

	assert_int_equal(chmod(path, mode), 0);
}

static void link_to(const struct world *w, const char *rel, const char *to)
{
	SBX_CLEANUP_FREE char *path = at(w, rel);

	assert_int_equal(symlink(to, path), 0);
}

static void nothing(const struct world *w)
{
	put(w, "plain");
	put(w, "old");
	make_dir(w, "new");
	put(w, "new/file");
	link_to(w, "in", "sub/../old");
	put(w, ".git/HEAD"); /* what git writes itself */
}

static void setuid_file(const struct world *w)
{
	chmod_at(w, "old", 04755);
}

static void setgid_file(const struct world *w)
{
	chmod_at(w, "old", 02755);
}

static void fifo(const struct world *w)
{
	SBX_CLEANUP_FREE char *path = at(w, "sub/fifo");

	assert_int_equal(mkfifo(path, 0600), 0);
}

static void a_socket(const struct world *w)
{
	SBX_CLEANUP_FREE char *path = at(w, "socket");

	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
}

static void link_absolute(const struct world *w)
{
	link_to(w, "sub/link", "/etc/passwd");
}

static void link_upwards(const struct world *w)
{
	link_to(w, "sub/link", "../../elsewhere");
}

static void link_dangling(const struct world *w)
{
	link_to(w, "link", "../nothing/there");
}

static void repository(const struct world *w)
{
	make_dir(w, "new");
	make_dir(w, "new/.git");
}

static void git_pointer(const struct world *w)
{
	make_dir(w, "new");
	put(w, "new/.git");
}

static void git_config(const struct world *w)
{
	put(w, "sub/.git/config");
}

static void git_hook(const struct world *w)
{
	put(w, "sub/.git/hooks/pre-commit");
	put(w, "sub/.git/hooks/pre-push.sample");
}

static void nested_mcp(const struct world *w)
{
	put(w, "sub/.mcp.json");
}

static void nested_settings(const struct world *w)
{
	put(w, "sub/.claude/settings.json");
}

static void replaced(const struct world *w)
{
	SBX_CLEANUP_FREE char *now = at(w, ".git/now"), *path = at(w, ".git/config");

	put(w, ".git/now");
	assert_int_equal(rename(now, path), 0);
}

static void removed(const struct world *w)
{
	SBX_CLEANUP_FREE char *path = at(w, ".git/config");

	assert_int_equal(unlink(path), 0);
}

static void made_where_reserved(const struct world *w)
{
	put(w, ".mcp.json");
}

static const struct row {
	const char *name;
	void (*leave)(const struct world *w);
	int kind; /* -1: none */
	const char *path;
} rows[] = {
	{ "what is no residue", nothing, -1, NULL },
	{ "setuid", setuid_file, SBX_RESIDUE_SETID, "old" },
	{ "setgid", setgid_file, SBX_RESIDUE_SETID, "old" },
	{ "fifo", fifo, SBX_RESIDUE_FIFO, "sub/fifo" },
	{ "socket", a_socket, SBX_RESIDUE_SOCKET, "socket" },
	{ "absolute link", link_absolute, SBX_RESIDUE_LINK_OUT, "sub/link" },
	{ "link upwards", link_upwards, SBX_RESIDUE_LINK_OUT, "sub/link" },
	{ "link to nothing", link_dangling, SBX_RESIDUE_LINK_OUT, "link" },
	{ "repository", repository, SBX_RESIDUE_REPOSITORY, "new/.git" },
	{ "git's pointer", git_pointer, SBX_RESIDUE_REPOSITORY, "new/.git" },
	{ "config of a nested one", git_config, SBX_RESIDUE_GIT_SETTINGS,
		"sub/.git/config" },
	{ "hook of a nested one", git_hook, SBX_RESIDUE_GIT_SETTINGS,
		"sub/.git/hooks/pre-commit" },
	{ "a protected name further down", nested_mcp, SBX_RESIDUE_PROTECTED,
		"sub/.mcp.json" },
	{ "in a directory of such a name", nested_settings, SBX_RESIDUE_PROTECTED,
		"sub/.claude/settings.json" },
	{ "a protected file replaced", replaced, SBX_RESIDUE_LOOSE, ".git/config" },
	{ "a protected file removed", removed, SBX_RESIDUE_LOOSE, ".git/config" },
	{ "made where something was reserved", made_where_reserved, SBX_RESIDUE_LOOSE,
		".mcp.json" },
};

static void one(void **state)
{
	const struct row *r = *state;
	struct sbx_residue found;
	struct world *w;
	void *s;

	setup(&s);
	w = s;
	r->leave(w);
	sbx_residue_collect(&found, &w->mark);
	if (r->kind < 0) {
		if (found.n > 0)
			fail_msg("%s: %s", sbx_residue_kind_name(found.items[0].kind),
				found.items[0].path);
	} else {
		SBX_CLEANUP_FREE char *path = at(w, r->path);

		if (found.n != 1)
			fail_msg("%zu items", found.n);
		assert_int_equal(found.items[0].kind, r->kind);
		assert_string_equal(found.items[0].path, path);
	}
	sbx_residue_done(&found);
	teardown(&s);
}

T_ROWS(leftovers, rows, one)

/* Who may give them may also be told. */
static void capabilities_and_devices(void **state)
{
	struct vfs_cap_data caps = { .magic_etc = VFS_CAP_REVISION_2,
		.data = { { .permitted = 1U << CAP_NET_RAW } } };
	struct world *w;
	struct sbx_residue found;
	SBX_CLEANUP_FREE char *file = NULL, *node = NULL;
	void *s;
	size_t want = 0;

	(void)state;
	setup(&s);
	w = s;
	file = at(w, "old");
	node = at(w, "node");
	want += setxattr(file, "security.capability", &caps, sizeof(caps), 0) == 0;
	want += mknod(node, S_IFCHR | 0600, makedev(1, 3)) == 0;
	if (geteuid() == 0)
		assert_int_equal(want, 2);
	sbx_residue_collect(&found, &w->mark);
	assert_int_equal(found.n, want);
	for (size_t i = 0; i < found.n; i++)
		assert_true(found.items[i].kind == SBX_RESIDUE_CAPABILITY ||
			    found.items[i].kind == SBX_RESIDUE_DEVICE);
	sbx_residue_done(&found);
	teardown(&s);
}

/* Nothing was ignored only because it could not be read. */
static void what_cannot_be_read_is_said(void **state)
{
	struct world *w;
	struct sbx_residue found;
	void *s;

	(void)state;
	setup(&s);
	w = s;
	make_dir(w, "closed");
	chmod_at(w, "closed", 0);
	sbx_residue_collect(&found, &w->mark);
	if (geteuid() != 0) {
		assert_int_equal(found.n, 1);
		assert_int_equal(found.items[0].kind, SBX_RESIDUE_UNREADABLE);
	}
	sbx_residue_done(&found);
	chmod_at(w, "closed", 0700);
	teardown(&s);
}

static void every_kind_has_a_name_and_a_reason(void **state)
{
	(void)state;
	for (int i = 0; i < _SBX_RESIDUE_MAX; i++) {
		assert_non_null(sbx_residue_kind_name((enum sbx_residue_kind)i));
		assert_non_null(sbx_residue_kind_why((enum sbx_residue_kind)i));
	}
	assert_string_equal(sbx_residue_kind_name(_SBX_RESIDUE_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities_and_devices),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(every_kind_has_a_name_and_a_reason),
	};

	return leftovers() + cmocka_run_group_tests(tests, NULL, NULL);
}
