/* What a session leaves behind that could act on the host later, and was not there before.
 *
 * Theory of operation. Before the launch sbx_residue_begin() notes the time and opens every
 * place that the plan lets the command write to. When the sandbox has ended sbx_residue_collect()
 * walks through them once, with one statx() an entry, and names what has come to be or was
 * changed since and is of a kind of the table below. It follows no link and enters no other file
 * system. What it could not look at is named too.
 *
 * "Since" is said by st_ctime, which no program can set: writing, chmod, setxattr, link and rename
 * all renew it. Kernel timestamps are coarse: they are the time of the last tick, a few
 * milliseconds ago, cut to what the file system keeps. The mark is therefore the kernel's own
 * coarse clock, which no later timestamp precedes, and a timestamp counts as the end of the unit
 * that it may have been cut to (two seconds where it has no fraction). So nothing is missed from
 * the first tick on; what the user did within the same tick before the mark is named as well,
 * and so is what the host does during the session: who it was cannot be told. A clock that is
 * set back meanwhile is reckoned with; one that is set back and forth is not. Where times come
 * from another machine (NFS, FUSE and the like) that is an item of its own.
 *
 * What a renamed directory brings with it keeps its time. For git's directories and for protected
 * names that is reckoned with. A relative link in such a directory is not looked at again.
 *
 * Not named: files made executable. Build trees are full of them, they act when somebody calls
 * them, and a script that is not executable acts as well (docs/security.md S35).
 */
#pragma once

#include "plan.h"

#include <time.h>

/* Each is a row in residue.c: what it means for the host, and how to mend it. */
enum sbx_residue_kind {
	SBX_RESIDUE_SETID, /* a file with the setuid or setgid bit */
	SBX_RESIDUE_CAPABILITY, /* a file with capabilities */
	SBX_RESIDUE_LINK_OUT, /* a link that leads out of the tree it lies in */
	SBX_RESIDUE_HARDLINK, /* a changed file that has a name somewhere else too */
	SBX_RESIDUE_FIFO,
	SBX_RESIDUE_SOCKET,
	SBX_RESIDUE_DEVICE, /* a device node, whiteouts included */
	SBX_RESIDUE_REPOSITORY, /* a git repository made or moved there, or changed */
	SBX_RESIDUE_GIT_SETTINGS, /* settings of one, or a pointer to settings */
	SBX_RESIDUE_GIT_HOOK, /* a hook, also where core.hooksPath says that they are */
	SBX_RESIDUE_PROTECTED, /* a name of sbx_protected_paths(), or a file below one */
	SBX_RESIDUE_LOOSE, /* a protected path that was replaced: the mount went with it */
	SBX_RESIDUE_UNREADABLE, /* not looked at */
	SBX_RESIDUE_CLOCK, /* times from another machine: something may be missing */
	_SBX_RESIDUE_MAX,
};

struct sbx_residue_item {
	enum sbx_residue_kind kind;
	char *path; /* absolute, on the host; any byte but NUL may be in it; owned */
	char *detail; /* text of a link, reason and so on, likewise; or NULL; owned */
};

/* In the order of the walk. Zero-initialise or collect; end with sbx_residue_done(). */
struct sbx_residue {
	struct sbx_residue_item *items;
	size_t n; /* SBX_RESIDUE_ITEMS_MAX at most */
	size_t more; /* further ones that were found and are not listed */
	size_t entries; /* how many files and directories were looked at */
};

#define SBX_RESIDUE_ITEMS_MAX 10000

struct sbx_residue_root;
struct sbx_residue_place;

/* End with sbx_residue_mark_done(). */
struct sbx_residue_mark {
	struct timespec since; /* CLOCK_REALTIME_COARSE */
	struct timespec real, boot; /* to see whether the clock was set */
	struct sbx_residue_root *roots; /* what the command may write to */
	size_t n_roots;
	struct sbx_residue_place *places; /* what is mounted in them */
	size_t n_places;
	struct sbx_strv hooks; /* directories that core.hooksPath names, absolute */
};

/* Before sbx_launch_start(). h as the plan was built from. It keeps a descriptor for each place
 * that the command may write to, and changes nothing. On success the caller ends *ret with
 * sbx_residue_mark_done(), which may be after plan and h are gone. */
SBX_PUBLIC int sbx_residue_begin(struct sbx_residue_mark *ret,
	const struct sbx_plan *plan, const struct sbx_host *h, struct sbx_error *e);

/* After sbx_launch_wait() or the relay's end, when nothing runs inside any more and the
 * placeholders are gone. What cannot be read is an item and no error; an error means that
 * nothing is known. On success the caller ends *ret with sbx_residue_done(). */
SBX_PUBLIC int sbx_residue_collect(
	struct sbx_residue *ret, const struct sbx_residue_mark *m, struct sbx_error *e);

SBX_PUBLIC void sbx_residue_mark_done(struct sbx_residue_mark *m);
SBX_PUBLIC void sbx_residue_done(struct sbx_residue *r);

/* "setid", "link-out" and so on: stable, for scripts. Then, for people, what it may do on the
 * host, and how to mend it. "?" for a value that is no kind. Never NULL. */
SBX_PUBLIC const char *sbx_residue_kind_name(enum sbx_residue_kind kind);
SBX_PUBLIC const char *sbx_residue_kind_why(enum sbx_residue_kind kind);
SBX_PUBLIC const char *sbx_residue_kind_mend(enum sbx_residue_kind kind);
