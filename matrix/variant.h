/* How the launch of a cell differs from the one that sbx makes: one change, for mutants and
 * for the controls of staged scenarios. The change is data, so that it can be listed before
 * anything runs and named in a report. */
#pragma once

#include "oracle/cell.h"
#include "scene.h"

#include "sbx.h"

enum edit {
	EDIT_NONE,
	EDIT_DROP, /* operation `at` is left out */
	EDIT_KIND, /* operation `at` becomes of kind `kind`, with `src` if given */
	EDIT_SOURCE, /* operation `at` takes `src` instead of its own */
	EDIT_SWAP, /* operations `at` and `with` change places */
	EDIT_INSERT, /* a new operation of kind, src, dst before `at` */
};

/* The strings speak of any scene: "~" begins a path below its HOME, "@root" one below its
 * directory, "@env:NAME" is a variable's value. All borrowed. */
struct variant {
	enum edit edit;
	size_t at, with;
	const char *
		dst_at; /* what operation `at` must be about, or the plan is another one */
	enum sbx_op_kind kind;
	const char *src, *dst;
	const char *drop[2]; /* and the operations about these are left out */
	unsigned skip_steps; /* enum sbx_step */
	const bool *skip_filter; /* one bool a row of the filter, or NULL */
};

/* What a cell is launched with. */
struct prepared {
	struct sbx_host host;
	struct sbx_plan plan;
};

/* The same calls in the same order as `sbx run`: host, plan; then the change, if any. bwrap:
 * as for sbx_host_opts. On success the caller ends *ret with prepared_done(). */
int prepare(struct prepared *ret, const struct cell *c, const struct scene *s,
	const char *bwrap, const struct variant *v, struct sbx_error *e);
void prepared_done(struct prepared *p);

/* Options of the launch for this variant (NULL: none) and whoever runs the cells. */
struct sbx_launch_opts launch_opts(const struct cell *c, const struct variant *v);
