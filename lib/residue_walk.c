/* The walk: one pass, without following anything. */
#include "residue_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void set_name(struct residue_walk *w, size_t len, const char *name)
{
	size_t need = len + strlen(name) + 2;

	if (need > w->cap) {
		w->cap = need * 2;
		w->path = sbx_xrealloc(w->path, w->cap, 1);
	}
	w->path[len] = '/';
	memcpy(w->path + len + 1, name, strlen(name) + 1);
}

static void unread(struct residue_walk *w, const char *why)
{
	residue_add(w->out, SBX_RESIDUE_UNREADABLE, w->path, why);
}

static bool is_root_of_ours(const struct residue_walk *w)
{
	for (size_t i = 0; i < w->mark->n_roots; i++)
		if (strcmp(w->mark->roots[i].path, w->path) == 0)
			return true;
	return false;
}

/* Takes fd. */
static void push(struct residue_walk *w, int fd, struct residue_frame f)
{
	f.dir = fd < 0 ? NULL : fdopendir(fd);
	if (f.dir == NULL) {
		unread(w, strerror(errno));
		sbx_close_fd(&fd);
		return;
	}
	f.len = strlen(w->path);
	w->frames[w->depth++] = f;
}

/* One that this user cannot open: nor could the command, with the same rights, unless it may
 * pass through or has changed the mode itself. */
static bool concerns(const struct residue_entry *e)
{
	return e->fresh ||
	       faccessat(e->dirfd, e->name, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

static void descend(struct residue_walk *w, const struct residue_entry *e, bool named)
{
	struct residue_frame *up = &w->frames[w->depth - 1];
	struct residue_frame f = { .sort = residue_sort_of(up, e->name),
		.fresh = e->fresh,
		.moved = e->fresh && up->fresh,
		.named = named || up->named };
	int fd;

	if (e->st.stx_mnt_id != w->mnt) {
		if (!is_root_of_ours(w))
			unread(w, "another file system is mounted there");
		return;
	}
	if (w->depth == RESIDUE_DEPTH_MAX) {
		unread(w, "too deep");
		return;
	}
	fd = openat(e->dirfd, e->name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || (errno == EACCES && !concerns(e))))
		return;
	push(w, fd, f);
}

static void visit(struct residue_walk *w, const char *name)
{
	struct residue_frame *f = &w->frames[w->depth - 1];
	struct residue_entry e = { .name = name, .dirfd = dirfd(f->dir) };
	bool named;

	set_name(w, f->len, name);
	if (statx(e.dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, RESIDUE_STATX,
		    &e.st) < 0) {
		if (errno != ENOENT)
			unread(w, strerror(errno));
		return;
	}
	w->out->entries++;
	e.fresh = residue_since(&e.st.stx_ctime, &w->since);
	named = residue_judge(w, &e);
	if (S_ISDIR(e.st.stx_mode))
		descend(w, &e, named);
}

static void read_on(struct residue_walk *w)
{
	struct residue_frame *f = &w->frames[w->depth - 1];
	struct dirent *de;

	errno = 0;
	de = readdir(f->dir);
	if (de == NULL) {
		w->path[f->len] = '\0';
		if (errno != 0)
			unread(w, strerror(errno));
		closedir(f->dir);
		w->depth--;
	} else if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0) {
		visit(w, de->d_name);
	}
}

/* A file that is bound by itself. */
static void visit_file(struct residue_walk *w)
{
	char *slash = strrchr(w->path, '/');
	struct residue_frame f = { .sort = RESIDUE_PLAIN };
	SBX_CLEANUP_FREE char *name = sbx_xstrdup(slash + 1);

	*slash = '\0';
	push(w, open(*w->path ? w->path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), f);
	if (w->depth == 0)
		return;
	visit(w, name);
	while (w->depth > 0)
		closedir(w->frames[--w->depth].dir);
}

void residue_walk_root(struct residue_walk *w)
{
	struct residue_frame f = { .sort = w->root.sort };
	struct statx st = { 0 };

	w->depth = 0;
	w->cap = strlen(w->root.path) + 1;
	free(w->path);
	w->path = sbx_xstrdup(w->root.path);
	if (statx(w->root.fd, "", AT_EMPTY_PATH, RESIDUE_STATX, &st) < 0) {
		unread(w, strerror(errno));
		return;
	}
	w->mnt = st.stx_mnt_id;
	if (!S_ISDIR(st.stx_mode)) {
		visit_file(w);
		return;
	}
	push(w, openat(w->root.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), f);
	while (w->depth > 0)
		read_on(w);
}
