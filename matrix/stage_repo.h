/* Repositories of a scenario's own, with git as the user runs it on the host, and what a payload
 * plants in them. In a home of the scenario's own. */
#pragma once

#include "stage_play.h"

#define GIT "/usr/bin/git"

/* A repository with one commit, and what a planted program would leave behind. */
struct repo {
	char *home, *work, *file, *marker, *program;
};

/* False when there is no git; the play has been told why. Ended with repo_done(). */
bool repo_make(struct repo *ret, struct play *p);
void repo_done(struct repo *r);

/* git on the host, in the work dir. True when it exits with 0. */
bool repo_git(const struct repo *r, const char *const *words);
#define GIT_RUN(r, ...) repo_git(r, (const char *const[]){ __VA_ARGS__, NULL })

/* Enters a clone of the repository (made at from) as the submodule at rel. */
bool repo_submodule(const struct repo *r, const char *from, const char *rel);

/* Acts of every planting: a program that tells that it has run, and passes its input on. */
void repo_plant_program(struct try *t, const struct repo *r);

/* Settings that make git run it. Owned. */
char *repo_evil_config(const struct repo *r);

/* The act that puts text into a file, rel from the work dir. */
void repo_put(struct try *t, const struct repo *r, const char *rel, const char *text);

/* Says whether the planted program has run. */
void repo_verdict(struct play *p, const struct repo *r);

/* The payload plants, then the user works on the host as ever. */
void repo_plant_and_work(struct play *p, struct try *t, struct repo *r);
