/* Runners for the tests of the relay: each is a process of its own, as `sbx run` is; the test is
 * the shell that started it, and who sits at the terminal. */
#pragma once

#include "t.h"

#include <sys/types.h>

extern char *runner_dir; /* holds the home, which holds the work dir */

/* sh -c script in a sandbox, with a relay. */
struct job {
	const char *script;
	int fds[3];
	bool background; /* as a shell starts it with & */
	bool let_go;
	bool broken; /* with an option that bwrap does not know; it holds controls */
	int timeout; /* 0: none */
};

#define LOST 251
#define NO_START 252
#define TIMED_OUT 253

pid_t runner_start(const struct job *j);

/* Its exit status; 1000 and the signal when it is stopped, 2000 and more when it was killed. */
int runner_await(pid_t pid);

struct reader {
	char text[65536];
	size_t len;
};

/* Reads until this has come, and forgets what came before. */
void runner_until(struct reader *r, int fd, const char *text);
void runner_to_end(struct reader *r, int fd);

/* Runs the tests of a program where they can have a terminal: as who leads a session without
 * one. Ends with the number of those that failed. */
int runner_main(int (*tests)(void));
