/* The files of the scene: a home full of canaries, a project with a git repository, a sibling
 * project. Every canary is unique to the run and reproducible from its path, so that content
 * is compared by hash and never printed. */
#pragma once

#include "util.h"

#include <stdint.h>

struct tree {
	char *home;
	char *work; /* home/projects/app: the work dir of every cell */
	char *sibling; /* home/projects/other */
	char *nonce; /* what makes this run's canaries its own */
};

/* Paths below home that every scene has; see tree.c. work and sibling lie below home. */
int tree_create(struct tree *t);

/* The runner's own directories in the work dir; in no fingerprint. */
#define TREE_PROBES ".probes" /* the probe programs */
#define TREE_MATERIAL ".material" /* what destructive acts are done to */

/* What claude calls the project in its own directory: the path of the work dir, with '-' for
 * everything that is no letter or digit. Owned. */
char *tree_slug(const struct tree *t);

/* The canary of a path relative to home. Owned. */
char *tree_canary(const struct tree *t, const char *rel);
uint64_t tree_canary_hash(const struct tree *t, const char *rel);
/* The probe's hash of any text. */
uint64_t tree_text_hash(const char *text);

/* Puts everything back: canaries rewritten, what does not belong removed. Sockets stay. */
int tree_restore(const struct tree *t);
/* Puts one file back, given by its full path. No-op for a path that is no canary. */
void tree_restore_file(const struct tree *t, const char *path);

/* Does the full path lie in the material? */
bool tree_is_material(const struct tree *t, const char *path);

/* Is it, or does it lie in, an agent's directory of transcripts? They grow, and stay. */
bool tree_is_transcripts(const struct tree *t, const char *path);

/* Is the full path one of the canaries? */
bool tree_has(const struct tree *t, const char *path);

/* Fingerprints of the parts, by names, types, modes, sizes, times, inodes and link counts. */
enum tree_part {
	TREE_HOME, /* home without projects and without transcripts */
	TREE_SIBLING,
	TREE_WORK, /* the work dir without the cells' own directories and protected paths */
	TREE_PROTECTED, /* .git/hooks, .git/config, agents' project config in the work dir */
	_TREE_PART_MAX,
};

struct tree_print {
	uint64_t part[_TREE_PART_MAX];
};

/* Makes, or removes, a file named by token in every part. */
int tree_mark(const struct tree *t, const char *token, bool make);

int tree_fingerprint(const struct tree *t, struct tree_print *ret);

/* Makes the material for destructive acts as it should be, in work/TREE_MATERIAL: file,
 * trunc_me, unlink_me, rename_me, rename_out, empty/. Cheap when nothing has changed. */
int tree_make_material(const struct tree *t);

/* rm -rf, without following links. */
void tree_remove(const char *path);
