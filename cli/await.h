/* Waits for a launch: signals are passed on, a time limit is kept. */
#pragma once

#include "sbx.h"

struct await {
	int signals; /* from await_signals(), or -1 */
	int timeout_s; /* 0: none */
	bool timed_out; /* filled: the limit passed */
	int aborted_by; /* filled: a signal that came before the command ran, which ended it */
};

/* Blocks the signals that are passed on, but for those that this process ignores, and returns
 * a descriptor on which they are read; -errno on failure. */
int await_signals(void);

/* Until everything inside has ended. Returns 0 or -errno. */
int await_end(struct sbx_launch *l, struct await *a, struct sbx_exit *ret);
