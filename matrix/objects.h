/* Objects of the host that are no files: IPC, a key, a victim process, leaked descriptors. */
#pragma once

#include "util.h"

#include <sys/types.h>

struct objects {
	char *nonce; /* name of queue, shared memory file and key; NULL: nothing was made */
	int key; /* System V key of memory, semaphore and queue, from the nonce */
	bool has_key; /* there is a key in the session keyring */
	pid_t victim; /* waits; has the scene's environment and a telling command line */
	int leak_dir; /* inheritable descriptors: a directory, */
	int leak_path; /* the same as O_PATH, */
	int leak_file; /* a secret file, */
	int leak_low; /* and the same at the lowest number, as a shell's "exec 5<file" leaves it */
};

#define OBJECTS_NONE       \
	((struct objects){ \
		.leak_dir = -1, .leak_path = -1, .leak_file = -1, .leak_low = -1 })

/* The word in the victim's command line that options of the launch would leave in pid 1's. */
#define OBJECTS_VICTIM_WORD "--ro-bind"

/* nonce names everything; probe is the program the victim runs; env its environment.
 * secret_dir and secret_file are what is leaked. Returns 0 or -errno with nothing left. */
int objects_create(struct objects *ret, const char *nonce, const char *probe,
	char *const *env, const char *secret_dir, const char *secret_file);

/* Removes whatever of it bears this nonce from the host, by name. For another process than
 * the one that made it; the key and the victim go with that one. */
void objects_remove_named(const char *nonce);

/* Removes all of it and frees. */
void objects_done(struct objects *o);
