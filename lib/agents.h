/* The agents: what each command needs from the host, as data.
 *
 * Facts come from runs of the real programs (claude, codex, gemini, opencode) or, where a row
 * says so, from public documentation only. Paths are relative to HOME unless absolute.
 */
#pragma once

#include "policy.h"

/* How a path of the agent is shown inside, in a profile that binds state. */
enum sbx_path_mode {
	SBX_PATH_CONFIG, /* read-only */
	SBX_PATH_EXEC, /* read-only: the host's agent runs code named here */
	SBX_PATH_CREDENTIAL, /* read-only: what the agent logs in with */
	SBX_PATH_STATE, /* a directory, writable and kept: transcripts */
	SBX_PATH_COPY, /* a file copied into the private HOME, never written back */
	_SBX_PATH_MODE_MAX,
};

/* Which part of a state directory belongs to a project (transcripts.h). */
enum sbx_by {
	SBX_BY_NOTHING, /* it cannot be told: the whole of it is bound */
	SBX_BY_PATH, /* named after the project's path */
	SBX_BY_MARKER, /* a file in it names the project */
};

struct sbx_agent_path {
	const char *path;
	enum sbx_path_mode mode;
	const char *why;
	enum sbx_by by; /* of SBX_PATH_STATE; one such path an agent at most */
};

/* A variable given a fixed value inside. */
struct sbx_agent_env {
	const char *name;
	const char *value;
	const char *why;
};

/* How a conversation is taken up again, in arguments of the command. "{}" in a word stands for
 * the conversation's id, a UUID that sbx made up. */
struct sbx_agent_resume {
	const char *const *start; /* gives a new one its id; NULL: it cannot be told */
	const char *const
		*again; /* takes up that one, or, without start, the latest of the dir */
	const char *const
		*own; /* arguments by which the user says so himself; NULL-ended */
	/* Name of the file that it is kept in, for fnmatch(), below the agent's SBX_PATH_STATE;
	 * NULL: not known */
	const char *kept_as;
	const char *why;
};

struct sbx_agent {
	const char *name;
	const char *command; /* program name; NULL for generic */
	const char *const *skip_flags; /* switch permission prompts off; NULL-ended */
	/* Come with them: keep the agent's key from its own tools; NULL-ended, NULL: it has no way */
	const char *const *key_flags;
	/* Subcommands that know the flags only behind them; NULL-ended, NULL: none */
	const char *const *skip_behind;
	const char *const *roots; /* state roots, for refusing work dirs; NULL-ended */
	const struct sbx_agent_path *paths; /* ended by .path == NULL */
	const char *const *env; /* names passed where keys are; NULL-ended */
	const struct sbx_agent_env *set_env; /* ended by .name == NULL */
	const struct sbx_agent_resume *resume; /* NULL: it has no conversations */
	bool verified; /* false: documentation only, never run by us */
	const char *why;
	const char *source; /* the file it is from; NULL: built in */
};

/* The row, borrowed; NULL when there is none. */
SBX_PUBLIC const struct sbx_agent *sbx_agent_find(const char *name);
/* All rows, borrowed; *ret_n of them. */
SBX_PUBLIC const struct sbx_agent *sbx_agents(size_t *ret_n);
/* Other rows instead of those that are built in; borrowed, and "generic" is among them. Before
 * anything else asks for one. */
SBX_PUBLIC void sbx_agents_use(const struct sbx_agent *rows, size_t n);
SBX_PUBLIC const char *sbx_path_mode_name(enum sbx_path_mode mode);

/* Below HOME, of no agent: secrets, and what the host runs by itself. No work dir may lie in
 * or above one. NULL-ended, borrowed. */
SBX_PUBLIC const char *const *sbx_credential_dirs(void);
