/* What in a writable work dir the host would later execute or obey: read-only inside, whatever
 * agent runs, and kept from being made where it is absent. One agent must not plant code for
 * another, nor for git. */
#pragma once

#include "plan.h"

struct sbx_protected {
	const char *path; /* relative to the work dir, or to the git directory */
	enum sbx_reserve reserve; /* what stands there meanwhile when it is absent */
	const char *text; /* of a file that stands there, or NULL */
	const char *why;
};

/* Below the work dir; borrowed. */
SBX_PUBLIC const struct sbx_protected *sbx_protected_paths(size_t *ret_n);

/* Below a git directory: of a repository or a submodule, and of a linked work tree. */
SBX_PUBLIC const struct sbx_protected *sbx_protected_in_repository(size_t *ret_n);
SBX_PUBLIC const struct sbx_protected *sbx_protected_in_worktree(size_t *ret_n);

/* Not protected: what git writes in the repository of a linked work tree, beside the tree's own
 * directory. */
SBX_PUBLIC const struct sbx_protected *sbx_shared_in_repository(size_t *ret_n);
