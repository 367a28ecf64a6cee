/* The landlock domain that the command runs in: abstract sockets and signals of whoever is
 * outside are out of reach, whatever the network (kernels from 6.12).
 *
 * No rules for files: what may be written is granted with everything below it, and the work dir
 * lies in the private HOME, which must be writable. */
#pragma once

/* Enters it. Returns the landlock ABI, 0 where the kernel has none that serves, -errno when it
 * has one and refuses. */
int domain_enter(void);
