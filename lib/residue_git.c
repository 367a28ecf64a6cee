/* What git on the host would obey. Names count in any case: on some file systems .GIT is .git. */
#include "residue_parts.h"

#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static bool is(const char *name, const char *what)
{
	return strcasecmp(name, what) == 0;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (is(name, *list))
			return true;
	return false;
}

static bool has(int fd, const char *name)
{
	return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* git takes a directory for a repository, whatever its name, that holds these. */
static bool looks_like_git(int fd)
{
	return has(fd, "HEAD") &&
	       ((has(fd, "objects") && has(fd, "refs")) || has(fd, "commondir"));
}

/* Asked once, and only where a name suggests it. */
static bool is_git(struct residue_frame *f)
{
	if (f->sort == RESIDUE_PLAIN && !f->asked) {
		f->asked = true;
		if (looks_like_git(dirfd(f->dir)))
			f->sort = RESIDUE_GIT;
	}
	return f->sort == RESIDUE_GIT;
}

enum residue_sort residue_sort_of(struct residue_frame *f, const char *name)
{
	if (is(name, ".git"))
		return RESIDUE_GIT;
	if (f->sort == RESIDUE_WORKTREES)
		return RESIDUE_WORKTREE;
	if (is(name, "hooks") && is_git(f))
		return RESIDUE_HOOKS;
	if (is(name, "worktrees") && is_git(f))
		return RESIDUE_WORKTREES;
	return RESIDUE_PLAIN;
}

/* One that was there at the mark may change as it likes: what it obeys is named by itself. */
static bool was_there(const struct residue_walk *w, const char *path, uint64_t ino)
{
	const struct sbx_residue_place *p = residue_place_at(w, path);

	return p && p->there && (ino == 0 || p->ino == ino);
}

static bool judge_dot_git(struct residue_walk *w, const struct residue_entry *e)
{
	if (!is(e->name, ".git") || !e->fresh || residue_known(w, e) ||
		(S_ISDIR(e->st.stx_mode) && was_there(w, w->path, e->st.stx_ino)))
		return false;
	residue_add(w->out, SBX_RESIDUE_REPOSITORY, w->path,
		!S_ISDIR(e->st.stx_mode) ? "a pointer to one"
		: (e->st.stx_mask & STATX_BTIME) == 0 ||
				residue_since(&e->st.stx_btime, &w->since)
			? "new"
			: "git worked in it, or it was moved here");
	return true;
}

/* Without a .git: the directory itself is one. It takes part of it to be new, or all of it to
 * have been moved here. */
static void judge_bare(struct residue_walk *w, const struct residue_entry *e)
{
	static const char *const parts[] = { "HEAD", "objects", "refs", "commondir",
		"config", NULL };
	struct residue_frame *f = &w->frames[w->depth - 1];
	SBX_CLEANUP_FREE char *dir = NULL;

	if (f->told || f->sort != RESIDUE_PLAIN || !is_one_of(e->name, parts) ||
		!(e->fresh || f->fresh) || !is_git(f))
		return;
	f->told = true;
	dir = sbx_path_parent(w->path);
	if (!was_there(w, dir, 0))
		residue_add(w->out, SBX_RESIDUE_REPOSITORY, dir, "bare");
}

/* The settings of a repository, and the pointers to them. */
static bool judge_config(struct residue_walk *w, const struct residue_entry *e)
{
	static const char *const of_git[] = { "config", "config.worktree", "commondir",
		"modules", NULL };
	static const char *const of_tree[] = { "config.worktree", "commondir", "gitdir",
		NULL };
	struct residue_frame *f = &w->frames[w->depth - 1];
	bool is_it;

	if (e->fresh && is(e->name, "git-rebase-todo")) {
		residue_add(w->out, SBX_RESIDUE_GIT_SETTINGS, w->path,
			"'git rebase --continue' runs the commands in it");
		return true;
	}
	if (f->sort == RESIDUE_WORKTREE)
		is_it = is_one_of(e->name, of_tree) &&
			(e->fresh || (f->fresh && f->moved));
	else
		is_it = e->fresh && is_one_of(e->name, of_git) && is_git(f);
	if (!is_it || residue_known(w, e))
		return false;
	residue_add(w->out, SBX_RESIDUE_GIT_SETTINGS, w->path, NULL);
	return true;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

static bool in_hooks_path(const struct residue_walk *w)
{
	for (size_t i = 0; i < w->mark->hooks.n; i++)
		if (sbx_path_is_beneath(w->path, w->mark->hooks.v[i]))
			return true;
	return false;
}

/* Files of a directory that changed itself may have been moved here with it. */
static bool judge_hook(struct residue_walk *w, const struct residue_entry *e)
{
	struct residue_frame *f = &w->frames[w->depth - 1];
	bool dir = S_ISDIR(e->st.stx_mode), is_it;

	if (f->sort == RESIDUE_HOOKS)
		is_it = !dir && (e->fresh || f->fresh) && !ends_with(e->name, ".sample");
	else
		is_it = !dir && e->fresh &&
			((is(e->name, "hooks") && is_git(f)) || in_hooks_path(w));
	if (!is_it || residue_known(w, e))
		return false;
	residue_add(w->out, SBX_RESIDUE_GIT_HOOK, w->path, NULL);
	return true;
}

bool residue_judge_git(struct residue_walk *w, const struct residue_entry *e)
{
	bool told = judge_dot_git(w, e);

	judge_bare(w, e);
	told |= judge_config(w, e);
	told |= judge_hook(w, e);
	return told;
}
