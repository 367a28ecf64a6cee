#include "here.h"
#include "report_parts.h"

#include <errno.h>
#include <string.h>

/* Text from bwrap may hold any bytes; JSON may not. */
json_t *report_json_text(const char *s)
{
	json_t *j = json_string(s ? s : "");

	if (j == NULL) {
		SBX_CLEANUP_FREE char *ascii = sbx_xstrdup(s);

		for (char *p = ascii; *p; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		j = json_string(ascii);
	}
	return j;
}

static json_t *unverified(void)
{
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		if (!agents[i].verified)
			json_array_append_new(a, report_json_text(agents[i].name));
	return a;
}

static json_t *strings(const struct sbx_strv *sv)
{
	json_t *a = json_array();

	for (size_t i = 0; i < sv->n; i++)
		json_array_append_new(a, report_json_text(sv->v[i]));
	return a;
}

static json_t *tristate(int v)
{
	return v > 0 ? json_true() : v < 0 ? json_false() : json_null();
}

static json_t *observation(const struct observation *o)
{
	json_t *j = json_object();

	if (!o->present)
		return json_decref(j), json_null();
	json_object_set_new(j, "result", report_json_text(o->result));
	json_object_set_new(j, "host_sees_effect", tristate(o->host));
	json_object_set_new(j, "listener_saw_nonce", tristate(o->seen));
	return j;
}

static json_t *result(const struct result *v)
{
	json_t *j = json_object();
	char want[160];

	expectation_text(&v->rule->expect, want, sizeof(want));
	json_object_set_new(j, "rule", report_json_text(v->rule->id));
	json_object_set_new(j, "verdict", report_json_text(verdict_name(v->verdict)));
	json_object_set_new(j, "op", report_json_text(v->rule->op));
	json_object_set_new(j, "role", report_json_text(v->rule->role));
	json_object_set_new(j, "expected", report_json_text(want));
	json_object_set_new(j, "inside", observation(&v->inside));
	json_object_set_new(j, "outside", observation(&v->outside));
	if (v->verdict == VERDICT_KNOWN)
		json_object_set_new(j, "known", report_json_text(v->known->why));
	return j;
}

static json_t *cell(const struct cell_result *c)
{
	json_t *j = json_object(), *results = json_array();
	char name[CELL_NAME_MAX];

	json_object_set_new(j, "name", report_json_text(cell_name(&c->cell, name)));
	for (int a = 0; a < AXIS_MAX; a++)
		json_object_set_new(j, axis_name((enum axis)a),
			report_json_text(cell_value(&c->cell, (enum axis)a)));
	json_object_set_new(j, "verified", json_boolean(cell_passed(c)));
	json_object_set_new(
		j, "trouble", c->trouble ? report_json_text(c->trouble) : json_null());
	json_object_set_new(j, "milliseconds", json_integer(c->ms));
	json_object_set_new(j, "argv", strings(&c->argv));
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(results, result(&c->v[i]));
	json_object_set_new(j, "observations", results);
	return j;
}

static json_t *rules(const struct report *r)
{
	const struct table *t = r->options->table;
	json_t *all = json_object();

	for (size_t i = 0; i < t->n_rules; i++) {
		json_t *j = json_object();

		if (selection_has(&r->options->select, &t->rules[i])) {
			json_object_set_new(
				j, "cites", report_json_text(t->rules[i].cite));
			json_object_set_new(j, "why", report_json_text(t->rules[i].why));
			json_object_set_new(all, t->rules[i].id, j);
		} else {
			json_decref(j);
		}
	}
	return all;
}

static json_t *counts(const struct summary *s)
{
	json_t *j = json_object();

	json_object_set_new(j, "cells", json_integer((json_int_t)s->cells));
	json_object_set_new(
		j, "cells_verified", json_integer((json_int_t)s->cells_passed));
	json_object_set_new(j, "observations", json_integer((json_int_t)s->rules));
	json_object_set_new(
		j, "observations_declared", json_integer((json_int_t)s->declared));
	for (int v = 0; v < _VERDICT_MAX; v++)
		json_object_set_new(j, verdict_name((enum verdict)v),
			json_integer((json_int_t)s->count[v]));
	return j;
}

static json_t *machine(const struct facts *f)
{
	json_t *j = json_object();

	for (size_t i = 0; i < f->n; i++)
		json_object_set_new(j, f->v[i].key, report_json_text(f->v[i].value));
	return j;
}

static json_t *error(const struct sbx_error *e)
{
	json_t *j;

	if (e->code == SBX_OK)
		return json_null();
	j = json_object();
	json_object_set_new(j, "code", report_json_text(sbx_error_code_name(e->code)));
	json_object_set_new(j, "message", report_json_text(e->message));
	json_object_set_new(
		j, "remedy", e->remedy ? report_json_text(e->remedy) : json_null());
	return j;
}

static json_t *here(const struct tree *t)
{
	json_t *j = json_object();

	json_object_set_new(j, "workdir", report_json_text(t->work));
	json_object_set_new(j, "home", report_json_text(t->home));
	return j;
}

void report_json_head(const struct report *r, json_t *to)
{
	json_object_set_new(to, "version", report_json_text(sbx_version()));
	json_object_set_new(to, "machine", machine(r->facts));
	json_object_set_new(
		to, "note", r->note ? report_json_text(r->note) : json_null());
	json_object_set_new(to, "error", error(&r->run->error));
	if (r->options->here)
		json_object_set_new(to, "here", here(&r->options->here->scene.tree));
}

int report_json(const struct report *r, FILE *f)
{
	json_t *top = json_object(), *cells = json_array();
	struct summary s;
	int rc;

	report_summarise(r, &s);
	json_object_set_new(top, "format", report_json_text("sbx-verify/1"));
	report_json_head(r, top);
	json_object_set_new(top, "exit_status", json_integer(s.status));
	json_object_set_new(top, "verdict", report_json_text(s.sentence));
	json_object_set_new(top, "sandbox",
		report_json_text(r->options->no_sandbox ? "none" : "bwrap"));
	json_object_set_new(top, "interrupted", json_boolean(r->run->interrupted));
	json_object_set_new(top, "counts", counts(&s));
	json_object_set_new(top, "rules", rules(r));
	for (size_t i = 0; i < r->run->n; i++)
		json_array_append_new(cells, cell(&r->run->cells[i]));
	json_object_set_new(top, "unverified_agents", unverified());
	json_object_set_new(top, "cells", cells);
	rc = json_dumpf(top, f, JSON_INDENT(1));
	json_decref(top);
	if (rc < 0 || fputc('\n', f) == EOF || fflush(f))
		return -EIO;
	return 0;
}
