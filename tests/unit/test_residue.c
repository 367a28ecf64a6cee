/* What a session leaves behind: each kind made for real, between the mark and the end and before
 * the mark. */
#include "residue_world.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static void make_setuid(void)
{
	res_put("s", "");
	assert_int_equal(chmod("s", 04755), 0);
}

static void make_setgid(void)
{
	assert_int_equal(chmod("old", 02755), 0);
}

static bool tell_kernel(const char *file, const char *text)
{
	SBX_CLEANUP_FD int fd = open(file, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && sbx_write_all(fd, text, strlen(text)) == 0;
}

/* In a user namespace everybody may. */
static void make_capability(void)
{
	struct vfs_cap_data cap = { .magic_etc = VFS_CAP_REVISION_2 };
	SBX_CLEANUP_FREE char *uids = sbx_xasprintf("0 %u 1\n", (unsigned)getuid());
	SBX_CLEANUP_FREE char *gids = sbx_xasprintf("0 %u 1\n", (unsigned)getgid());
	int status;
	pid_t pid;

	cap.data[0].permitted = 1 << CAP_NET_RAW;
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0 ||
			!tell_kernel("/proc/self/uid_map", uids) ||
			!tell_kernel("/proc/self/setgroups", "deny") ||
			!tell_kernel("/proc/self/gid_map", gids))
			_exit(1);
		_exit(setxattr("old", "security.capability", &cap, XATTR_CAPS_SZ_2, 0) <
			0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define LINKS(name, text)                                         \
	static void make_##name(void)                             \
	{                                                         \
		assert_int_equal(symlink(text, "sub/" #name), 0); \
	}

LINKS(link_absolute, "/etc/passwd")
LINKS(link_proc, "/proc/self/root")
LINKS(link_dotdot, "../../out")
LINKS(link_dangling, "none/../../../nothing")
LINKS(link_inside, "../old")
LINKS(link_loop, "link_loop")

static void make_link_home(void)
{
	SBX_CLEANUP_FREE char *text = sbx_path_join(res_work, "old");

	assert_int_equal(symlink(text, "sub/link_home"), 0);
}

/* By its text it stays inside, and it does not. */
static void make_link_crooked(void)
{
	assert_int_equal(symlink(".", "y"), 0);
	assert_int_equal(symlink("y/../out", "crooked"), 0);
}

static void make_link_crooked_absolute(void)
{
	SBX_CLEANUP_FREE char *text = sbx_xasprintf("%s/y/../out", res_work);

	assert_int_equal(symlink(".", "y"), 0);
	assert_int_equal(symlink(text, "crooked"), 0);
}

static void make_fifo(void)
{
	assert_int_equal(mkfifo("sub/f", 0600), 0);
}

static void make_socket(void)
{
	struct sockaddr_un a = { AF_UNIX, "sub/sock" };
	SBX_CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

/* A whiteout: the one node that everybody may make. */
static void make_device(void)
{
	assert_int_equal(mknod("dev", S_IFCHR | 0600, makedev(0, 0)), 0);
}

static void write_shared(void)
{
	res_put("shared", "x");
}

static void link_within(void)
{
	res_put("a", "");
	assert_int_equal(link("a", "sub/b"), 0);
}

static void make_executable(void)
{
	assert_int_equal(chmod("old", 0755), 0);
}

static void make_setgid_directory(void)
{
	assert_int_equal(chmod("sub", 02755), 0);
}

static void make_dot_git(void)
{
	res_make_above("sub/.git/");
}

static void make_pointer(void)
{
	res_put("sub/.git", "gitdir: ../evil\n");
}

static void make_bare(void)
{
	res_put_below("sub/x/HEAD", "");
	res_put_below("sub/x/objects/x", "");
	res_put_below("sub/x/refs/x", "");
}

/* Parts of it lay there before. */
static void complete_bare(void)
{
	assert_int_equal(rename("fixture.git/HEAD", "fixture.git/h"), 0);
	assert_int_equal(rename("fixture.git/h", "fixture.git/HEAD"), 0);
}

static void move_repository(void)
{
	assert_int_equal(rename("fixture.git", "sub/.git"), 0);
}

static void make_bare_root(void)
{
	res_put("HEAD", "");
	res_put_below("objects/x", "");
	res_put_below("refs/x", "");
}

#define PUTS(name, path)                     \
	static void name(void)               \
	{                                    \
		res_put_below(path, "evil"); \
	}

PUTS(write_config, "nest/.git/config")
PUTS(write_module_config, "nest/.git/modules/m/config")
PUTS(make_tree_pointer, "nest/.git/worktrees/t/commondir")
PUTS(make_hook, "nest/.git/hooks/pre-commit")
PUTS(make_module_hook, "nest/.git/modules/m/hooks/pre-commit")
PUTS(write_bare_config, "fixture.git/config")
PUTS(write_husky, ".husky/pre-commit")
PUTS(rewrite_settings, "sub/.claude/settings.json")
PUTS(make_upper, "sub/.MCP.json")
PUTS(make_rebase, "nest/.git/rebase-merge/git-rebase-todo")
PUTS(make_branch, "nest/.git/refs/config")

/* The files in it have their old time. */
static void move_hooks(void)
{
	assert_int_equal(rename("nest/.git/hooks", "nest/.git/away"), 0);
	assert_int_equal(rename("moved", "nest/.git/hooks"), 0);
}

static void move_tree(void)
{
	assert_int_equal(rename("nest/.git/worktrees/t", "away"), 0);
	assert_int_equal(rename("tree", "nest/.git/worktrees/t"), 0);
}

static void move_husky(void)
{
	assert_int_equal(rename(".husky", "away"), 0);
	assert_int_equal(rename("moved", ".husky"), 0);
}

static void write_protected(void)
{
	res_put(".git/config", "[core]\n");
}

static void replace_protected(void)
{
	res_put("new", "");
	assert_int_equal(rename("new", ".git/config"), 0);
}

static void remove_protected(void)
{
	assert_int_equal(unlink(".git/config"), 0);
}

static void commit(void)
{
	res_put(".git/index", "");
	res_put_below(".git/objects/ab/x", "");
}

static void make_deep(void)
{
	SBX_CLEANUP_FD int at = open(".", O_PATH | O_CLOEXEC);

	for (int i = 0; i <= RESIDUE_DEPTH_MAX; i++) {
		int down;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		down = openat(at, "d", O_PATH | O_CLOEXEC);
		assert_true(down >= 0);
		close(at);
		at = down;
	}
}

static void make_ordinary(void)
{
	res_put_below("src/config/HEAD", "");
	res_put_below("src/hooks/use.js", "");
	res_put_below("src/config/config", "");
	res_put("CLAUDE.md", "");
	res_put(".mcp.json.txt", "");
}

#define NONE _SBX_RESIDUE_MAX

/* clang-format off: a table, one thing a line */
static const struct made {
	const char *name;
	void (*make)(void);
	enum sbx_residue_kind kind; /* NONE: nothing is named */
	const char *path; /* relative to the work res_dir; NULL: not compared */
	const char *detail; /* or NULL */
	size_t n; /* items of all kinds; 0: one */
	bool always; /* whatever its time is */
} made[] = {
	{ "setuid", make_setuid, SBX_RESIDUE_SETID, "s", "setuid" },
	{ "setgid", make_setgid, SBX_RESIDUE_SETID, "old", "setgid" },
	{ "setgid_directory", make_setgid_directory, NONE },
	{ "capability", make_capability, SBX_RESIDUE_CAPABILITY, "old" },
	{ "executable", make_executable, NONE },
	{ "link_absolute", make_link_absolute, SBX_RESIDUE_LINK_OUT, "sub/link_absolute",
		"/etc/passwd" },
	{ "link_proc", make_link_proc, SBX_RESIDUE_LINK_OUT, "sub/link_proc" },
	{ "link_dotdot", make_link_dotdot, SBX_RESIDUE_LINK_OUT, "sub/link_dotdot" },
	{ "link_dangling", make_link_dangling, SBX_RESIDUE_LINK_OUT,
		"sub/link_dangling" },
	{ "link_crooked", make_link_crooked, SBX_RESIDUE_LINK_OUT, "crooked" },
	{ "link_crooked_absolute", make_link_crooked_absolute, SBX_RESIDUE_LINK_OUT,
		"crooked" },
	{ "link_inside", make_link_inside, NONE },
	{ "link_home", make_link_home, NONE },
	{ "link_loop", make_link_loop, NONE },
	{ "fifo", make_fifo, SBX_RESIDUE_FIFO, "sub/f" },
	{ "socket", make_socket, SBX_RESIDUE_SOCKET, "sub/sock" },
	{ "device", make_device, SBX_RESIDUE_DEVICE, "dev", "char" },
	{ "hardlink", write_shared, SBX_RESIDUE_HARDLINK, "shared",
		"1 of its 2 names are here" },
	{ "hardlink_within", link_within, NONE },
	{ "dot_git", make_dot_git, SBX_RESIDUE_REPOSITORY, "sub/.git", "new" },
	{ "pointer", make_pointer, SBX_RESIDUE_REPOSITORY, "sub/.git",
		"a pointer to one" },
	{ "bare", make_bare, SBX_RESIDUE_REPOSITORY, "sub/x", "bare" },
	{ "bare_completed", complete_bare, SBX_RESIDUE_REPOSITORY, "fixture.git",
		"bare" },
	{ "bare_root", make_bare_root, SBX_RESIDUE_REPOSITORY, "" },
	{ "repository_moved", move_repository, SBX_RESIDUE_REPOSITORY, "sub/.git",
		"git worked in it, or it was moved here" },
	{ "own_repository", commit, NONE },
	{ "git_config", write_config, SBX_RESIDUE_GIT_SETTINGS, "nest/.git/config" },
	{ "git_config_module", write_module_config, SBX_RESIDUE_GIT_SETTINGS,
		"nest/.git/modules/m/config", NULL, 2 },
	{ "git_config_bare", write_bare_config, SBX_RESIDUE_GIT_SETTINGS,
		"fixture.git/config", NULL, 2 },
	{ "git_config_tree", make_tree_pointer, SBX_RESIDUE_GIT_SETTINGS,
		"nest/.git/worktrees/t/commondir" },
	{ "git_config_tree_moved", move_tree, SBX_RESIDUE_GIT_SETTINGS,
		"nest/.git/worktrees/t/commondir" },
	{ "git_rebase", make_rebase, SBX_RESIDUE_GIT_SETTINGS,
		"nest/.git/rebase-merge/git-rebase-todo",
		"'git rebase --continue' runs the commands in it", 2 },
	{ "git_branch", make_branch, NONE },
	{ "git_hook", make_hook, SBX_RESIDUE_GIT_HOOK, "nest/.git/hooks/pre-commit" },
	{ "git_hook_module", make_module_hook, SBX_RESIDUE_GIT_HOOK,
		"nest/.git/modules/m/hooks/pre-commit", NULL, 2 },
	{ "git_hook_moved", move_hooks, SBX_RESIDUE_GIT_HOOK, "nest/.git/hooks/pre-push",
		NULL, 2 },
	{ "hooks_path", write_husky, SBX_RESIDUE_GIT_HOOK, ".husky/pre-commit" },
	{ "hooks_path_moved", move_husky, SBX_RESIDUE_GIT_HOOK, ".husky",
		"it is another directory now" },
	{ "protected_rewritten", rewrite_settings, SBX_RESIDUE_PROTECTED,
		"sub/.claude/settings.json" },
	{ "protected_upper", make_upper, SBX_RESIDUE_PROTECTED, "sub/.MCP.json" },
	{ "protected_written", write_protected, SBX_RESIDUE_GIT_SETTINGS, ".git/config" },
	{ "loose", replace_protected, SBX_RESIDUE_LOOSE, ".git/config",
		"it is another file now", 2 },
	{ "loose_gone", remove_protected, SBX_RESIDUE_LOOSE, ".git/config",
		"it is gone" },
	{ "deep", make_deep, SBX_RESIDUE_UNREADABLE, NULL, "too deep", 1, true },
	{ "ordinary", make_ordinary, NONE },
};
/* clang-format on */

static void made_since(void **state)
{
	const struct made *row = *state;
	struct sbx_residue_mark m;
	struct sbx_residue r;
	size_t n = row->kind == NONE ? 0 : row->n ? row->n : 1;

	res_setup(NULL);
	res_begin(&m);
	row->make();
	res_collect(&r, &m);
	if (r.n != n)
		res_print(&r);
	assert_int_equal(r.n, n);
	if (n > 0 && !res_has(&r, row->kind, row->path, row->detail)) {
		res_print(&r);
		fail_msg("%s is not named", row->path ? row->path : "it");
	}
	sbx_residue_done(&r);
	res_teardown(NULL);
}

static void made_before(void **state)
{
	const struct made *row = *state;
	struct sbx_residue_mark m;
	struct sbx_residue r;

	res_setup(NULL);
	row->make();
	res_next_tick();
	res_begin(&m);
	res_collect(&r, &m);
	if (r.n != row->always)
		res_print(&r);
	assert_int_equal(r.n, row->always);
	assert_true(r.entries > 40);
	sbx_residue_done(&r);
	res_teardown(NULL);
}

T_ROWS(since, made, made_since)
T_ROWS(before, made, made_before)

int main(void)
{
	return since() + before();
}
