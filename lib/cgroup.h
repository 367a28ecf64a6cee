/* A control group (cgroup v2) for one sandbox: what all of its processes together may use.
 *
 * Theory of operation. The nearest group at or above this process's own that may be changed, and
 * has or can be given the controllers, gets a new one, "sbx-PID-NONCE", beside whatever else is in
 * it: a group with processes of its own cannot have controllers for others below it. The child
 * enters before it executes bwrap. A helper process waits for the end of whoever made the group,
 * kills what is left in it and removes it; so nothing stays behind when the runner is killed, and
 * root, who becomes somebody else for good, can make one before. */
#pragma once

#include "plan.h"

#include <sys/types.h>

struct sbx_cgroup {
	int procs; /* its cgroup.procs, opened with the rights of whoever made it; -1: none */
	int events; /* its memory.events, or -1 */
	int leash; /* closed: it is removed */
	pid_t keeper; /* who removes it */
	char *path; /* owned */
};

#define SBX_CGROUP_NONE ((struct sbx_cgroup){ .procs = -1, .events = -1, .leash = -1 })

/* Adds to the plan what the policy asks for. */
SBX_PUBLIC void sbx_cgroup_add(struct sbx_plan *plan, const struct sbx_policy *p);

/* Makes the group that the plan asks for, with all of its values; SBX_CGROUP_NONE when it asks for
 * none. Removes groups that dead runners have left there. On success the caller ends *ret with
 * sbx_cgroup_end(); on failure (SBX_E_CGROUP, with a remedy for this machine) nothing is left. */
SBX_PUBLIC int sbx_cgroup_make(
	struct sbx_cgroup *ret, const struct sbx_plan *plan, struct sbx_error *e);

/* Moves this process into it. 0 or -errno; one system call. */
int sbx_cgroup_enter(const struct sbx_cgroup *g);

/* The kernel has ended something in it for want of memory. */
bool sbx_cgroup_starved(const struct sbx_cgroup *g);

/* Kills what is in it and waits until it is removed, at most timeout_ms. */
SBX_PUBLIC void sbx_cgroup_end(struct sbx_cgroup *g, int timeout_ms);
