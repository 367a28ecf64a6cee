/* The mounts of a plan while it is being built. */
#pragma once

#include "plan.h"

/* Adds a mount, or settles a clash on one destination: the read-only grant stays. Returns the
 * operation, or NULL when another one stays in its place. */
struct sbx_op *sbx_mounts_add(struct sbx_plan *m, enum sbx_op_kind kind, const char *src,
	const char *dst, enum sbx_pin pin, const char *why);

/* Files of the root that lie below a mount after all are mounts themselves: what is written
 * there would be written to what is mounted. */
void sbx_mounts_unseal(struct sbx_plan *m);

/* Parents first; equal depth keeps the order of insertion. */
void sbx_mounts_sort(struct sbx_plan *m);

/* protect.c. Adds the mounts for a work dir: the repository of a linked work tree that lies
 * elsewhere and, where it is writable, what is protected. Fails with a named error when a path is,
 * or crosses, a symbolic link. */
int sbx_protect_add(struct sbx_plan *m, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e);
