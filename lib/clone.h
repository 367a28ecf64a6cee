/* A child for fork and exec. */
#pragma once

#include <signal.h>
#include <sys/types.h>

/* Runs fn(arg) in a new process that shares the caller's memory, on a stack of its own, while
 * the caller waits until it executes a program or ends: it may only make system calls, nothing that
 * allocates or locks. All signals are blocked in it, so that no handler of the caller runs there;
 * what was blocked before is in *ret_mask. As vfork: copying the page tables of the caller costs
 * as much as a third of bwrap's start. Returns the pid, or -1 and errno. */
pid_t sbx_clone(int (*fn)(void *), void *arg, sigset_t *ret_mask);
