#include "here.h"
#include "report_parts.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <string.h>

static const struct ink plain_ink = { "", "", "", "" };
static const struct ink colour_ink = { "\033[32m", "\033[1;31m", "\033[2m", "\033[0m" };

const struct ink *report_ink(bool colour)
{
	return colour ? &colour_ink : &plain_ink;
}

/* ---- head ---- */

void report_head(const struct report *r, FILE *f)
{
	const struct facts *k = r->facts;

	fprintf(f, "sbx-verify %s\n\n", sbx_version());
	fprintf(f, "  machine  %s, %s, %s, landlock %s\n", facts_get(k, "distribution"),
		facts_get(k, "kernel"), facts_get(k, "machine"),
		facts_get(k, "landlock"));
	fprintf(f, "  user     %s (uid %s)%s%s\n", facts_get(k, "user"),
		facts_get(k, "uid"), r->note ? "; " : "", r->note ? r->note : "");
	if (r->options->here)
		fprintf(f, "  here     %s is the work dir, %s is HOME\n",
			r->options->here->scene.tree.work,
			r->options->here->scene.tree.home);
	if (r->options->no_sandbox)
		fprintf(f, "  sandbox  NONE: --no-sandbox, the arm that must fail\n");
	else if (*facts_get(k, "bwrap.path"))
		fprintf(f, "  sandbox  %s %s, owner uid %s, mode %s, sha256 %.16s...\n",
			facts_get(k, "bwrap.path"), facts_get(k, "bwrap.version"),
			facts_get(k, "bwrap.owner"), facts_get(k, "bwrap.mode"),
			facts_get(k, "bwrap.sha256"));
	fputc('\n', f);
}

void report_error(const struct sbx_error *e, const struct ink *ink, FILE *f)
{
	fprintf(f, "%snothing was verified%s: %s [%s]\n", ink->bad, ink->off, e->message,
		sbx_error_code_name(e->code));
	if (e->remedy)
		fprintf(f, "to mend it: %s\n", e->remedy);
}

/* ---- grid ---- */

static const struct cell_result *find_cell(const struct run *r, const struct cell *c)
{
	for (size_t i = 0; i < r->n; i++)
		if (memcmp(&r->cells[i].cell, c, sizeof(*c)) == 0)
			return &r->cells[i];
	return NULL;
}

static const char *cell_text(const struct cell_result *c, char *buf, size_t n)
{
	size_t bad;

	if (c == NULL)
		return "-";
	bad = c->count[VERDICT_MISMATCH] + c->count[VERDICT_FIXED];
	if (bad)
		snprintf(buf, n, "FAIL %zu", bad);
	else if (cell_passed(c))
		snprintf(buf, n, "ok");
	else
		snprintf(buf, n, "not verified");
	return buf;
}

/* The sandbox of these is verified like the others; whether the agent can work in it is not. */
static void unverified_rows(FILE *f)
{
	const char *before =
		"Unverified, their rows are from public documentation and were "
		"never run: ";
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);

	for (size_t i = 0; i < n; i++)
		if (!agents[i].verified) {
			fprintf(f, "%s%s", before, agents[i].name);
			before = ", ";
		}
	fputs("\n\n", f);
}

static bool grid(const struct report *r, FILE *f)
{
	static const char *const titles[] = { "agent", "profile", "rw, net on",
		"rw, net off", "ro, net on", "ro, net off" };
	struct libscols_table *t = scols_new_table();
	struct cell c = { .value[AXIS_UID] = r->options->uid,
		.value[AXIS_LANDLOCK] = r->options->landlock };
	char buf[32];

	if (t == NULL)
		return false;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(titles); i++)
		scols_table_new_column(t, titles[i], 0, 0);
	scols_table_set_stream(t, f);
	scols_table_set_column_separator(t, "  ");
	scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER);
	for (c.value[AXIS_AGENT] = 0; c.value[AXIS_AGENT] < axis_size(AXIS_AGENT);
		c.value[AXIS_AGENT]++)
		for (c.value[AXIS_PROFILE] = 0; c.value[AXIS_PROFILE] < 2;
			c.value[AXIS_PROFILE]++) {
			struct libscols_line *l = scols_table_new_line(t, NULL);

			scols_line_set_data(l, 0,
				c.value[AXIS_PROFILE] ? "" : cell_value(&c, AXIS_AGENT));
			scols_line_set_data(l, 1, cell_value(&c, AXIS_PROFILE));
			for (int i = 0; i < 4; i++) {
				c.value[AXIS_FS] = i / 2;
				c.value[AXIS_NET] = i % 2;
				scols_line_set_data(l, (size_t)i + 2,
					cell_text(
						find_cell(r->run, &c), buf, sizeof(buf)));
			}
		}
	scols_print_table(t);
	scols_unref_table(t);
	fputc('\n', f);
	unverified_rows(f);
	return true;
}

/* ---- deviations ---- */

static bool same_story(const struct result *a, const struct result *b)
{
	return a->rule == b->rule && a->verdict == b->verdict &&
	       strcmp(a->inside.result, b->inside.result) == 0 &&
	       a->inside.host == b->inside.host && a->inside.seen == b->inside.seen;
}

/* One block for the same story in several cells: was it told before this cell? */
static bool told_before(const struct run *run, size_t cell, const struct result *r)
{
	for (size_t i = 0; i < cell; i++)
		for (size_t k = 0; k < run->cells[i].n; k++)
			if (same_story(&run->cells[i].v[k], r))
				return true;
	return false;
}

static void print_cells(const struct run *run, const struct result *r, FILE *f)
{
	char name[CELL_NAME_MAX];
	size_t n = 0;

	for (size_t i = 0; i < run->n; i++)
		for (size_t k = 0; k < run->cells[i].n; k++) {
			if (!same_story(&run->cells[i].v[k], r))
				continue;
			if (n++ < 6)
				fprintf(f, "%s%s", n > 1 ? ", " : "",
					cell_name(&run->cells[i].cell, name));
		}
	if (n > 6)
		fprintf(f, " and %zu more", n - 6);
	fputc('\n', f);
}

static const char *label(enum verdict v)
{
	switch (v) {
	case VERDICT_MISMATCH:
		return "DEVIATION";
	case VERDICT_FIXED:
		return "GAP CLOSED";
	case VERDICT_CONTROL:
		return "CONTROL FAILED";
	default:
		return "NO OBSERVATION";
	}
}

static void deviation(const struct report *r, const struct cell_result *c,
	const struct result *v, const struct ink *ink, FILE *f)
{
	char want[160], got[256], out[256];

	expectation_text(&v->rule->expect, want, sizeof(want));
	report_observation(&v->inside, got, sizeof(got));
	report_observation(&v->outside, out, sizeof(out));
	fprintf(f, "%s%s%s  %s [%s]\n", ink->bad, label(v->verdict), ink->off,
		v->rule->id, v->rule->cite);
	fprintf(f, "    act        %s %s\n", v->rule->op, v->rule->role);
	fprintf(f, "    cells      ");
	print_cells(r->run, v, f);
	fprintf(f, "    expected   %s\n", want);
	fprintf(f, "    inside     %s\n", got);
	if (v->rule->control.kind == CONTROL_NONE)
		fprintf(f, "    outside    no control: %s\n", v->rule->control.reason);
	else
		fprintf(f, "    outside    %s\n", out);
	fprintf(f, "    because    %s\n", v->rule->why);
	if (v->verdict == VERDICT_FIXED)
		fprintf(f,
			"    now        the gap is closed: take its 'known' line out of the "
			"table\n");
	fprintf(f,
		"    again      sbx-verify%s%s --agent %s --profile %s --fs %s --net %s --rule '%s'\n\n",
		r->options->here ? " --here" : "",
		r->options->no_sandbox ? " --no-sandbox" : "",
		cell_value(&c->cell, AXIS_AGENT), cell_value(&c->cell, AXIS_PROFILE),
		cell_value(&c->cell, AXIS_FS), cell_value(&c->cell, AXIS_NET),
		v->rule->id);
}

static void deviations(const struct report *r, const struct ink *ink, FILE *f)
{
	const struct run *run = r->run;
	char name[CELL_NAME_MAX];
	size_t shown = 0, hidden = 0;

	for (size_t i = 0; i < run->n; i++) {
		const struct cell_result *c = &run->cells[i];

		if (c->trouble)
			fprintf(f, "%sNOT VERIFIED%s  %s: %s\n", ink->bad, ink->off,
				cell_name(&c->cell, name), c->trouble);
		for (size_t k = 0; k < c->n; k++) {
			if (verdict_passes(c->v[k].verdict) ||
				told_before(run, i, &c->v[k]))
				continue;
			/* Without a run every rule is unobserved; the trouble said so. */
			if (c->trouble && c->v[k].verdict == VERDICT_MISSING)
				continue;
			if (shown++ < 60)
				deviation(r, c, &c->v[k], ink, f);
			else
				hidden++;
		}
	}
	if (hidden)
		fprintf(f, "... and %zu more; --format json has them all\n", hidden);
}

/* ---- what passed but must be said ---- */

/* The first result of a rule with that verdict, and in how many cells. */
struct finding {
	const struct result *first;
	size_t cells;
};

/* By rule; owned. One pass over all results: there are tens of thousands. */
static struct finding *find_all(const struct report *r, enum verdict which)
{
	const struct table *t = r->options->table;
	struct finding *found = sbx_xcalloc(t->n_rules, sizeof(*found));

	for (size_t c = 0; c < r->run->n; c++)
		for (size_t k = 0; k < r->run->cells[c].n; k++) {
			const struct result *v = &r->run->cells[c].v[k];
			struct finding *at = &found[v->rule - t->rules];

			if (v->verdict != which)
				continue;
			at->first = at->first ? at->first : v;
			at->cells++;
		}
	return found;
}

static void list_once(const struct report *r, enum verdict which, const char *title,
	const char *(*reason)(const struct result *v), FILE *f)
{
	SBX_CLEANUP_FREE struct finding *found = find_all(r, which);
	bool any = false;

	for (size_t i = 0; i < r->options->table->n_rules; i++) {
		if (found[i].first == NULL)
			continue;
		if (!any)
			fprintf(f, "%s\n", title);
		any = true;
		fprintf(f, "  %-22s %2zu cells  %s\n", found[i].first->rule->id,
			found[i].cells, reason(found[i].first));
	}
	if (any)
		fputc('\n', f);
}

static const char *reason_known(const struct result *v)
{
	return v->known->why;
}

static const char *reason_absent(const struct result *v)
{
	return v->rule->why;
}

static void tail(
	const struct report *r, const struct summary *s, const struct ink *ink, FILE *f)
{
	fprintf(f,
		"%zu of %zu cells verified; %zu observations of %zu: %zu as expected, %zu known "
		"gaps, %zu not on this machine, %zu deviations, %zu without observation or "
		"control\n",
		s->cells_passed, s->cells, s->rules, s->declared, s->count[VERDICT_MATCH],
		s->count[VERDICT_KNOWN], s->count[VERDICT_ABSENT],
		s->count[VERDICT_MISMATCH] + s->count[VERDICT_FIXED],
		s->count[VERDICT_MISSING] + s->count[VERDICT_CONTROL]);
	if (r->run->interrupted)
		fputs("The run was interrupted.\n", f);
	fprintf(f, "%s%s%s\n", s->status == EXIT_HOLDS ? ink->good : ink->bad,
		s->sentence, ink->off);
}

int report_text(const struct report *r, FILE *f, bool colour)
{
	const struct ink *ink = report_ink(colour);
	struct summary s;

	report_summarise(r, &s);
	report_head(r, f);
	if (r->run->error.code) {
		report_error(&r->run->error, ink, f);
		fprintf(f, "%s%s%s\n", ink->bad, s.sentence, ink->off);
		return fflush(f) || ferror(f) ? -EIO : 0;
	}
	if (!grid(r, f))
		return -ENOMEM;
	deviations(r, ink, f);
	list_once(r, VERDICT_KNOWN, "Known gaps: open, and listed in docs/security.md",
		reason_known, f);
	if (r->options->here)
		report_here(r, f);
	else
		list_once(r, VERDICT_ABSENT,
			"Not on this machine, so nothing to protect:", reason_absent, f);
	tail(r, &s, ink, f);
	return fflush(f) || ferror(f) ? -EIO : 0;
}
