#include "residue.h"

#include "keeper.h"
#include "path.h"
#include "protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define DEPTH_MAX 256

static const struct {
	const char *name, *why;
} kinds[_SBX_RESIDUE_MAX] = {
	[SBX_RESIDUE_SETID] = { "setid",
		"runs with its owner's rights for whoever starts it" },
	[SBX_RESIDUE_CAPABILITY] = { "capability",
		"runs with capabilities for whoever starts it" },
	[SBX_RESIDUE_DEVICE] = { "device", "opens a device of the host" },
	[SBX_RESIDUE_FIFO] = { "fifo", "holds up whoever opens it" },
	[SBX_RESIDUE_SOCKET] = { "socket", "somebody may listen there" },
	[SBX_RESIDUE_LINK_OUT] = { "link-out",
		"leads out: what is written to it on the host is written elsewhere" },
	[SBX_RESIDUE_REPOSITORY] = { "repository",
		"git obeys its config and hooks as soon as somebody works there" },
	[SBX_RESIDUE_GIT_SETTINGS] = { "git-settings", "names programs that git runs" },
	[SBX_RESIDUE_PROTECTED] = { "protected-name",
		"an agent on the host obeys it when it is started there" },
	[SBX_RESIDUE_LOOSE] = { "came-loose",
		"was replaced or removed on the host meanwhile: from then on the agent could "
		"write there" },
	[SBX_RESIDUE_UNREADABLE] = { "unreadable", "what lies below was not looked at" },
};

const char *sbx_residue_kind_name(enum sbx_residue_kind kind)
{
	return (unsigned)kind < _SBX_RESIDUE_MAX ? kinds[kind].name : "?";
}

const char *sbx_residue_kind_why(enum sbx_residue_kind kind)
{
	return (unsigned)kind < _SBX_RESIDUE_MAX ? kinds[kind].why : "?";
}

/* ---- before ---- */

static bool in_roots(const struct sbx_strv *roots, const char *path)
{
	for (size_t i = 0; i < roots->n; i++)
		if (sbx_path_is_beneath(path, roots->v[i]))
			return true;
	return false;
}

static void add_guard(struct sbx_residue_mark *m, const struct sbx_op *op)
{
	struct sbx_residue_guard g = { .reserved = op->reserve != SBX_RESERVE_NONE };
	struct stat st = { 0 };

	if (!g.reserved && lstat(op->src, &st) < 0)
		return;
	g.path = sbx_xstrdup(g.reserved ? op->dst : op->src);
	g.dev = st.st_dev;
	g.ino = st.st_ino;
	m->guards = sbx_xrealloc(m->guards, m->n_guards + 1, sizeof(g));
	m->guards[m->n_guards++] = g;
}

void sbx_residue_begin(struct sbx_residue_mark *ret, const struct sbx_plan *plan)
{
	struct sbx_residue_mark m = { 0 };

	clock_gettime(CLOCK_REALTIME_COARSE, &m.since);
	for (size_t i = 0; i < plan->n; i++) {
		const struct sbx_op *op = &plan->ops[i];
		bool pinned = op->pin == SBX_PIN_WORKDIR || op->pin == SBX_PIN_GIT;

		/* Parents come first in a plan. */
		if (op->kind == SBX_OP_BIND && !in_roots(&m.roots, op->src))
			sbx_strv_add(&m.roots, op->src);
		else if (pinned &&
			 (op->kind == SBX_OP_RO_BIND || op->kind == SBX_OP_TEXT))
			add_guard(&m, op);
	}
	*ret = m;
}

void sbx_residue_mark_done(struct sbx_residue_mark *m)
{
	for (size_t i = 0; i < m->n_guards; i++)
		free(m->guards[i].path);
	free(m->guards);
	sbx_strv_done(&m->roots);
	*m = (struct sbx_residue_mark){ 0 };
}

/* ---- after ---- */

struct walk {
	const struct sbx_residue_mark *m;
	struct sbx_residue *found;
	const char *root;
	dev_t dev;
	char path[PATH_MAX];
	size_t len;
};

static void add(struct sbx_residue *r, enum sbx_residue_kind kind, const char *path,
	const char *detail)
{
	r->items = sbx_xrealloc(r->items, r->n + 1, sizeof(*r->items));
	r->items[r->n++] = (struct sbx_residue_item){ .kind = kind,
		.path = sbx_xstrdup(path),
		.detail = detail ? sbx_xstrdup(detail) : NULL };
}

static bool is_new(const struct walk *w, const struct stat *st)
{
	return st->st_ctim.tv_sec > w->m->since.tv_sec ||
	       (st->st_ctim.tv_sec == w->m->since.tv_sec &&
		       st->st_ctim.tv_nsec >= w->m->since.tv_nsec);
}

/* By its words alone: it need not lead anywhere yet. */
static void look_at_link(struct walk *w, int dir, const char *name)
{
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(w->path);
	SBX_CLEANUP_FREE char *to = NULL;
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return;
	target[n] = '\0';
	to = target[0] == '/' ? sbx_path_normalise(target)
			      : sbx_path_join(parent, target);
	if (to == NULL || !sbx_path_is_beneath(to, w->root))
		add(w->found, SBX_RESIDUE_LINK_OUT, w->path, target);
}

static void look_at_file(struct walk *w, int dir, const char *name, const struct stat *st)
{
	SBX_CLEANUP_FREE char *by_fd = sbx_xasprintf("/proc/self/fd/%d/%s", dir, name);

	if (st->st_mode & (S_ISUID | S_ISGID))
		add(w->found, SBX_RESIDUE_SETID, w->path, NULL);
	if (lgetxattr(by_fd, "security.capability", NULL, 0) > 0)
		add(w->found, SBX_RESIDUE_CAPABILITY, w->path, NULL);
}

/* A name of a protected path outside of .git. */
static bool is_protected_name(const char *name, size_t len)
{
	const struct sbx_protected *rows;
	size_t n;

	rows = sbx_protected_paths(&n);
	for (size_t i = 0; i < n; i++)
		if (strchr(rows[i].path, '/') == NULL && strlen(rows[i].path) == len &&
			strncmp(rows[i].path, name, len) == 0)
			return true;
	return false;
}

/* Is it, or does it lie in, something of such a name below the root? */
static bool has_protected_name(const struct walk *w)
{
	const char *p = w->path + strlen(w->root);

	while (*p == '/') {
		size_t len = strcspn(++p, "/");

		if (is_protected_name(p, len))
			return true;
		p += len;
	}
	return false;
}

/* Below a directory that is git's: one of the names that git obeys. */
static bool is_git_setting(const char *path)
{
	static const char *const names[] = { "config", "config.worktree", "commondir" };
	const char *git = strstr(path, "/.git/"), *name = strrchr(path, '/') + 1;
	size_t len = strlen(name);

	/* Branches may have any name; samples are not run. */
	if (git == NULL || strstr(git, "/refs/") || strstr(git, "/logs/") ||
		(len > 7 && strcmp(name + len - 7, ".sample") == 0))
		return false;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strstr(git, "/hooks/") != NULL;
}

/* A directory changes with every name in it: new is one that was born since. */
static bool was_born(const struct walk *w, int dir, const char *name)
{
	struct statx st;
	struct timespec born;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) < 0 ||
		!(st.stx_mask & STATX_BTIME))
		return true; /* the file system does not tell */
	born.tv_sec = st.stx_btime.tv_sec;
	born.tv_nsec = st.stx_btime.tv_nsec;
	return born.tv_sec > w->m->since.tv_sec ||
	       (born.tv_sec == w->m->since.tv_sec && born.tv_nsec >= w->m->since.tv_nsec);
}

static void look_at_name(struct walk *w, int dir, const char *name, const struct stat *st)
{
	if (S_ISDIR(st->st_mode) && !was_born(w, dir, name))
		return;
	if (strcmp(name, ".git") == 0)
		add(w->found, SBX_RESIDUE_REPOSITORY, w->path, NULL);
	else if (has_protected_name(w) && !S_ISDIR(st->st_mode))
		add(w->found, SBX_RESIDUE_PROTECTED, w->path, NULL);
	else if (S_ISREG(st->st_mode) && is_git_setting(w->path))
		add(w->found, SBX_RESIDUE_GIT_SETTINGS, w->path, NULL);
}

/* What is mounted there the command could not change; its guards say more. */
static bool is_guarded(const struct walk *w)
{
	for (size_t i = 0; i < w->m->n_guards; i++)
		if (sbx_path_is_beneath(w->path, w->m->guards[i].path))
			return true;
	return false;
}

static void look_at(struct walk *w, int dir, const char *name, const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		look_at_file(w, dir, name, st);
		break;
	case S_IFLNK:
		look_at_link(w, dir, name);
		break;
	case S_IFDIR:
		if (st->st_mode & S_ISUID)
			add(w->found, SBX_RESIDUE_SETID, w->path, NULL);
		break;
	case S_IFIFO:
		add(w->found, SBX_RESIDUE_FIFO, w->path, NULL);
		break;
	case S_IFSOCK:
		add(w->found, SBX_RESIDUE_SOCKET, w->path, NULL);
		break;
	default:
		add(w->found, SBX_RESIDUE_DEVICE, w->path, NULL);
		break;
	}
	if (!is_guarded(w))
		look_at_name(w, dir, name, st);
}

static void walk_dir(struct walk *w, int fd, int depth);

static void visit(struct walk *w, int dir, const char *name, int depth)
{
	size_t was = w->len;
	int n = snprintf(w->path + was, sizeof(w->path) - was, "/%s", name);
	struct stat st;

	if ((size_t)n >= sizeof(w->path) - was) {
		w->path[was] = '\0';
		add(w->found, SBX_RESIDUE_UNREADABLE, w->path, strerror(ENAMETOOLONG));
		return;
	}
	w->len += (size_t)n;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !sbx_keeper_made(&st)) {
		if (is_new(w, &st))
			look_at(w, dir, name, &st);
		if (S_ISDIR(st.st_mode) && st.st_dev == w->dev)
			walk_dir(w,
				openat(dir, name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				depth + 1);
	}
	w->len = was;
	w->path[was] = '\0';
}

/* Takes fd, the directory at w->path; one below zero could not be opened. */
static void walk_dir(struct walk *w, int fd, int depth)
{
	DIR *d = fd < 0 || depth > DEPTH_MAX ? NULL : fdopendir(fd);
	struct dirent *de;

	if (d == NULL) {
		add(w->found, SBX_RESIDUE_UNREADABLE, w->path,
			strerror(depth > DEPTH_MAX ? ELOOP : errno));
		sbx_close_fd(&fd);
		return;
	}
	while ((de = readdir(d)))
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			visit(w, dirfd(d), de->d_name, depth);
	closedir(d);
}

static void walk_root(
	struct sbx_residue *found, const struct sbx_residue_mark *m, const char *root)
{
	struct walk w = { .m = m, .found = found, .root = root };
	struct stat st;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOTDIR) /* a single file was bound */
		return;
	w.len = strlen(root);
	memcpy(w.path, root, w.len + 1);
	w.dev = fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
	walk_dir(&w, fd, 0);
}

static void look_at_guards(struct sbx_residue *found, const struct sbx_residue_mark *m)
{
	for (size_t i = 0; i < m->n_guards; i++) {
		const struct sbx_residue_guard *g = &m->guards[i];
		struct stat st;
		bool there = lstat(g->path, &st) == 0;

		if (g->reserved ? there && !sbx_keeper_made(&st)
				: !there || st.st_dev != g->dev || st.st_ino != g->ino)
			add(found, SBX_RESIDUE_LOOSE, g->path, NULL);
	}
}

void sbx_residue_collect(struct sbx_residue *ret, const struct sbx_residue_mark *m)
{
	struct sbx_residue found = { 0 };

	look_at_guards(&found, m);
	for (size_t i = 0; i < m->roots.n; i++)
		walk_root(&found, m, m->roots.v[i]);
	*ret = found;
}

void sbx_residue_done(struct sbx_residue *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->items[i].path);
		free(r->items[i].detail);
	}
	free(r->items);
	*r = (struct sbx_residue){ 0 };
}
