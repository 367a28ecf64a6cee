/* The descriptors that a plan needs: opened directories, copied files, the filter. */
#pragma once

#include "plan.h"

struct sbx_resources {
	int *fds; /* one an operation; -1 where the operation needs none; owned */
	size_t n;
};

/* Opens them. pinned: also for binds whose source was opened when the host was read, where
 * bwrap has --bind-fd; a source below the work dir is opened without following any link.
 * On success the caller ends *ret with sbx_resources_done(). */
int sbx_resources_open(struct sbx_resources *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, bool pinned, const bool *skip_filter,
	struct sbx_error *e);
void sbx_resources_done(struct sbx_resources *r);
