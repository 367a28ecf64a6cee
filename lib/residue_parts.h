/* What the files of the residue contract share. */
#pragma once

#include "residue.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>

/* What git would make of a directory. */
enum residue_sort {
	RESIDUE_PLAIN,
	RESIDUE_GIT, /* a git directory */
	RESIDUE_HOOKS, /* its hooks */
	RESIDUE_WORKTREES, /* of its linked work trees */
	RESIDUE_WORKTREE, /* one of these */
};

/* A tree, or a file, that the command may write to. */
struct sbx_residue_root {
	char *path; /* on the host, resolved; owned */
	int fd; /* O_PATH; -1: it was not there at the mark, the keeper makes it */
	enum residue_sort sort;
};

/* A mount in such a tree, or a directory of hooks: whether it is still the same at the end. */
struct sbx_residue_place {
	char *path; /* on the host; owned */
	const char *text; /* of the placeholder, or NULL; borrowed from a table */
	bool hooks;
	enum sbx_reserve reserve; /* what the keeper lets stand there */
	bool there; /* at the mark; the rest is about what was there then */
	dev_t dev;
	ino_t ino;
	struct timespec born; /* zero where the file system does not know */
	struct timespec ctime;
};

/* Limits: what is beyond is an item. */
#define RESIDUE_DEPTH_MAX 200 /* each level holds a descriptor */
#define RESIDUE_LINKS_MAX 16384 /* changed files with several names */

/* A directory that is being read. */
struct residue_frame {
	DIR *dir;
	size_t len; /* of the path up to its name */
	enum residue_sort sort;
	bool asked; /* whether git would take it for a repository */
	bool told; /* that it is one, and new */
	bool fresh; /* changed since the mark */
	bool moved; /* and so was the one above: it may have been put there */
	bool named; /* it is, or lies in, a protected name that was told already */
};

/* Changed files with several names, to see whether all of these are here. */
struct residue_links;

struct residue_walk {
	const struct sbx_residue_mark *mark;
	struct sbx_residue_root root; /* a copy: nothing in it is owned */
	struct timespec since; /* the mark's, corrected */
	uint64_t mnt; /* the root's mount */
	char *path; /* of the entry that is being looked at */
	size_t cap;
	struct residue_frame frames[RESIDUE_DEPTH_MAX];
	size_t depth;
	struct residue_links *links;
	struct sbx_residue *out;
};

/* One entry: what it is called, and what statx() said. */
struct residue_entry {
	const char *name;
	int dirfd; /* where the name is */
	struct statx st;
	bool fresh; /* made or changed since the mark */
};

#define RESIDUE_STATX                                                                   \
	(STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_CTIME | \
		STATX_MTIME | STATX_BTIME | STATX_MNT_ID)

/* detail may be NULL; both are copied. */
void residue_add(struct sbx_residue *r, enum sbx_residue_kind kind, const char *path,
	const char *detail);

/* Was a file with this time made or changed at or after since? */
bool residue_since(const struct statx_timestamp *t, const struct timespec *since);

/* Everything below w->root; needs mark, since, links and out set. */
void residue_walk_root(struct residue_walk *w);

/* Adds what e, at w->path, is. True: a protected name was told. */
bool residue_judge(struct residue_walk *w, const struct residue_entry *e);

/* The part of it that is about git; true when it told something. */
bool residue_judge_git(struct residue_walk *w, const struct residue_entry *e);

/* What a directory is that lies in the frame under that name. */
enum residue_sort residue_sort_of(struct residue_frame *f, const char *name);

/* The place at w->path, or NULL. */
const struct sbx_residue_place *residue_place_at(
	const struct residue_walk *w, const char *path);

/* Nothing new at all: as it was just before the mark, or a placeholder that another session's
 * keeper has there. */
bool residue_known(const struct residue_walk *w, const struct residue_entry *e);

struct residue_links *residue_links_new(void);
void residue_links_see(struct residue_links *l, const struct statx *st, const char *path);
/* Adds those that have names elsewhere, and frees. */
void residue_links_end(struct residue_links *l, struct sbx_residue *out);

/* Adds the directories that core.hooksPath names for the repository in dir, as git of this user
 * would take them. */
void residue_hooks_read(struct sbx_strv *ret, const char *dir, const struct sbx_host *h);
