/* git's directories: of submodules and linked work trees below the work dir, and of the
 * repository that the work dir, as a linked work tree, belongs to. */
#pragma once

#include "host.h"

/* Fills modules, worktrees, git and git_admin of h, and the facts about what is to be protected
 * there. Needs the work dir opened. homes: as for sbx_judge_path(). What does not fit together,
 * or lies where no work dir may lie, is left out: git then does not work inside. */
void sbx_gitdirs_read(struct sbx_host *h, const char *const *homes);
