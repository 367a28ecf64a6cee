/* sbx-verify mutate: every mutant of every selected cell against the same rules. Some rule must
 * notice each of them, or equivalent.tbl must say why no observer could. */
#pragma once

#include "mutants.h"
#include "oracle/equivalent.h"
#include "run.h"

enum fate {
	FATE_NOT_RUN, /* interrupted, or the cell itself does not hold */
	FATE_KILLED, /* some rule deviated */
	FATE_REFUSED, /* bwrap ran nothing: that is noticed as well */
	FATE_EXPLAINED, /* survived, and equivalent.tbl says why */
	FATE_SURVIVED, /* nobody noticed, nobody explained */
	FATE_REFUTED, /* equivalent.tbl says that it cannot be noticed, but it was */
	_FATE_MAX,
};

struct trial {
	struct cell cell;
	const struct mutant *mutant; /* NULL: the cell as it is */
	const struct equivalence *explained; /* or NULL */
	enum fate fate;
	unsigned char *killers; /* a bit a rule of the table; NULL: none */
	char *trouble; /* why it was refused, or NULL */
};

struct mutation {
	const struct table *table;
	struct equivalents *equivalents;
	const char *mutant_glob; /* or NULL */
	struct trial *trials; /* one for each of run.cells */
	size_t n;
	struct mutants *sets; /* one a cell */
	size_t n_sets;
	bool partial; /* rules or mutants were selected: idleness says nothing */
	bool *ran; /* a rule was run in a cell that holds */
	size_t *kills; /* by rule */
	struct run run;
};

struct mutation_summary {
	int status; /* an exit status of report.h */
	size_t cells, cells_held; /* as they are */
	size_t fates[_FATE_MAX];
	size_t idle; /* rules that ran, killed nothing and have no line in equivalent.tbl */
	size_t idle_explained;
	bool partial; /* as in struct mutation */
	double score; /* killed / (all - explained) */
	const char *sentence;
};

/* options: as for run_matrix(); expand, landed and arg are set here. Always fills *ret; end
 * with mutation_done(). Returns 0, or negative with ret->run.error set. */
int mutation_run(struct mutation *ret, const struct run_options *options,
	struct equivalents *equivalents, const char *mutant_glob);
void mutation_summarise(const struct mutation *m, struct mutation_summary *ret);
void mutation_done(struct mutation *m);

const char *fate_name(enum fate f);
/* Is the rule idle: run, but it has killed nothing? *ret_why: the reason given, or NULL. */
bool mutation_rule_idle(const struct mutation *m, size_t rule, const char **ret_why);
bool trial_killed_by(const struct trial *t, size_t rule);
