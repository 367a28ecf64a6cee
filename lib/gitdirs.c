#include "gitdirs.h"

#include "judge.h"
#include "look.h"
#include "path.h"
#include "protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MODULES_MAX 64 /* more stay read-only */
#define WORKTREES_MAX 64
#define NAME_DEPTH_MAX 8 /* a submodule's name may have slashes */
#define POINTER_MAX 8192

static bool is_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *dir, const char *name)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, name);
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void look_at_rows(
	struct sbx_host *h, const char *dir, const struct sbx_protected *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sbx_look_protected(h, dir, rows[i].path);
}

/* ---- below the work dir ---- */

/* A walk below .git/modules or .git/worktrees. */
struct walk {
	struct sbx_host *h;
	void (*visit)(struct walk *w, const char *rel, int depth);
};

static void each_dir(struct walk *w, const char *rel, int depth)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(w->h->workdir.real, rel);
	DIR *d = is_dir(path) ? opendir(path) : NULL;
	struct dirent *de;

	while (d && (de = readdir(d))) {
		SBX_CLEANUP_FREE char *child = sbx_xasprintf("%s/%s", rel, de->d_name);

		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			w->visit(w, child, depth);
	}
	if (d)
		closedir(d);
}

static void visit_module(struct walk *w, const char *rel, int depth)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(w->h->workdir.real, rel);
	SBX_CLEANUP_FREE char *nested = sbx_xasprintf("%s/modules", rel);
	const struct sbx_protected *rows;
	size_t n;

	if (!is_dir(path) || depth > NAME_DEPTH_MAX || w->h->modules.n >= MODULES_MAX)
		return;
	if (!is_file(path, "HEAD")) {
		each_dir(w, rel, depth + 1);
		return;
	}
	sbx_strv_add(&w->h->modules, rel);
	rows = sbx_protected_in_repository(&n);
	look_at_rows(w->h, path, rows, n);
	each_dir(w, nested, depth + 1);
}

static void visit_worktree(struct walk *w, const char *rel, int depth)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(w->h->workdir.real, rel);
	const struct sbx_protected *rows;
	size_t n;

	(void)depth;
	if (!is_dir(path) || !is_file(path, "gitdir") ||
		w->h->worktrees.n >= WORKTREES_MAX)
		return;
	sbx_strv_add(&w->h->worktrees, rel);
	rows = sbx_protected_in_worktree(&n);
	look_at_rows(w->h, path, rows, n);
}

/* ---- the work dir as a linked work tree ---- */

/* The path that a pointer file of git's leads to, resolved from dir. Owned, or NULL. */
static char *follow(const char *dir, const char *file, const char *prefix)
{
	SBX_CLEANUP_FREE char *pointer = sbx_path_join(dir, file);
	SBX_CLEANUP_FREE char *text = NULL, *path = NULL;
	char real[PATH_MAX];
	size_t skip = strlen(prefix);

	if (!is_file(dir, file) || sbx_read_file(pointer, POINTER_MAX, &text, NULL) < 0 ||
		strncmp(text, prefix, skip) != 0)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	if (text[skip] == '/')
		path = sbx_xstrdup(text + skip);
	else
		path = sbx_xasprintf("%s/%s", dir, text + skip);
	return realpath(path, real) ? sbx_xstrdup(real) : NULL;
}

/* True when the repository says of itself what the work dir's pointer says of it: who can write
 * to a work dir could otherwise name any repository of the user's. */
static bool agree(const struct sbx_host *h, const char *admin, const char *common)
{
	SBX_CLEANUP_FREE char *git = sbx_path_join(h->workdir.real, ".git");
	SBX_CLEANUP_FREE char *back = follow(admin, "gitdir", "");
	SBX_CLEANUP_FREE char *to = follow(admin, "commondir", "");
	SBX_CLEANUP_FREE char *worktrees = sbx_path_join(common, "worktrees");
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(admin);

	return back && to && strcmp(back, git) == 0 && strcmp(to, common) == 0 &&
	       strcmp(parent, worktrees) == 0;
}

static bool allowed(
	const struct sbx_host *h, const char *common, const char *const *homes)
{
	struct sbx_error e = { 0 };
	bool is = sbx_judge_path(common, "git directory", homes, &e) == 0 &&
		  !sbx_path_is_beneath(common, h->workdir.real) &&
		  !sbx_path_is_beneath(h->workdir.real, common);

	sbx_error_done(&e);
	return is;
}

static void open_linked(struct sbx_host *h, const char *admin, const char *common)
{
	const struct sbx_protected *rows;
	size_t n;

	if (!sbx_look_open(&h->git, common))
		return;
	h->git_admin = sbx_xstrdup(admin + strlen(common) + 1);
	rows = sbx_shared_in_repository(&n);
	for (size_t i = 0; i < n; i++)
		sbx_look_beneath(h, common, rows[i].path);
	rows = sbx_protected_in_worktree(&n);
	look_at_rows(h, admin, rows, n);
}

static void read_linked(struct sbx_host *h, const char *const *homes)
{
	SBX_CLEANUP_FREE char *admin = follow(h->workdir.real, ".git", "gitdir: ");
	SBX_CLEANUP_FREE char *up = admin ? sbx_path_parent(admin) : NULL;
	SBX_CLEANUP_FREE char *common = up ? sbx_path_parent(up) : NULL;

	if (common && agree(h, admin, common) && allowed(h, common, homes))
		open_linked(h, admin, common);
}

void sbx_gitdirs_read(struct sbx_host *h, const char *const *homes)
{
	SBX_CLEANUP_FREE char *git = sbx_path_join(h->workdir.real, ".git");
	enum sbx_ftype type = sbx_host_fact(h, git)->type;
	struct walk modules = { h, visit_module }, worktrees = { h, visit_worktree };

	if (type == SBX_FT_DIR) {
		each_dir(&modules, ".git/modules", 0);
		each_dir(&worktrees, ".git/worktrees", 0);
	} else if (type == SBX_FT_FILE) {
		read_linked(h, homes);
	}
}
