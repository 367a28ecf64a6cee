#include "controls.h"

#include "native.h"
#include "stage.h"

#include <errno.h>
#include <string.h>

static size_t row_of(const struct rule *r, int agent)
{
	return role_is_per_agent(r->role) ? (size_t)agent : CONTROLS_AGENTS;
}

/* A control speaks for every rule about the same act. */
static void keep(struct controls *c, const struct acts *a)
{
	const struct table *t = c->table;

	for (size_t i = 0; i < a->n; i++) {
		const struct rule *r = a->v[i].rule;
		struct observation **row = &c->by_agent[row_of(r, a->v[i].agent)];

		if (*row == NULL)
			*row = sbx_xcalloc(t->n_rules, sizeof(**row));
		for (size_t k = 0; k < t->n_rules; k++)
			if (rule_same_act(&t->rules[k], r))
				(*row)[k] = a->v[i].obs;
	}
}

static int run_acts(struct controls *c, struct acts *a, const struct scene *s,
	int timeout_ms, const char **ret_what)
{
	SBX_CLEANUP_FREE char *input = acts_input(a, s);
	struct native_result n = { 0 };
	int r = native_run(&n, s, input, timeout_ms);

	*ret_what = "the probe cannot be run outside the sandbox";
	if (r < 0)
		return r;
	/* Observations that are missing make their rules fail, one by one. */
	acts_parse(a, n.output);
	free(n.output);
	a->survivors = n.survivors;
	*ret_what = acts_evidence(a, s);
	if (*ret_what)
		return -EIO;
	keep(c, a);
	return 0;
}

int controls_run(struct controls *ret, const struct table *t, struct scene *s,
	const struct selection *sel, const bool *cells, int uid, int timeout_ms,
	const char **ret_what)
{
	struct controls c = { .table = t };
	struct acts a = { 0 };
	int r = tree_fingerprint(&s->tree, &s->baseline);

	*ret_what = "the controls cannot be prepared";
	if (r == 0)
		r = acts_for_controls(&a, t, cells, uid, s, sel);
	if (r == 0)
		r = run_acts(&c, &a, s, timeout_ms, ret_what);
	acts_done(&a);
	if (r == 0) {
		*ret_what = "the scene cannot be put back";
		r = scene_reset(s);
	}
	if (r < 0)
		controls_done(&c);
	else
		*ret = c;
	return r;
}

void controls_stage(struct controls *c, const struct rule *r, struct scene *s,
	const struct cell *cell, const struct run_options *o)
{
	const struct table *t = c->table;
	struct observation **row = &c->by_agent[row_of(r, cell->value[AXIS_AGENT])];
	struct observation obs = { 0 };

	if (r->control.kind == CONTROL_NONE || controls_find(c, r, cell)->present)
		return;
	if (*row == NULL)
		*row = sbx_xcalloc(t->n_rules, sizeof(**row));
	stage_run(r->role, s, cell, o, NULL, true, &obs);
	for (size_t k = 0; k < t->n_rules; k++)
		if (strcmp(t->rules[k].op, r->op) == 0 &&
			strcmp(t->rules[k].role, r->role) == 0)
			(*row)[k] = obs;
}

const struct observation *controls_find(
	const struct controls *c, const struct rule *r, const struct cell *cell)
{
	static const struct observation none;
	const struct observation *row = c->by_agent[row_of(r, cell->value[AXIS_AGENT])];

	return row ? &row[r - c->table->rules] : &none;
}

void controls_done(struct controls *c)
{
	for (size_t i = 0; i <= CONTROLS_AGENTS; i++)
		free(c->by_agent[i]);
	*c = (struct controls){ 0 };
}
