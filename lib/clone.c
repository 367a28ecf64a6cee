#include "clone.h"

#include "util.h"

#include <errno.h>
#include <sched.h>

#define STACK_SIZE 65536

pid_t sbx_clone(int (*fn)(void *), void *arg, sigset_t *ret_mask)
{
	SBX_CLEANUP_FREE char *stack = sbx_xrealloc(NULL, STACK_SIZE, 1);
	sigset_t all;
	pid_t pid;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, ret_mask);
	pid = clone(fn, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
	err = errno;
	sigprocmask(SIG_SETMASK, ret_mask, NULL);
	errno = err;
	return pid;
}
