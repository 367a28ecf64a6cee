/* Where a control group can be made: the part of cgroup.c that only looks. */
#pragma once

#include "util.h"

#include <sys/types.h>

/* How near one came. */
enum sbx_cgroup_why {
	SBX_CGROUP_NO_MOUNT, /* no cgroup2 that this process lies in is mounted */
	SBX_CGROUP_NO_CONTROLLER, /* it does not have a controller that is wanted */
	SBX_CGROUP_NO_RIGHT, /* nothing at or above this process may be changed */
	SBX_CGROUP_BUSY, /* controllers cannot be enabled below a group with processes */
	SBX_CGROUP_FOUND,
};

/* What a remedy depends on. */
struct sbx_cgroup_machine {
	bool systemd; /* it runs this machine */
	bool container;
	bool bound; /* a wanted controller belongs to a hierarchy of cgroup v1 */
	bool root;
};

/* Looks, and enables what is wanted ("memory pids") where it finds that it may. *ret_dir: the group
 * to make one in; owned, set for FOUND. */
enum sbx_cgroup_why sbx_cgroup_find(char **ret_dir, const char *wanted);

/* The directory of the group that this process is in, by the two files' text, and the mount point
 * above which nothing is; both owned. False: there is none. */
bool sbx_cgroup_own(
	const char *mountinfo, const char *cgroup, char **ret_dir, char **ret_top);

/* Is every word of wanted among the words of have? */
bool sbx_cgroup_has(const char *have, const char *wanted);

void sbx_cgroup_look(struct sbx_cgroup_machine *ret, const char *wanted);

/* How to mend it; static text. */
const char *sbx_cgroup_remedy(
	enum sbx_cgroup_why why, const struct sbx_cgroup_machine *m);
