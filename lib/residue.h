/* What a session has left that could act on the host later.
 *
 * Taken from the host's side, before the start and after the end. What the command made or
 * changed bears a time of change that it cannot set back: everything from the mark on counts. The
 * kernel's clock for files is coarse, so that what others did in the same tick (a few milliseconds
 * before) counts as well. */
#pragma once

#include "plan.h"

#include <time.h>

enum sbx_residue_kind {
	SBX_RESIDUE_SETID, /* setuid or setgid */
	SBX_RESIDUE_CAPABILITY, /* file capabilities */
	SBX_RESIDUE_DEVICE,
	SBX_RESIDUE_FIFO,
	SBX_RESIDUE_SOCKET,
	SBX_RESIDUE_LINK_OUT, /* a symbolic link that leads out; detail: where */
	SBX_RESIDUE_REPOSITORY, /* a .git that was made */
	SBX_RESIDUE_GIT_SETTINGS, /* hooks, config, commondir below a .git */
	SBX_RESIDUE_PROTECTED, /* a name that the host's agents obey */
	SBX_RESIDUE_LOOSE, /* a protected path that was replaced: its protection came loose */
	SBX_RESIDUE_UNREADABLE, /* could not be looked at; detail: why */
	_SBX_RESIDUE_MAX,
};

struct sbx_residue_item {
	enum sbx_residue_kind kind;
	char *path; /* absolute; owned */
	char *detail; /* or NULL; owned */
};

struct sbx_residue {
	struct sbx_residue_item *items; /* in the order of the walk */
	size_t n;
};

/* A protected path as it was. */
struct sbx_residue_guard {
	char *path; /* owned */
	bool reserved; /* nothing was there */
	dev_t dev;
	ino_t ino;
};

struct sbx_residue_mark {
	struct timespec since;
	struct sbx_strv roots; /* what the plan lets the command write to, on the host */
	struct sbx_residue_guard *guards;
	size_t n_guards;
};

/* Before the launch. The caller ends *ret with sbx_residue_mark_done(). */
SBX_PUBLIC void sbx_residue_begin(
	struct sbx_residue_mark *ret, const struct sbx_plan *plan);

/* After the end: one walk below the roots, which follows no link and stays on their file
 * systems. What cannot be looked at is an item. The caller ends *ret with sbx_residue_done(). */
SBX_PUBLIC void sbx_residue_collect(
	struct sbx_residue *ret, const struct sbx_residue_mark *m);

SBX_PUBLIC void sbx_residue_mark_done(struct sbx_residue_mark *m);
SBX_PUBLIC void sbx_residue_done(struct sbx_residue *r);

/* "setid" and so on, stable; and what it means for the host. */
SBX_PUBLIC const char *sbx_residue_kind_name(enum sbx_residue_kind kind);
SBX_PUBLIC const char *sbx_residue_kind_why(enum sbx_residue_kind kind);
