/* What one entry is. */
#include "residue_parts.h"

#include "keeper.h"
#include "keeper_mark.h"
#include "path.h"
#include "protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static void add(struct residue_walk *w, enum sbx_residue_kind kind, const char *detail)
{
	residue_add(w->out, kind, w->path, detail);
}

/* Relative to the root; "" for a root that is a file. */
static const char *rel_path(const struct residue_walk *w)
{
	const char *rel = w->path + strlen(w->root.path);

	return rel + (*rel == '/');
}

/* ---- places ---- */

const struct sbx_residue_place *residue_place_at(
	const struct residue_walk *w, const char *path)
{
	for (size_t i = 0; i < w->mark->n_places; i++)
		if (strcmp(w->mark->places[i].path, path) == 0)
			return &w->mark->places[i];
	return NULL;
}

/* The mark of the keeper is a time, which anybody can set: so only where it works, and with
 * nothing else in it. */
static bool is_placeholder(const struct residue_walk *w, const struct residue_entry *e,
	const struct sbx_residue_place *p)
{
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(w->path);

	if (p)
		return sbx_keeper_stands(e->dirfd, e->name, p->reserve, p->text);
	/* the .gitignore in one */
	p = residue_place_at(w, parent);
	return p && p->reserve == SBX_RESERVE_DIR && p->text &&
	       strcmp(e->name, KEEPER_INNER) == 0 &&
	       sbx_keeper_stands(e->dirfd, e->name, SBX_RESERVE_FILE, p->text);
}

bool residue_known(const struct residue_walk *w, const struct residue_entry *e)
{
	const struct sbx_residue_place *p = residue_place_at(w, w->path);

	if (p && p->there && p->ino == e->st.stx_ino &&
		p->ctime.tv_sec == e->st.stx_ctime.tv_sec &&
		p->ctime.tv_nsec == e->st.stx_ctime.tv_nsec)
		return true;
	return is_placeholder(w, e, p);
}

/* ---- links ---- */

/* Do the ".." of a relative text lead above the root, whatever the names are? */
static bool climbs_out(const char *rel, const char *text)
{
	long depth = 0;

	for (const char *p = rel; *p; p++)
		depth += *p == '/';
	while (*text) {
		size_t len = strcspn(text, "/");

		if (len == 2 && text[0] == '.' && text[1] == '.')
			depth--;
		else if (len > 1 || (len == 1 && text[0] != '.'))
			depth++;
		if (depth < 0)
			return true;
		text += len;
		text += strspn(text, "/");
	}
	return false;
}

/* The kernel's word: does the path, whatever links are on it, leave the root? One that leads
 * nowhere yet has been judged by its text. */
static bool resolves_out(const struct residue_walk *w, const char *rel)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	SBX_CLEANUP_FD int fd = (int)syscall(
		SYS_openat2, w->root.fd, *rel ? rel : ".", &how, sizeof(how));

	return fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != EACCES &&
	       errno != ELOOP;
}

static bool leads_out(const struct residue_walk *w, const char *text)
{
	size_t len = strlen(w->root.path);

	if (text[0] != '/')
		return climbs_out(rel_path(w), text) || resolves_out(w, rel_path(w));
	if (strncmp(text, w->root.path, len) != 0 ||
		(text[len] != '/' && text[len] != '\0'))
		return true;
	text += len;
	text += strspn(text, "/");
	return climbs_out("", text) || resolves_out(w, text);
}

static void judge_link(struct residue_walk *w, const struct residue_entry *e)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(e->dirfd, e->name, text, sizeof(text) - 1);

	if (n < 0 && errno != ENOENT)
		add(w, SBX_RESIDUE_UNREADABLE, strerror(errno));
	if (n < 0)
		return;
	text[n] = '\0';
	if (leads_out(w, text))
		add(w, SBX_RESIDUE_LINK_OUT, text);
}

/* ---- files ---- */

/* There is no getxattr() relative to a descriptor. */
static bool has_capability(const struct residue_entry *e)
{
	SBX_CLEANUP_FREE char *path =
		sbx_xasprintf("/proc/self/fd/%d/%s", e->dirfd, e->name);

	return lgetxattr(path, "security.capability", NULL, 0) > 0;
}

static void judge_file(struct residue_walk *w, const struct residue_entry *e)
{
	if (e->st.stx_mode & (S_ISUID | S_ISGID))
		add(w, SBX_RESIDUE_SETID, e->st.stx_mode & S_ISUID ? "setuid" : "setgid");
	if (has_capability(e))
		add(w, SBX_RESIDUE_CAPABILITY, NULL);
	if (e->st.stx_nlink > 1)
		residue_links_see(w->links, &e->st, w->path);
}

static void judge_type(struct residue_walk *w, const struct residue_entry *e)
{
	switch (e->st.stx_mode & S_IFMT) {
	case S_IFREG:
		judge_file(w, e);
		break;
	case S_IFLNK:
		judge_link(w, e);
		break;
	case S_IFIFO:
		add(w, SBX_RESIDUE_FIFO, NULL);
		break;
	case S_IFSOCK:
		add(w, SBX_RESIDUE_SOCKET, NULL);
		break;
	case S_IFCHR:
	case S_IFBLK:
		add(w, SBX_RESIDUE_DEVICE, S_ISCHR(e->st.stx_mode) ? "char" : "block");
		break;
	default:
		break;
	}
}

/* ---- names ---- */

/* Is name a run of whole components of path? Case is left aside: some file systems do. */
static bool contains(const char *path, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncasecmp(p, name, len) == 0 && (p[len] == '\0' || p[len] == '/'))
			return true;
	}
	return false;
}

/* git's own are judged by what git makes of them. */
static bool judge_name(struct residue_walk *w)
{
	const struct sbx_protected *rows;
	size_t n;

	if (w->frames[w->depth - 1].named)
		return false;
	rows = sbx_protected_paths(&n);
	for (size_t i = 0; i < n; i++)
		if (strncmp(rows[i].path, ".git/", 5) != 0 &&
			contains(rel_path(w), rows[i].path)) {
			add(w, SBX_RESIDUE_PROTECTED, rows[i].why);
			return true;
		}
	return false;
}

bool residue_judge(struct residue_walk *w, const struct residue_entry *e)
{
	bool git = residue_judge_git(w, e);

	if (!e->fresh || residue_known(w, e))
		return false;
	judge_type(w, e);
	return !git && judge_name(w);
}
