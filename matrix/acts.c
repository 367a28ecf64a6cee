#include "acts.h"

#include "evidence.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

bool selection_has(const struct selection *s, const struct rule *r)
{
	if (s->quick && act_is_staged(r->op))
		return false;
	return s->rule_glob == NULL || fnmatch(s->rule_glob, r->id, 0) == 0;
}

bool act_is_staged(const char *op)
{
	return strcmp(op, "stage") == 0;
}

bool act_is_host_side(const char *op)
{
	return strcmp(op, "snapshot") == 0 || act_is_staged(op);
}

static void add(
	struct acts *a, const struct rule *r, const struct cell *c, const struct scene *s)
{
	struct role_use use = { .scene = s,
		.cell = c,
		.token = a->token,
		.index = (unsigned)a->n,
		.outside = a->outside };
	struct act *act = &a->v[a->n++];

	*act = (struct act){ .rule = r, .agent = c->value[AXIS_AGENT] };
	if (role_resolve(&act->args, r->role, &use) < 0)
		act->args.listener = -1; /* the table was checked when it was loaded */
}

static int begin(struct acts *a, const struct table *t, struct scene *s)
{
	int r = tree_make_material(&s->tree);

	*a = (struct acts){ .v = sbx_xcalloc(t->n_rules, sizeof(*a->v)) };
	scene_token(s, a->token);
	if (r < 0)
		acts_done(a);
	return r;
}

int acts_for_cell(struct acts *ret, const struct table *t, const struct cell *c,
	struct scene *s, const struct selection *sel)
{
	int r = begin(ret, t, s);

	for (size_t i = 0; r == 0 && i < t->n_rules; i++) {
		const struct rule *k = &t->rules[i];

		if (table_runs(t, k, c) && selection_has(sel, k))
			add(ret, k, c, s);
	}
	return r;
}

/* Is this act on the list already, for this agent or for all? */
static bool has_act(const struct acts *a, const struct rule *k, int agent)
{
	bool per_agent = role_is_per_agent(k->role);

	for (size_t i = 0; i < a->n; i++)
		if (rule_same_act(a->v[i].rule, k) &&
			(!per_agent || a->v[i].agent == agent))
			return true;
	return false;
}

/* Outside, only who acts makes a difference. */
static bool speaks_of(const struct rule *k, const struct cell *c)
{
	unsigned uid = k->when.mask[AXIS_UID];

	return uid == 0 || (uid & (1U << c->value[AXIS_UID]));
}

static void add_controls_of(struct acts *a, const struct table *t, const struct cell *c,
	const struct scene *s, const struct selection *sel, bool per_agent_only)
{
	for (size_t i = 0; i < t->n_rules; i++) {
		const struct rule *k = &t->rules[i];

		if (k->control.kind != CONTROL_NONE && selection_has(sel, k) &&
			!act_is_staged(k->op) && speaks_of(k, c) &&
			(!per_agent_only || role_is_per_agent(k->role)) &&
			!has_act(a, k, c->value[AXIS_AGENT]))
			add(a, k, c, s);
	}
}

int acts_for_controls(struct acts *ret, const struct table *t, const bool *cells, int uid,
	struct scene *s, const struct selection *sel)
{
	int last = -1, r = begin(ret, t, s);

	ret->outside = true;
	/* Room for the roles that are counted once an agent. */
	ret->v = sbx_xrealloc(
		ret->v, t->n_rules * (size_t)axis_size(AXIS_AGENT), sizeof(*ret->v));
	for (size_t i = 0; r == 0 && i < cell_count(); i++) {
		struct cell c = cell_at(i, uid);

		if (!cells[i] || c.value[AXIS_AGENT] == last)
			continue;
		add_controls_of(ret, t, &c, s, sel, last >= 0);
		last = c.value[AXIS_AGENT];
	}
	return r;
}

/* ---- the probe's side ---- */

void acts_put_field(FILE *f, const char *s)
{
	fputc('\t', f);
	for (; *s; s++) {
		unsigned char ch = (unsigned char)*s;

		if (ch < 0x20 || ch == '%' || ch >= 0x7f)
			fprintf(f, "%%%02x", ch);
		else
			fputc(ch, f);
	}
}

static void put_set(FILE *f, const char *name, const char *value)
{
	fputs("set", f);
	acts_put_field(f, name);
	acts_put_field(f, value);
	fputc('\n', f);
}

/* Those that only look come first: outside, the others would spoil what they look at. */
static size_t put_ops(FILE *f, const struct acts *a, bool changing)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		const char *op = a->v[i].rule->op;

		if (act_is_host_side(op) || evidence_exists(op) != changing)
			continue;
		fprintf(f, "op\t%zu", i);
		acts_put_field(f, op);
		for (int k = 0; a->v[i].args.v[k]; k++)
			acts_put_field(f, a->v[i].args.v[k]);
		fputc('\n', f);
		n++;
	}
	return n;
}

char *acts_input(const struct acts *a, const struct scene *s)
{
	char *out = NULL;
	size_t len, n;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		abort();
	put_set(f, "work", s->tree.work);
	put_set(f, "token", a->token);
	n = put_ops(f, a, false);
	n += put_ops(f, a, true);
	fprintf(f, "end\t%zu\n", n);
	fclose(f);
	return out;
}

static bool plain_word(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)s[i]) && s[i] != ' ')
			return false;
	return len > 0;
}

/* One "obs INDEX RESULT". */
static const char *parse_obs(struct acts *a, const char *line, size_t len)
{
	char *tab;
	unsigned long i = strtoul(line + 4, &tab, 10);
	struct observation *o;
	size_t n;

	if (tab == line + 4 || *tab != '\t' || i >= a->n)
		return "the probe wrote a line that cannot be read";
	o = &a->v[i].obs;
	n = len - (size_t)(tab + 1 - line);
	if (o->present)
		return "the probe wrote two observations for one act";
	if (n >= sizeof(o->result) || !plain_word(tab + 1, n))
		return "the probe wrote a result that cannot be read";
	memcpy(o->result, tab + 1, n);
	o->result[n] = '\0';
	o->present = true;
	return NULL;
}

const char *acts_parse(struct acts *a, const char *output)
{
	size_t expected = 0, got = 0;
	char done[96];

	for (size_t i = 0; i < a->n; i++)
		expected += !act_is_host_side(a->v[i].rule->op);
	snprintf(done, sizeof(done), "done\t%zu\t%s", expected, a->token);
	for (const char *line = output; *line;) {
		size_t len = strcspn(line, "\n");
		const char *wrong = NULL;

		if (strncmp(line, "obs\t", 4) == 0) {
			wrong = parse_obs(a, line, len);
			got++;
		} else if (len == strlen(done) && strncmp(line, done, len) == 0) {
			return got == expected ? NULL : "the probe left out observations";
		} else {
			wrong = "the probe wrote a line that cannot be read";
		}
		if (wrong)
			return wrong;
		line += len + (line[len] == '\n');
	}
	return got ? "the probe did not come to its end" : "the probe did not run";
}

/* ---- the host's side ---- */

/* Looks at the scene's files after cleaning. The control of that look is a file of our own
 * in every part: it must be noticed. */
static int look(const struct acts *a, const struct scene *s, struct tree_print *ret)
{
	int r = a->outside ? tree_mark(&s->tree, a->token, true) : 0;

	if (r == 0)
		r = tree_fingerprint(&s->tree, ret);
	if (a->outside)
		tree_mark(&s->tree, a->token, false);
	return r;
}

const char *acts_evidence(struct acts *a, const struct scene *s)
{
	struct tree_print now = { { 0 } };
	int r = listeners_sync(&s->listeners);

	for (size_t i = 0; i < a->n; i++) {
		struct act *act = &a->v[i];

		act->obs.host =
			strcmp(act->rule->op, "daemon") == 0
				? (a->survivors ? 1 : -1)
				: evidence_effect(act->rule->op, act->args.v, a->token);
		if (act->args.listener >= 0 && r == 0)
			act->obs.seen =
				listeners_saw(&s->listeners,
					(enum listener)act->args.listener, a->token)
					? 1
					: -1;
	}
	for (size_t i = 0; i < a->n; i++)
		evidence_clean(
			a->v[i].rule->op, a->v[i].args.v, a->v[i].obs.host, &s->tree);
	a->spoiled = true;
	if (r < 0)
		return "the scene's listeners do not answer";
	if (look(a, s, &now) < 0)
		return "the scene's files cannot be looked at";
	for (size_t i = 0; i < a->n; i++)
		if (act_is_host_side(a->v[i].rule->op))
			evidence_snapshot(a->v[i].rule, s, &now, &a->v[i].obs);
	a->spoiled = memcmp(&now, &s->baseline, sizeof(now)) != 0;
	return NULL;
}

void acts_done(struct acts *a)
{
	for (size_t i = 0; i < a->n; i++)
		role_args_done(&a->v[i].args);
	free(a->v);
	*a = (struct acts){ 0 };
}
