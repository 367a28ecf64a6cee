#include "protect.h"

#include "mounts.h"
#include "path.h"

#include <errno.h>
#include <string.h>

#define DIR_STANDS SBX_RESERVE_DIR, NULL
/* So that neither git clean nor git stash on the host removes it, nor opencode misses the file. */
#define KEPT_DIR_STANDS SBX_RESERVE_DIR, "*\n"
#define FILE_STANDS(text) SBX_RESERVE_FILE, text
/* An empty directory would end opencode, a file would be listed by git. */
#define SOCKET_STANDS SBX_RESERVE_SOCKET, NULL
#define ALWAYS_THERE SBX_RESERVE_NONE, NULL
#define OPENCODE_IGNORES "node_modules\npackage.json\nbun.lock\n.gitignore\n"

/* clang-format off: a table, one thing a line */
/* A commondir that names the directory it lies in is what git assumes without one. */
#define REPOSITORY(prefix)                                                              \
	{ prefix "hooks", DIR_STANDS, "git runs them on the host" },                    \
		{ prefix "config", FILE_STANDS(""),                                     \
			"core.fsmonitor, core.hooksPath, filters: programs git runs" }, \
		{ prefix "config.worktree", FILE_STANDS(""), "as .git/config" },        \
		{ prefix "commondir", FILE_STANDS(".\n"),                               \
			"points git at another config" },                               \
		{ prefix "modules", DIR_STANDS, "hooks and config of submodules" },     \
	{                                                                               \
		prefix "worktrees", KEPT_DIR_STANDS,                                    \
			"commondir of linked work trees: points git at another config"  \
	}

static const struct sbx_protected protected_paths[] = {
	REPOSITORY(".git/"),
	{ ".claude", KEPT_DIR_STANDS,
		"hooks, commands and settings that the host's claude obeys" },
	{ ".mcp.json", SOCKET_STANDS, "MCP servers that the host's claude starts" },
	{ ".codex", SOCKET_STANDS, "config and hooks that the host's codex obeys" },
	{ ".gemini", KEPT_DIR_STANDS, "settings and hooks that the host's gemini obeys" },
	{ ".opencode", KEPT_DIR_STANDS,
		"plugins and commands that the host's opencode runs" },
	{ ".opencode/.gitignore", FILE_STANDS(OPENCODE_IGNORES),
		"opencode makes one, and ends where it cannot" },
	{ "opencode.json", SOCKET_STANDS,
		"MCP servers and plugins that the host's opencode starts" },
	{ "opencode.jsonc", SOCKET_STANDS, "as opencode.json" },
	{ ".cursor", KEPT_DIR_STANDS,
		"MCP servers and rules that the host's Cursor obeys" },
	{ ".kiro", KEPT_DIR_STANDS, "hooks and MCP servers that the host's kiro obeys" },
};

static const struct sbx_protected repository[] = { REPOSITORY("") };

static const struct sbx_protected worktree[] = {
	{ "commondir", ALWAYS_THERE, "points git at another config" },
	{ "gitdir", ALWAYS_THERE, "says to git which work tree it belongs to" },
	{ "config.worktree", FILE_STANDS(""), "as .git/config" },
};

static const struct sbx_protected shared[] = {
	{ "objects", ALWAYS_THERE, "commits of this work tree are kept there" },
	{ "refs", ALWAYS_THERE, "so are its branches" },
	{ "logs", ALWAYS_THERE, "and their history" },
};
/* clang-format on */

const struct sbx_protected *sbx_protected_paths(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(protected_paths);
	return protected_paths;
}

const struct sbx_protected *sbx_protected_in_repository(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(repository);
	return repository;
}

const struct sbx_protected *sbx_protected_in_worktree(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(worktree);
	return worktree;
}

const struct sbx_protected *sbx_shared_in_repository(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(shared);
	return shared;
}

/* What is being protected, and where its paths start. */
struct area {
	struct sbx_plan *m;
	const struct sbx_host *h;
	const char *base; /* of the pin: mounts from here on are ours */
	enum sbx_pin pin;
};

/* Every directory between the base and a protected path becomes a mount of its own: a rename
 * of it then fails with EBUSY, and the protection cannot be moved aside. */
static void pin_ancestors(const struct area *a, const char *path)
{
	SBX_CLEANUP_FREE char *dir = sbx_path_parent(path);

	while (strcmp(dir, a->base) != 0 && sbx_path_is_beneath(dir, a->base)) {
		char *up = sbx_path_parent(dir);

		sbx_mounts_add(a->m, SBX_OP_BIND, dir, dir, a->pin,
			"a mount cannot be renamed: keeps the protected path in place");
		free(dir);
		dir = up;
	}
}

static int refuse_link(const char *path, struct sbx_error *e)
{
	int r = sbx_error_set(e, SBX_E_PATH_SYMLINK, ELOOP,
		"work dir: '%s' is a symbolic link where a protected path belongs; bwrap would "
		"follow it",
		path);

	sbx_error_remedy(e,
		"look where it points; replace it by a real file or directory, or "
		"remove it, or run with the file system mode ro");
	return r;
}

/* Read-only at path; where nothing is, something comes to stand there. */
static void cover(const struct area *a, const char *path, const struct sbx_fact *f,
	const struct sbx_protected *row)
{
	bool stands = f->type != SBX_FT_ABSENT && !f->reserved;
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(path);
	bool shown = stands || row->reserve != SBX_RESERVE_SOCKET;
	struct sbx_op *op;

	if (!stands && (row->reserve == SBX_RESERVE_NONE || f->closed))
		return;
	/* What is in another sandbox's placeholder came with it. */
	if (sbx_host_fact(a->h, parent)->reserved)
		return;
	pin_ancestors(a, path);
	/* Over a socket an empty file: that is what a program finds that looks. */
	op = sbx_mounts_add(a->m, shown ? SBX_OP_RO_BIND : SBX_OP_TEXT, shown ? path : "",
		path, a->pin, row->why);
	if (stands || op == NULL)
		return;
	op->text = row->text;
	op->reserve = row->reserve;
	/* Mode 0000 means nothing to uid 0, which finds no server and ends. */
	if (op->reserve == SBX_RESERVE_SOCKET && a->h->uid == 0)
		op->reserve = SBX_RESERVE_FILE;
}

static int cover_rows(const struct area *a, const char *dir,
	const struct sbx_protected *rows, size_t n, struct sbx_error *e)
{
	for (size_t i = 0; i < n; i++) {
		SBX_CLEANUP_FREE char *path = sbx_path_join(dir, rows[i].path);
		const struct sbx_fact *f = sbx_host_fact(a->h, path);

		if (f->type == SBX_FT_LINK)
			return refuse_link(path, e);
		cover(a, path, f, &rows[i]);
	}
	return 0;
}

/* A directory of git's below one that is read-only: what is in it may be used, what is obeyed not
 * changed. */
static int open_up(const struct area *a, const char *rel,
	const struct sbx_protected *rows, size_t n, const char *why, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *dir = sbx_path_join(a->base, rel);
	const struct area in = { a->m, a->h, dir, a->pin };

	sbx_mounts_add(a->m, SBX_OP_BIND, dir, dir, a->pin, why);
	return cover_rows(&in, dir, rows, n, e);
}

static int add_git_dirs(const struct area *a, struct sbx_error *e)
{
	const struct sbx_host *h = a->h;
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->modules.n; i++)
		r = open_up(a, h->modules.v[i], repository, SBX_ARRAY_SIZE(repository),
			"a submodule's repository: commits in it work", e);
	for (size_t i = 0; r == 0 && i < h->worktrees.n; i++)
		r = open_up(a, h->worktrees.v[i], worktree, SBX_ARRAY_SIZE(worktree),
			"a linked work tree's index and HEAD: commits in it work", e);
	return r;
}

/* Rows below .git only where there is one. */
static int add_own(const struct area *a, const struct sbx_policy *p, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *git = sbx_path_join(a->base, ".git");
	const struct sbx_fact *f = sbx_host_fact(a->h, git);
	const struct sbx_protected none = { ".git", DIR_STANDS,
		"a repository made here would be the host's: its config names programs" };
	size_t first =
		f->type == SBX_FT_DIR && !f->reserved ? 0 : SBX_ARRAY_SIZE(repository);
	int r;

	if (f->type == SBX_FT_LINK)
		return refuse_link(git, e);
	if (f->type == SBX_FT_FILE)
		sbx_mounts_add(a->m, SBX_OP_RO_BIND, git, git, a->pin,
			"a worktree's pointer: git reads hooks and config where it points");
	else if (first > 0 && !(p->allow & SBX_ALLOW_GIT_INIT))
		cover(a, git, f, &none);
	r = cover_rows(a, a->base, protected_paths + first,
		SBX_ARRAY_SIZE(protected_paths) - first, e);
	return r < 0 || first > 0 ? r : add_git_dirs(a, e);
}

/* The repository of a linked work tree. What the host obeys in it stays out of reach. */
static int add_linked(struct sbx_plan *m, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e)
{
	const struct area a = { m, h, h->git.real, SBX_PIN_GIT };

	sbx_mounts_add(m, SBX_OP_RO_BIND, a.base, a.base, a.pin,
		"the repository that this linked work tree belongs to");
	if (p->fs != SBX_FS_RW)
		return 0;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(shared); i++) {
		SBX_CLEANUP_FREE char *path = sbx_path_join(a.base, shared[i].path);

		if (sbx_host_fact(h, path)->type == SBX_FT_LINK)
			return refuse_link(path, e);
		if (sbx_host_fact(h, path)->type == SBX_FT_DIR)
			sbx_mounts_add(m, SBX_OP_BIND, path, path, a.pin, shared[i].why);
	}
	return open_up(&a, h->git_admin, worktree, SBX_ARRAY_SIZE(worktree),
		"this work tree's index and HEAD", e);
}

int sbx_protect_add(struct sbx_plan *m, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e)
{
	const struct area a = { m, h, h->workdir.real, SBX_PIN_WORKDIR };
	int r = h->git.real ? add_linked(m, p, h, e) : 0;

	return r < 0 || p->fs != SBX_FS_RW ? r : add_own(&a, p, e);
}
