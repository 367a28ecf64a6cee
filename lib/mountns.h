/* A mount namespace between the host's and bwrap's.
 *
 * bwrap makes its mounts slaves of the host's: what the host mounts below the work dir during a
 * session appears inside, writable even where the work dir is not. A namespace of our own with
 * nothing shared stands in between. */
#pragma once

#include "util.h"

#include <sys/types.h>

/* For the child between fork and exec: only system calls; it shares the caller's memory. Enters
 * one, for an ordinary user with a user namespace in which he stays who he is. uid, gid: effective ones.
 * Returns 0; 1 when the kernel gives none (nothing has changed; bwrap will say why it gets none
 * either); -errno when it cannot be finished and the child must not go on. */
int sbx_mountns_enter(uid_t uid, gid_t gid);

/* False where a security module gives an ordinary user's own namespaces no rights (Ubuntu's
 * AppArmor): it cannot be undone, and bwrap, which may have a profile of its own, would fail in it. */
bool sbx_mountns_available(void);
