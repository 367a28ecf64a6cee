#include "mutate.h"

#include "report.h"

#include <fnmatch.h>
#include <string.h>

static const char *const fate_names[_FATE_MAX] = {
	[FATE_NOT_RUN] = "not-run",
	[FATE_KILLED] = "killed",
	[FATE_REFUSED] = "refused",
	[FATE_EXPLAINED] = "explained",
	[FATE_SURVIVED] = "survived",
	[FATE_REFUTED] = "refuted",
};

const char *fate_name(enum fate f)
{
	return (unsigned)f < _FATE_MAX ? fate_names[f] : "?";
}

bool trial_killed_by(const struct trial *t, size_t rule)
{
	return t->killers && (t->killers[rule / 8] & (1U << rule % 8));
}

/* ---- the list of trials ---- */

static void add_trial(struct mutation *m, const struct cell *c, const struct mutant *x)
{
	struct run *r = &m->run;

	m->trials = sbx_xrealloc(m->trials, m->n + 1, sizeof(*m->trials));
	m->trials[m->n++] = (struct trial){ .cell = *c,
		.mutant = x,
		.explained = x ? equivalents_mutant(m->equivalents, x->name, c) : NULL };
	r->cells = sbx_xrealloc(r->cells, r->n + 1, sizeof(*r->cells));
	r->cells[r->n++] =
		(struct cell_result){ .cell = *c, .variant = x ? &x->variant : NULL };
}

/* Is this where most of the scenarios are played, those of the launch among them? */
static bool has_stages(const struct mutation *m, const struct cell *c)
{
	size_t all = 0, here = 0;

	for (size_t i = 0; i < m->table->n_rules; i++) {
		const struct rule *r = &m->table->rules[i];

		all += act_is_staged(r->op);
		here += act_is_staged(r->op) && table_runs(m->table, r, c);
	}
	return 2 * here > all;
}

static bool wanted(const struct mutation *m, const struct mutant *x, bool stages)
{
	if (x->staged && !stages)
		return false;
	return m->mutant_glob == NULL || fnmatch(m->mutant_glob, x->name, 0) == 0;
}

static int add_cell(struct mutation *m, const struct cell *c, const struct scene *s,
	const char *bwrap, struct sbx_error *e)
{
	struct mutants *set = &m->sets[m->n_sets];
	const bool stages = has_stages(m, c);
	struct prepared p;
	int r = prepare(&p, c, s, bwrap, NULL, e);

	if (r < 0)
		return r;
	mutants_make(set, &p.plan, s, c);
	m->n_sets++;
	prepared_done(&p);
	/* The cell itself first: a mutant of one that does not hold proves nothing. */
	add_trial(m, c, NULL);
	for (size_t i = 0; i < set->n; i++)
		if (wanted(m, &set->v[i], stages))
			add_trial(m, c, &set->v[i]);
	return 0;
}

static int expand(struct run *run, const struct scene *s, const struct run_options *o,
	struct sbx_error *e)
{
	struct mutation *m = o->arg;
	struct cell_result *cells = run->cells;
	size_t n = run->n;
	int r = 0;

	run->cells = NULL;
	run->n = 0;
	m->sets = sbx_xcalloc(n, sizeof(*m->sets));
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_cell(m, &cells[i].cell, s, o->bwrap, e);
	free(cells);
	return r;
}

/* ---- what comes of one ---- */

static void note_killers(struct mutation *m, struct trial *t, const struct cell_result *c)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t rule = (size_t)(c->v[i].rule - m->table->rules);

		if (!verdict_fails(c->v[i].verdict))
			continue;
		if (t->killers == NULL)
			t->killers = sbx_xcalloc(m->table->n_rules / 8 + 1, 1);
		t->killers[rule / 8] |= (unsigned char)(1U << rule % 8);
		m->kills[rule]++;
	}
}

static enum fate fate_of(const struct trial *t, const struct cell_result *c)
{
	bool noticed = t->killers || !cell_passed(c);

	if (t->mutant == NULL)
		return noticed ? FATE_NOT_RUN : FATE_SURVIVED;
	if (t->explained)
		return noticed ? FATE_REFUTED : FATE_EXPLAINED;
	return t->killers ? FATE_KILLED : noticed ? FATE_REFUSED : FATE_SURVIVED;
}

static void landed(struct cell_result *c, const struct run_options *o)
{
	struct mutation *m = o->arg;
	struct trial *t = &m->trials[c - m->run.cells];

	if (t->mutant)
		note_killers(m, t, c);
	else
		for (size_t i = 0; i < c->n; i++)
			/* What this machine lacks no mutant can give away. */
			m->ran[c->v[i].rule - m->table->rules] |=
				c->v[i].verdict != VERDICT_ABSENT;
	t->fate = fate_of(t, c);
	if (c->trouble && t->fate != FATE_SURVIVED)
		t->trouble = sbx_xstrdup(c->trouble);
	/* Of a cell that does not hold the report tells the story; of mutants, who noticed. */
	if (t->mutant)
		cell_result_done(c);
}

int mutation_run(struct mutation *ret, const struct run_options *options,
	struct equivalents *equivalents, const char *mutant_glob)
{
	struct run_options o = *options;
	int r;

	*ret = (struct mutation){ .table = o.table,
		.equivalents = equivalents,
		.mutant_glob = mutant_glob,
		.partial = mutant_glob || o.select.rule_glob,
		.ran = sbx_xcalloc(o.table->n_rules, sizeof(bool)),
		.kills = sbx_xcalloc(o.table->n_rules, sizeof(size_t)) };
	o.expand = expand;
	o.landed = landed;
	o.arg = ret;
	r = run_matrix(&ret->run, &o);
	return r;
}

/* ---- what it amounts to ---- */

bool mutation_rule_idle(const struct mutation *m, size_t rule, const char **ret_why)
{
	*ret_why = NULL;
	if (!m->ran[rule] || m->kills[rule])
		return false;
	for (size_t i = 0; i < m->n; i++) {
		const struct equivalence *e = equivalents_rule(
			m->equivalents, m->table->rules[rule].id, &m->trials[i].cell);

		if (e && m->trials[i].mutant == NULL) {
			*ret_why = e->why;
			break;
		}
	}
	return true;
}

static void count_idle(const struct mutation *m, struct mutation_summary *s)
{
	for (size_t i = 0; i < m->table->n_rules; i++) {
		const char *why;

		if (!mutation_rule_idle(m, i, &why))
			continue;
		if (why)
			s->idle_explained++;
		else
			s->idle++;
	}
}

static int status_of(const struct mutation *m, const struct mutation_summary *s)
{
	if (m->run.interrupted || m->run.error.code || s->cells == 0 ||
		s->cells_held != s->cells || s->fates[FATE_NOT_RUN])
		return EXIT_UNVERIFIED;
	if (s->fates[FATE_SURVIVED] || s->fates[FATE_REFUTED] || (s->idle && !s->partial))
		return EXIT_DEVIATES;
	/* Nothing but explanations proves nothing. */
	return s->fates[FATE_KILLED] + s->fates[FATE_REFUSED] ? EXIT_HOLDS
							      : EXIT_UNVERIFIED;
}

void mutation_summarise(const struct mutation *m, struct mutation_summary *ret)
{
	struct mutation_summary s = { .partial = m->partial };
	size_t killed, all = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct trial *t = &m->trials[i];

		if (t->mutant) {
			s.fates[t->fate]++;
			all++;
		} else {
			s.cells++;
			s.cells_held += t->fate == FATE_SURVIVED;
		}
	}
	count_idle(m, &s);
	killed = s.fates[FATE_KILLED] + s.fates[FATE_REFUSED];
	all -= s.fates[FATE_EXPLAINED];
	s.score = all ? (double)killed / (double)all : 0;
	s.status = status_of(m, &s);
	s.sentence =
		s.status == EXIT_HOLDS
			? "Every change of the launch is noticed, or explained."
		: s.status == EXIT_DEVIATES
			? "THE LAUNCH CAN BE CHANGED UNNOTICED, OR AN EXPLANATION IS WRONG."
			: "COULD NOT VERIFY. This is not a pass.";
	*ret = s;
}

void mutation_done(struct mutation *m)
{
	run_done(&m->run);
	for (size_t i = 0; i < m->n; i++) {
		free(m->trials[i].killers);
		free(m->trials[i].trouble);
	}
	free(m->trials);
	for (size_t i = 0; i < m->n_sets; i++)
		mutants_done(&m->sets[i]);
	free(m->sets);
	free(m->ran);
	free(m->kills);
	*m = (struct mutation){ 0 };
}
