/* Runs the probe without any sandbox: for controls, and for the arm that must fail. It is
 * started as carelessly as a program that never heard of sandboxes would be: descriptors,
 * environment, session and limits are inherited. */
#pragma once

#include "scene.h"

struct native_result {
	char *output; /* what it wrote, owned */
	bool survivors; /* processes were left holding its output */
	bool timeout;
};

/* Returns 0 or -errno. On success the caller frees ret->output. */
int native_run(struct native_result *ret, const struct scene *s, const char *input,
	int timeout_ms);
