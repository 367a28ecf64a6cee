/* The kill table of sbx-verify mutate, as text and as JSON. Declared in report_mutate.h. */
#include "report_mutate.h"

#include "report_parts.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* One mutant over all cells. */
struct row {
	const char *name;
	size_t fates[_FATE_MAX], cells;
	const struct trial *first; /* of the cells where it should be looked at */
	size_t *kills; /* by rule */
};

struct rows {
	struct row *v;
	size_t n;
};

static bool telling(enum fate f)
{
	return f == FATE_SURVIVED || f == FATE_REFUTED || f == FATE_NOT_RUN;
}

static struct row *row_of(struct rows *rows, const char *name, size_t n_rules)
{
	for (size_t i = 0; i < rows->n; i++)
		if (strcmp(rows->v[i].name, name) == 0)
			return &rows->v[i];
	rows->v = sbx_xrealloc(rows->v, rows->n + 1, sizeof(*rows->v));
	rows->v[rows->n] = (struct row){ .name = name,
		.kills = sbx_xcalloc(n_rules, sizeof(size_t)) };
	return &rows->v[rows->n++];
}

static void make_rows(struct rows *rows, const struct mutation *m)
{
	*rows = (struct rows){ 0 };
	for (size_t i = 0; i < m->n; i++) {
		const struct trial *t = &m->trials[i];
		struct row *r;

		if (t->mutant == NULL)
			continue;
		r = row_of(rows, t->mutant->name, m->table->n_rules);
		r->fates[t->fate]++;
		r->cells++;
		if (r->first == NULL || (telling(t->fate) && !telling(r->first->fate)))
			r->first = t;
		for (size_t k = 0; k < m->table->n_rules; k++)
			r->kills[k] += trial_killed_by(t, k);
	}
}

static void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->v[i].kills);
	free(rows->v);
}

/* ---- text ---- */

static void print_killers(const struct row *r, const struct mutation *m, FILE *f)
{
	size_t n = 0;

	for (size_t k = 0; k < m->table->n_rules; k++)
		if (r->kills[k] && ++n <= 3)
			fprintf(f, " %s", m->table->rules[k].id);
	if (n > 3)
		fprintf(f, " and %zu more", n - 3);
	if (r->fates[FATE_REFUSED])
		fprintf(f, "%s runs nothing in %zu", n ? ";" : "",
			r->fates[FATE_REFUSED]);
}

static void kill_table(const struct rows *rows, const struct mutation *m, FILE *f)
{
	fputs("mutant                                           noticed  by\n", f);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *r = &rows->v[i];
		size_t noticed = r->fates[FATE_KILLED] + r->fates[FATE_REFUSED] +
				 r->fates[FATE_REFUTED];

		fprintf(f, "%-48s %3zu/%-3zu", r->name, noticed, r->cells);
		print_killers(r, m, f);
		fputc('\n', f);
	}
	fputc('\n', f);
}

static void print_again(const struct trial *t, FILE *f)
{
	char name[CELL_NAME_MAX];

	fprintf(f, "    again      sbx-verify mutate%s --cell %s --mutant '%s'\n",
		t->cell.value[AXIS_UID] == UID_ROOT ? " --uid 0" : "",
		cell_name(&t->cell, name), t->mutant->name);
}

static void print_cells(
	const struct mutation *m, const struct row *r, enum fate fate, FILE *f)
{
	char name[CELL_NAME_MAX];
	size_t n = 0;

	fputs("    cells      ", f);
	for (size_t i = 0; i < m->n; i++) {
		const struct trial *t = &m->trials[i];

		if (t->mutant == NULL || t->fate != fate ||
			strcmp(t->mutant->name, r->name) != 0)
			continue;
		if (n++ < 6)
			fprintf(f, "%s%s", n > 1 ? ", " : "", cell_name(&t->cell, name));
	}
	if (n > 6)
		fprintf(f, " and %zu more", n - 6);
	fputc('\n', f);
}

static void tell(const struct rows *rows, const struct mutation *m, enum fate fate,
	const char *title, const struct ink *ink, FILE *f)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *r = &rows->v[i];

		if (r->fates[fate] == 0)
			continue;
		fprintf(f, "%s%s%s  %s\n", ink->bad, title, ink->off, r->name);
		print_cells(m, r, fate, f);
		if (fate == FATE_REFUTED) {
			fprintf(f, "    explained  line %d: %s\n",
				r->first->explained->line, r->first->explained->why);
			fputs("    noticed by", f);
			print_killers(r, m, f);
			fputc('\n', f);
		}
		if (r->first->trouble)
			fprintf(f, "    trouble    %s\n", r->first->trouble);
		print_again(r->first, f);
		fputc('\n', f);
	}
}

/* Cells that do not hold as they are: what sbx-verify itself would say about them. */
static void tell_cells(const struct mutation *m, const struct ink *ink, FILE *f)
{
	char name[CELL_NAME_MAX];

	for (size_t i = 0; i < m->n && i < m->run.n; i++) {
		const struct cell_result *c = &m->run.cells[i];

		if (m->trials[i].mutant || m->trials[i].fate == FATE_SURVIVED)
			continue;
		fprintf(f, "%sNOT HOLDING AS IT IS%s  %s%s%s\n", ink->bad, ink->off,
			cell_name(&c->cell, name), c->trouble ? ": " : "",
			c->trouble ? c->trouble : "");
		for (size_t k = 0; k < c->n; k++)
			if (!verdict_passes(c->v[k].verdict))
				fprintf(f, "    %s: %s\n", c->v[k].rule->id,
					verdict_name(c->v[k].verdict));
	}
}

static void explanations(const struct mutation *m, FILE *f)
{
	bool any = false;

	for (size_t e = 0; e < m->equivalents->n_mutants; e++) {
		const struct equivalence *x = &m->equivalents->mutants[e];
		size_t n = 0;

		for (size_t i = 0; i < m->n; i++)
			n += m->trials[i].fate == FATE_EXPLAINED &&
			     m->trials[i].explained == x;
		if (n == 0)
			continue;
		if (!any)
			fputs("Unnoticed, and why no observer could tell:\n", f);
		any = true;
		fprintf(f, "  %-40s %3zu  %s\n", x->glob, n, x->why);
	}
	if (any)
		fputc('\n', f);
}

static void idle_rules(
	const struct mutation *m, const struct mutation_summary *s, FILE *f)
{
	if (s->partial)
		return;
	if (s->idle)
		fputs("Rules that noticed nothing, and have no line that says what else they are "
		      "for:\n",
			f);
	for (size_t i = 0; i < m->table->n_rules; i++) {
		const char *why;

		if (mutation_rule_idle(m, i, &why) && why == NULL)
			fprintf(f, "  %s\n", m->table->rules[i].id);
	}
	fprintf(f,
		"%s%zu rules noticed nothing and need not: equivalent.tbl says why.\n\n",
		s->idle ? "\n" : "", s->idle_explained);
}

static void tail(const struct mutation_summary *s, const struct ink *ink, FILE *f)
{
	fprintf(f,
		"%zu of %zu cells hold as they are; %zu mutants: %zu killed by rules, %zu not "
		"started by bwrap, %zu explained, %zu survived, %zu explanations refuted, %zu not "
		"run\n",
		s->cells_held, s->cells,
		s->fates[FATE_KILLED] + s->fates[FATE_REFUSED] +
			s->fates[FATE_EXPLAINED] + s->fates[FATE_SURVIVED] +
			s->fates[FATE_REFUTED] + s->fates[FATE_NOT_RUN],
		s->fates[FATE_KILLED], s->fates[FATE_REFUSED], s->fates[FATE_EXPLAINED],
		s->fates[FATE_SURVIVED], s->fates[FATE_REFUTED], s->fates[FATE_NOT_RUN]);
	fprintf(f, "mutation score %.4f\n", s->score);
	fprintf(f, "%s%s%s\n", s->status == EXIT_HOLDS ? ink->good : ink->bad,
		s->sentence, ink->off);
}

int report_mutate_text(
	const struct mutation *m, const struct report *r, FILE *f, bool colour)
{
	const struct ink *ink = report_ink(colour);
	struct mutation_summary s;
	struct rows rows;

	mutation_summarise(m, &s);
	report_head(r, f);
	if (m->run.error.code)
		report_error(&m->run.error, ink, f);
	make_rows(&rows, m);
	if (rows.n)
		kill_table(&rows, m, f);
	tell_cells(m, ink, f);
	tell(&rows, m, FATE_SURVIVED, "SURVIVED", ink, f);
	tell(&rows, m, FATE_REFUTED, "EXPLANATION REFUTED", ink, f);
	explanations(m, f);
	idle_rules(m, &s, f);
	tail(&s, ink, f);
	rows_done(&rows);
	return fflush(f) || ferror(f) ? -EIO : 0;
}

int report_mutate_list(const struct mutation *m, FILE *f)
{
	struct rows rows;

	make_rows(&rows, m);
	for (size_t i = 0; i < rows.n; i++)
		fprintf(f, "%-48s %3zu cells\n", rows.v[i].name, rows.v[i].cells);
	rows_done(&rows);
	return fflush(f) || ferror(f) ? -EIO : 0;
}

/* ---- JSON ---- */

static json_t *trial_json(const struct mutation *m, const struct trial *t)
{
	json_t *j = json_object(), *by = json_array();
	char name[CELL_NAME_MAX];

	json_object_set_new(j, "cell", json_string(cell_name(&t->cell, name)));
	json_object_set_new(j, "mutant", json_string(t->mutant->name));
	json_object_set_new(j, "fate", json_string(fate_name(t->fate)));
	for (size_t k = 0; k < m->table->n_rules; k++)
		if (trial_killed_by(t, k))
			json_array_append_new(by, json_string(m->table->rules[k].id));
	json_object_set_new(j, "noticed_by", by);
	if (t->explained)
		json_object_set_new(j, "explanation", json_string(t->explained->why));
	if (t->trouble)
		json_object_set_new(j, "trouble", report_json_text(t->trouble));
	return j;
}

static json_t *rule_json(const struct mutation *m, size_t i)
{
	json_t *j = json_object();
	const char *why;
	bool idle = mutation_rule_idle(m, i, &why);

	json_object_set_new(j, "rule", json_string(m->table->rules[i].id));
	json_object_set_new(j, "kills", json_integer((json_int_t)m->kills[i]));
	json_object_set_new(j, "idle", json_boolean(idle));
	if (why)
		json_object_set_new(j, "role", json_string(why));
	return j;
}

static json_t *summary_json(const struct mutation_summary *s)
{
	json_t *j = json_object();

	for (int f = 0; f < _FATE_MAX; f++)
		json_object_set_new(j, fate_name((enum fate)f),
			json_integer((json_int_t)s->fates[f]));
	json_object_set_new(j, "cells", json_integer((json_int_t)s->cells));
	json_object_set_new(j, "cells_held", json_integer((json_int_t)s->cells_held));
	json_object_set_new(j, "idle_unexplained", json_integer((json_int_t)s->idle));
	json_object_set_new(j, "score", json_real(s->score));
	json_object_set_new(j, "partial", json_boolean(s->partial));
	json_object_set_new(j, "status", json_integer(s->status));
	json_object_set_new(j, "sentence", json_string(s->sentence));
	return j;
}

int report_mutate_json(const struct mutation *m, const struct report *r, FILE *f)
{
	json_t *j = json_object(), *trials = json_array(), *rules = json_array();
	struct mutation_summary s;
	int rc;

	mutation_summarise(m, &s);
	json_object_set_new(j, "format", json_string("sbx-verify-mutate/1"));
	report_json_head(r, j);
	json_object_set_new(j, "summary", summary_json(&s));
	for (size_t i = 0; i < m->n; i++)
		if (m->trials[i].mutant)
			json_array_append_new(trials, trial_json(m, &m->trials[i]));
	json_object_set_new(j, "mutants", trials);
	for (size_t i = 0; i < m->table->n_rules; i++)
		if (m->ran[i])
			json_array_append_new(rules, rule_json(m, i));
	json_object_set_new(j, "rules", rules);
	rc = json_dumpf(j, f, JSON_INDENT(1)) < 0 || fputc('\n', f) == EOF || fflush(f)
		     ? -EIO
		     : 0;
	json_decref(j);
	return rc;
}
