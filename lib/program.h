/* Finds the program of a command where it really lives, and what it needs to run inside: its
 * installation, its interpreter, the links by which it is called. They become needs of the
 * host facts, bound read-only by the plan, without opening HOME. */
#pragma once

#include "host.h"

/* *word: the command as the user wrote it; a name, looked up in the PATH of the host's facts
 * (entries that are not absolute are ignored), or a path, relative to the work dir. It is
 * replaced (owned, as before) by the path to be executed inside, unless a look-up inside finds
 * the same. Fails with a named error when it is not there, or may not be shown. */
SBX_PUBLIC int sbx_program_find(struct sbx_host *h, char **word, struct sbx_error *e);

/* The smallest directory (or the file alone) that has to be shown for the program file real,
 * an absolute resolved path, to run; owned, with the reason in *ret_why. NULL when it lies
 * where nothing may be shown from: credentials, an agent's state, the system's own trees. It is
 * never HOME, nor above it. */
SBX_PUBLIC char *sbx_program_tree(
	const struct sbx_host *h, const char *real, const char **ret_why);

/* Is tree, as sbx_program_tree() gave it, one version of a language or tool that a version manager
 * has installed? Of those a file in the project, a venv's link for example, may choose one. */
SBX_PUBLIC bool sbx_program_is_tool(const char *tree);
