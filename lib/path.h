/* Lexical path handling. No system call is made here: links are the host module's business.
 */
#pragma once

#include "util.h"

/* Normal form of an absolute path: no "//", "/./", "/../" and no trailing slash.
 * Returns an owned string, or NULL when path is relative or empty. */
SBX_PUBLIC char *sbx_path_normalise(const char *path);

/* dir + "/" + rest, normalised. dir must be absolute; rest may have a leading slash. Owned. */
SBX_PUBLIC char *sbx_path_join(const char *dir, const char *rest);

/* True when path equals dir or lies below it. Both normalised. */
SBX_PUBLIC bool sbx_path_is_beneath(const char *path, const char *dir);

/* Number of components: "/" is 0, "/a/b" is 2. */
SBX_PUBLIC size_t sbx_path_depth(const char *path);

/* The directory part of a normalised path, owned; "/" for "/" and "/x". */
SBX_PUBLIC char *sbx_path_parent(const char *path);
