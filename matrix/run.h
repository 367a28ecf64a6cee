/* Runs the matrix: scenes, controls, cells. */
#pragma once

#include "acts.h"
#include "variant.h"

struct result {
	const struct rule *rule;
	const struct known *known; /* the gap listed here, or NULL */
	struct observation inside;
	struct observation
		outside; /* the control; present is false where there is none */
	enum verdict verdict;
};

struct cell_result {
	struct cell cell;
	const struct variant *variant; /* how its launch is changed; NULL: not at all */
	struct result *v;
	size_t n;
	char *trouble; /* why it could not be run or read to the end; NULL: it was */
	struct sbx_strv argv; /* what was run, readable form; empty without a sandbox */
	long long ms;
	size_t count[_VERDICT_MAX];
	bool done; /* false: never reached */
};

struct run;
struct here;

struct run_options {
	const struct table *table;
	const struct probe_images *images;
	struct selection select;
	const bool *cells; /* CELL_MAX of them: which to run */
	const char *scene_base;
	const char *bwrap; /* or NULL: search PATH */
	int uid; /* who runs the cells, which are already his: a value of AXIS_UID */
	int landlock; /* what the kernel has: a value of AXIS_LANDLOCK */
	int jobs;
	int timeout_ms; /* for one cell */
	bool no_sandbox;
	bool other_table; /* not the one that comes with the program */
	/* Called after each cell, and before the first (name NULL). */
	void (*progress)(size_t done, size_t total, const struct cell_result *last);
	/* May make more of the list of cells, once a scene is there to plan in. */
	int (*expand)(struct run *r, const struct scene *s, const struct run_options *o,
		struct sbx_error *e);
	/* Takes what it needs of a finished cell, and may free its observations. */
	void (*landed)(struct cell_result *c, const struct run_options *o);
	void *arg; /* for these two */
	const struct here *here; /* the user's own world, or NULL: scenes */
	bool plan_only; /* make the list of cells, run none of them */
};

struct run {
	struct cell_result *cells; /* one a selected cell, in matrix order */
	size_t n;
	struct sbx_error error; /* why nothing was run, if so */
	bool interrupted;
};

/* Set by the signal handlers of the program: stop, clean up, report what there is. */
extern volatile int run_stop;

/* Returns 0 when every selected cell was tried; else negative with ret->error set. Always
 * fills *ret; end with run_done(). */
int run_matrix(struct run *ret, const struct run_options *o);
void run_done(struct run *r);

/* The selected cells in which a selected rule is in force, into ret->cells. */
void run_make_cells(struct run *ret, const struct run_options *o);

/* Does the most demanding plan there is come about? Returns 0, or negative with e set. */
int run_check_available(
	const struct scene *s, const struct run_options *o, struct sbx_error *e);

/* Frees the observations of one cell. */
void cell_result_done(struct cell_result *c);

/* True when every rule of the cell passed and nothing was missing. */
bool cell_passed(const struct cell_result *c);
