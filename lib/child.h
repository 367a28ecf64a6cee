/* Between fork and exec of bwrap: the hygiene that no option of its gives. */
#pragma once

#include "launch.h"
#include "resources.h"

#include <signal.h>

/* What the child needs, prepared before the fork. */
struct sbx_child {
	const struct sbx_launch_opts *opts;
	const char *bwrap;
	char *const *argv;
	char *const *envp;
	const struct sbx_resources *res;
	const struct sbx_cgroup *cgroup; /* to enter, when it is one */
	const int *fds; /* further ones to inherit, ended by -1 */
	pid_t parent;
	const sigset_t *mask; /* the caller's, for the mutant that keeps it */
	bool own_mounts; /* SBX_STEP_MOUNTS can be had here */
	/* The child's word; the memory is shared until the exec. */
	int *failed; /* -errno */
	bool *outside; /* it was about the cgroup */
	bool *private_mounts;
};

/* For sbx_clone(); arg is a struct sbx_child. Only system calls, nothing that allocates or
 * locks: it runs in the caller's memory. Executes bwrap; on failure *failed says why. */
int sbx_child_main(void *arg);
