/* The plan: an ordered list of typed operations, each with the reason that made it.
 *
 * Theory of operation. sbx_plan_build() is a pure function of policy and host facts. It emits
 *   1. flags      namespaces, capabilities, session, host name, seccomp
 *   2. mounts     sorted parents first, so that the narrowest grant is the last word;
 *                 one operation a destination (read-only beats writable)
 *   3. closing    chdir, then the read-only remount of the root
 * plus the environment and the limits, which never go into bwrap's options. bwrap applies mounts in this order, so
 * the plan can be printed, simulated and mutated before anything runs.
 */
#pragma once

#include "host.h"

enum sbx_op_kind {
	SBX_OP_FLAG, /* dst: option without argument */
	SBX_OP_OPTION, /* dst: option, src: its argument */
	SBX_OP_SECCOMP, /* the filter of filter.h */
	SBX_OP_BIND, /* src shown at dst, writable */
	SBX_OP_RO_BIND, /* src shown at dst, read-only */
	SBX_OP_TMPFS, /* empty and private at dst */
	SBX_OP_DIR, /* an empty directory at dst */
	SBX_OP_SYMLINK, /* a link at dst with text src */
	SBX_OP_PROC, /* a new procfs at dst */
	SBX_OP_DEV, /* a minimal /dev at dst */
	SBX_OP_COPY, /* the content of file src, as a private file at dst; writable unless sealed */
	SBX_OP_TEXT, /* a read-only file at dst with text src */
	SBX_OP_CHDIR, /* the payload starts in dst */
	SBX_OP_REMOUNT_RO, /* dst itself, not its submounts, becomes read-only */
	SBX_OP_ENV, /* variable dst has value src */
	SBX_OP_LIMIT, /* resource dst (enum sbx_limit_kind), at most src: pid 1 sets it */
	SBX_OP_CGROUP, /* file dst of the sandbox's cgroup has value src: cgroup.h */
	_SBX_OP_MAX,
};

/* Which opened directory a source is taken from, so that no path is walked twice. */
enum sbx_pin {
	SBX_PIN_NONE, /* src is a path */
	SBX_PIN_WORKDIR, /* src lies in, or is, the work dir */
	SBX_PIN_GIT, /* the same of the repository of a linked work tree */
	SBX_PIN_STATE, /* the same of the agent's directory of transcripts */
	SBX_PIN_BIND, /* src is extra bind number pin_index */
	_SBX_PIN_MAX,
};

/* What the launch lets stand at dst while the sandbox lives, where nothing was. */
enum sbx_reserve {
	SBX_RESERVE_NONE,
	SBX_RESERVE_DIR, /* a directory, with text as its .gitignore where there is one */
	SBX_RESERVE_FILE, /* with the text */
	SBX_RESERVE_SOCKET, /* that nobody can open; git does not see it */
	_SBX_RESERVE_MAX,
};

struct sbx_op {
	enum sbx_op_kind kind;
	char *src; /* see the kinds; owned, may be NULL */
	char *dst; /* owned */
	enum sbx_pin pin;
	size_t pin_index;
	enum sbx_reserve reserve;
	bool sealed; /* COPY, TEXT: dst is a file of the root, which becomes read-only: no mount */
	const char *text; /* borrowed from a table, or NULL */
	const char *why; /* borrowed from a table, never NULL */
};

struct sbx_plan {
	struct sbx_op *ops;
	size_t n;
};

/* Builds the plan. Fails with a named error when a protected path in a writable work dir is
 * or crosses a symbolic link. On success the caller ends *ret with sbx_plan_done(). */
SBX_PUBLIC int sbx_plan_build(struct sbx_plan *ret, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e);
SBX_PUBLIC void sbx_plan_done(struct sbx_plan *plan);

/* Appends an operation; strings are copied. For sbx_plan_build() and for tests. */
SBX_PUBLIC struct sbx_op *sbx_plan_add(struct sbx_plan *plan, enum sbx_op_kind kind,
	const char *src, const char *dst, const char *why);

/* Removes operation i. */
SBX_PUBLIC void sbx_plan_remove(struct sbx_plan *plan, size_t i);

/* The opened directory that sources of this pin lie in, or NULL. */
SBX_PUBLIC const struct sbx_opened *sbx_plan_base(
	const struct sbx_host *h, enum sbx_pin pin);

SBX_PUBLIC const char *sbx_op_kind_name(enum sbx_op_kind kind);
/* True for the kinds that change what the file tree inside looks like. */
SBX_PUBLIC bool sbx_op_is_mount(enum sbx_op_kind kind);
