/* What may be there at most: mounts and variables by name, cell by cell. Written from the
 * words of docs/security.md (S3, S9, S10, S13, S15, S16), like expect.tbl, and never from what
 * the library does. */
#pragma once

#include "oracle/cell.h"
#include "tree.h"

/* One mount a line: "ro PATH", "rw PATH", "tmpfs PATH", "proc PATH". */
void allow_mounts(char *buf, size_t n, const struct tree *t, const struct cell *c);

/* Files that lie in the sealed root itself, below /etc; one a line. */
void allow_etc_files(char *buf, size_t n, const struct cell *c);

/* Files that lie in the private HOME itself, one a line. */
void allow_copies(char *buf, size_t n, const struct tree *t, const struct cell *c);

/* Names with a space between. */
void allow_env_names(char *buf, size_t n, const struct cell *c);

/* The mounts that must be there, of those that this machine and the scene can have, in the same
 * form; "dev" for devices, "sealed" for the root. */
void allow_mounts_must(char *buf, size_t n, const struct tree *t, const struct cell *c);
