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

/* Kills every process with this text in its command line; returns how many there were. A probe
 * that goes on would make anew what has just been removed. */
int guardian_kill(const char *text);

/* The scene is removed already: the guardian ends without touching anything. */
void guardian_dismiss(struct guardian *g);
