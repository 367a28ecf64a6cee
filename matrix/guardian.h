/* Removes a scene when its runner is gone without a word: killed, or crashed. A process of its
 * own, started before anything is made, that waits for the end of a pipe. */
#pragma once

#include <sys/types.h>

struct guardian {
	pid_t pid;
	int fd; /* write end; its closing is the alarm */
};

/* root and nonce name everything that the scene will make. Returns 0 or -errno. */
int guardian_start(struct guardian *ret, const char *root, const char *nonce);

/* The scene is removed already: the guardian ends without touching anything. */
void guardian_dismiss(struct guardian *g);
