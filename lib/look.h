/* Facts about single paths, for struct sbx_host. */
#pragma once

#include "host.h"

/* What stands at path; added to the facts. */
void sbx_look_at(struct sbx_host *h, const char *path);

/* Opens the directory at real, a resolved path. Returns false, and leaves *ret alone, when it is
 * none, or not to be had. */
bool sbx_look_open(struct sbx_opened *ret, const char *real);

/* The same as sbx_look_at(), joined. */
void sbx_look_beneath(struct sbx_host *h, const char *dir, const char *rel);

/* The same for a path that may have to be reserved: also whether this user could make it. */
void sbx_look_protected(struct sbx_host *h, const char *dir, const char *rel);
