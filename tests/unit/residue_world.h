/* A work dir of many kinds of things, and a session in it, for the tests of the residue contract. */
#pragma once

#include "residue_parts.h"
#include "t.h"

/* The work dir is the current directory; "../out" lies beside it, in dir. */
extern char *res_dir, *res_work;
extern struct sbx_host res_host;
extern struct sbx_plan res_plan;

int res_setup(void **state);
int res_teardown(void **state);

/* Until every timestamp that the kernel gives is later than any that it has given. */
void res_next_tick(void);

void res_put(const char *path, const char *text);
/* Every directory above a path. */
void res_make_above(const char *path);
void res_put_below(const char *path, const char *text);

void res_begin(struct sbx_residue_mark *m);
/* Ends the mark too. */
void res_collect(struct sbx_residue *r, struct sbx_residue_mark *m);

/* rel from the work dir, or NULL: any; detail NULL: any. */
bool res_has(const struct sbx_residue *r, enum sbx_residue_kind kind, const char *rel,
	const char *detail);
void res_print(const struct sbx_residue *r);
