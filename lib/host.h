/* All facts that the library reads from the machine, gathered before anything is decided.
 *
 * The plan is a pure function of the policy and of this struct, so that it can be tested,
 * golden-filed and simulated without a sandbox. Only host.c and program.c fill it from the real
 * machine; tests fill it by hand with sbx_host_add_fact().
 */
#pragma once

#include "agents.h"

#include <sys/types.h>

enum sbx_ftype {
	SBX_FT_ABSENT,
	SBX_FT_FILE,
	SBX_FT_DIR,
	SBX_FT_LINK, /* as seen by lstat only */
	SBX_FT_OTHER,
};

/* Above this size a file is bound, not copied. Bytes. */
#define SBX_COPY_MAX 1048576L

/* One path that the plan may ask about. */
struct sbx_fact {
	char *path; /* normalised, owned */
	enum sbx_ftype type; /* what stands there: lstat */
	enum sbx_ftype target; /* what it leads to: stat; ABSENT for a dangling link */
	char *link; /* text of the link, or NULL; owned */
	char *real; /* for a link: the path it leads to, resolved; else NULL; owned */
	bool reserved; /* what stands there is another sandbox's placeholder (keeper.h) */
	bool closed; /* absent, and this user cannot make it: the directory is another's */
	bool kept_out; /* a file that no copy can be made of: unreadable, or too large */
};

/* The bwrap program that would be run. */
struct sbx_bwrap {
	char *path; /* absolute, owned; NULL when not found */
	struct sbx_strv options; /* every "--option" that its --help lists */
	char *real; /* path, resolved; owned; NULL in hand-made hosts: as path */
	uid_t uid; /* owner of the file */
	mode_t mode; /* st_mode */
};

/* What the command needs besides what every sandbox has; program.h finds it. */
struct sbx_need {
	char *path; /* where it is, inside as outside; owned */
	char *link; /* a link with this text is made there; NULL: it is bound read-only */
	const char *why; /* borrowed from a table */
};

/* A directory opened once; what is judged is what is bound. */
struct sbx_opened {
	char *real; /* resolved path, owned */
	int fd; /* O_PATH, close-on-exec; -1 in hand-made hosts */
	dev_t dev;
	ino_t ino;
	bool is_dir;
	bool rw; /* for extra binds */
};

struct sbx_host {
	uid_t uid;
	gid_t gid;
	char *home; /* normalised, as HOME names it */
	char *home_real; /* resolved; may equal home */
	char *user; /* login name, or the uid in digits */
	struct sbx_strv environ;
	struct sbx_bwrap bwrap;
	struct sbx_opened workdir;
	struct sbx_strv modules; /* git directories of submodules, relative to workdir */
	struct sbx_strv worktrees; /* those of linked work trees, likewise */
	/* When workdir is itself a linked work tree: the repository's git directory, and the
	 * tree's own in it ("worktrees/N"); else both NULL. */
	struct sbx_opened git;
	char *git_admin;
	/* Of an agent that keeps transcripts by project: its directory of them, and the project's
	 * name in it; else both NULL. */
	struct sbx_opened state;
	char *state_name;
	char *state_marker; /* "NAME/.project_root", which says whose it is; or NULL */
	char *state_shown; /* what it is called inside; NULL: the same */
	struct sbx_opened *binds; /* the policy's extra binds, in its order */
	size_t n_binds;
	struct sbx_fact *facts; /* sorted by path */
	size_t n_facts;
	struct sbx_need *needs;
	size_t n_needs;
	struct sbx_strv
		path_dirs; /* come before the system's in PATH inside, as outside */
	struct sbx_strv path_dirs_after; /* come after them */
	unsigned long long
		max[_SBX_LIMIT_MAX]; /* this process's own hard limits; ~0: none */
};

/* Where facts come from when not from this process; all optional, borrowed. */
struct sbx_host_opts {
	const char *home; /* instead of $HOME */
	char *const *environ; /* instead of this process's environment */
	const char
		*bwrap; /* path of the program, instead of a search in PATH; "": none */
};

/* Reads the machine: resolves and judges the work dir and the extra binds, finds bwrap and
 * its options, looks at every path that the agent's row or the plan may ask about.
 * Runs "bwrap --help" once per program file and process. A missing or silent bwrap is not an
 * error here (path NULL or no options): sbx_avail_check() says so with the remedy.
 * On success the caller ends *ret with sbx_host_done(). */
SBX_PUBLIC int sbx_host_read(struct sbx_host *ret, const struct sbx_policy *p,
	const struct sbx_host_opts *opts, struct sbx_error *e);
SBX_PUBLIC void sbx_host_done(struct sbx_host *h);

/* The fact about path, borrowed; a path never looked at is reported as absent. */
SBX_PUBLIC const struct sbx_fact *sbx_host_fact(
	const struct sbx_host *h, const char *path);

/* The same to be changed; the fact has been added. */
SBX_PUBLIC struct sbx_fact *sbx_host_change_fact(struct sbx_host *h, const char *path);

/* Adds or replaces a fact; strings are copied. For sbx_host_read() and for tests. */
SBX_PUBLIC void sbx_host_add_fact(struct sbx_host *h, const char *path,
	enum sbx_ftype type, enum sbx_ftype target, const char *link, const char *real);

/* The first bwrap in search (as PATH) that is a regular executable, owned; NULL when there is
 * none. Relative entries are ignored, so that nothing in the work dir is ever taken for it. */
SBX_PUBLIC char *sbx_host_find_bwrap(const char *search);

/* The directory in which bwrap lies when that is one that payloads write to: the work dir, a
 * writable bind, any agent's state. Owned; NULL: none. Such a bwrap is never executed. */
SBX_PUBLIC char *sbx_host_bwrap_exposed(const struct sbx_host *h);

/* Adds a need; link may be NULL, why is borrowed. One that a bound tree covers is left out,
 * and one that the new tree covers is removed. For sbx_program_find() and for tests. */
SBX_PUBLIC void sbx_host_add_need(
	struct sbx_host *h, const char *path, const char *link, const char *why);

/* True when bwrap lists the option ("--bind-fd"). */
SBX_PUBLIC bool sbx_host_has_option(const struct sbx_host *h, const char *option);

/* What the plan asks about: system paths, and paths below home; NULL-ended, borrowed. */
SBX_PUBLIC const char *const *sbx_host_system_paths(void);
SBX_PUBLIC const char *const *sbx_host_user_paths(void);
