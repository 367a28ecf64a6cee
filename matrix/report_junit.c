#include "report.h"

#include <errno.h>
#include <stdio.h>

/* What XML 1.0 cannot hold becomes '?'. */
static void put(FILE *f, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '&')
			fputs("&amp;", f);
		else if (c == '<')
			fputs("&lt;", f);
		else if (c == '>')
			fputs("&gt;", f);
		else if (c == '"')
			fputs("&quot;", f);
		else
			fputc(c < 0x20 || c >= 0x7f ? '?' : c, f);
	}
}

static void attribute(FILE *f, const char *name, const char *value)
{
	fprintf(f, " %s=\"", name);
	put(f, value);
	fputc('"', f);
}

static void testcase(FILE *f, const char *cell, const struct result *v)
{
	char want[160], got[256];
	const char *element = verdict_fails(v->verdict) ? "failure" : "error";

	fputs("  <testcase", f);
	attribute(f, "classname", cell);
	attribute(f, "name", v->rule->id);
	if (v->verdict == VERDICT_KNOWN || v->verdict == VERDICT_ABSENT) {
		fputs("><skipped", f);
		attribute(f, "message",
			v->verdict == VERDICT_KNOWN ? v->known->why
						    : "not on this machine");
		fputs("/></testcase>\n", f);
		return;
	}
	if (verdict_passes(v->verdict)) {
		fputs("/>\n", f);
		return;
	}
	expectation_text(&v->rule->expect, want, sizeof(want));
	report_observation(&v->inside, got, sizeof(got));
	fprintf(f, "><%s", element);
	attribute(f, "type", verdict_name(v->verdict));
	fputs(" message=\"expected ", f);
	put(f, want);
	fputs(", inside: ", f);
	put(f, got);
	fputs("\">", f);
	put(f, v->rule->why);
	fprintf(f, "</%s></testcase>\n", element);
}

/* A cell that was not verified has at least one case that says so. */
static void suite(FILE *f, const struct cell_result *c)
{
	size_t failures = c->count[VERDICT_MISMATCH] + c->count[VERDICT_FIXED];
	size_t errors = c->count[VERDICT_MISSING] + c->count[VERDICT_CONTROL];
	bool extra = c->trouble || !c->done || c->n == 0;
	char name[CELL_NAME_MAX];

	cell_name(&c->cell, name);
	fputs(" <testsuite", f);
	attribute(f, "name", name);
	fprintf(f,
		" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
		c->n + extra, failures, errors + extra,
		c->count[VERDICT_KNOWN] + c->count[VERDICT_ABSENT], (double)c->ms / 1000);
	for (size_t i = 0; i < c->n; i++)
		testcase(f, name, &c->v[i]);
	if (extra) {
		fputs("  <testcase", f);
		attribute(f, "classname", name);
		fputs(" name=\"cell\"><error", f);
		attribute(f, "message", c->trouble ? c->trouble : "the cell was not run");
		fputs("/></testcase>\n", f);
	}
	fputs(" </testsuite>\n", f);
}

static void run_error(FILE *f, const struct sbx_error *e)
{
	fputs(" <testsuite name=\"sbx-verify\" tests=\"1\" failures=\"0\" errors=\"1\">\n"
	      "  <testcase classname=\"sbx-verify\" name=\"available\"><error",
		f);
	attribute(f, "type", sbx_error_code_name(e->code));
	attribute(f, "message", e->message);
	fputs(">", f);
	put(f, e->remedy ? e->remedy : "");
	fputs("</error></testcase>\n </testsuite>\n", f);
}

int report_junit(const struct report *r, FILE *f)
{
	struct summary s;

	report_summarise(r, &s);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", f);
	attribute(f, "name", s.sentence);
	fputs(">\n", f);
	if (r->run->error.code)
		run_error(f, &r->run->error);
	for (size_t i = 0; i < r->run->n; i++)
		suite(f, &r->run->cells[i]);
	fputs("</testsuites>\n", f);
	return fflush(f) || ferror(f) ? -EIO : 0;
}
