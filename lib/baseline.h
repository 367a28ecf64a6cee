/* What every sandbox gets, whoever the agent is: flags, system paths, environment. Tables, for
 * plan.c; each row with its reason. */
#pragma once

#include "util.h"

struct baseline_flag {
	const char *option;
	const char *arg; /* or NULL */
	const char *why;
};

struct baseline_path_row {
	const char *path;
	bool keep_link; /* a merged-usr link stays a link instead of being bound */
	bool net_only; /* there only while the network is shared */
	const char *why;
	bool live; /* a file that may change while the sandbox runs: bound, never copied */
};

struct baseline_env_row {
	const char *name;
	bool net_only;
	const char *why;
};

extern const struct baseline_flag baseline_flags[];
extern const struct baseline_path_row baseline_system[];
extern const struct baseline_path_row baseline_user[]; /* below home */
extern const struct baseline_path_row baseline_proc_masks[]; /* hidden by /dev/null */
extern const struct baseline_env_row baseline_env[];
extern const size_t n_baseline_flags, n_baseline_system, n_baseline_user,
	n_baseline_proc_masks, n_baseline_env;

/* PATH inside: the directories that exist there. */
extern const char baseline_path[];
