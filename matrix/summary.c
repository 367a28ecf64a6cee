/* What a run amounts to. Declared in report.h. */
#include "report.h"

#include <stdio.h>

static const char *const sentences[] = {
	[EXIT_HOLDS] = "The sandbox holds on this machine.",
	[EXIT_DEVIATES] = "THE SANDBOX DOES NOT DO WHAT ITS POLICY SAYS.",
	[EXIT_UNVERIFIED] = "COULD NOT VERIFY. This is not a pass.",
};

/* Counted from the table again, not from what was run. */
static size_t declared_for(const struct report *r, const struct cell *c)
{
	const struct table *t = r->options->table;
	size_t n = 0;

	for (size_t i = 0; i < t->n_rules; i++)
		n += table_runs(t, &t->rules[i], c) &&
		     selection_has(&r->options->select, &t->rules[i]);
	return n;
}

static enum exit_status status_of(const struct report *r, const struct summary *s)
{
	if (s->count[VERDICT_MISMATCH] || s->count[VERDICT_FIXED])
		return EXIT_DEVIATES;
	if (r->run->interrupted || r->run->error.code || s->cells == 0 ||
		s->cells_passed != s->cells || s->rules == 0 || s->rules != s->declared)
		return EXIT_UNVERIFIED;
	/* Acts that nothing had to stop: green here says nothing about a sandbox. */
	return r->options->no_sandbox ? EXIT_UNVERIFIED : EXIT_HOLDS;
}

void report_summarise(const struct report *r, struct summary *ret)
{
	struct summary s = { .cells = r->run->n };

	for (size_t i = 0; i < r->run->n; i++) {
		const struct cell_result *c = &r->run->cells[i];

		s.cells_passed += cell_passed(c);
		s.rules += c->n;
		s.declared += declared_for(r, &c->cell);
		for (int v = 0; v < _VERDICT_MAX; v++)
			s.count[v] += c->count[v];
	}
	s.status = status_of(r, &s);
	s.sentence = sentences[s.status];
	if (r->options->no_sandbox && s.status == EXIT_DEVIATES)
		s.sentence =
			"Without a sandbox it deviates, as it must: this arm has to fail.";
	else if (r->options->no_sandbox && s.status == EXIT_UNVERIFIED &&
		 s.cells_passed == s.cells)
		s.sentence =
			"WITHOUT A SANDBOX NOTHING DEVIATES: what was selected proves nothing.";
	else if (s.status == EXIT_HOLDS && r->options->other_table)
		s.sentence =
			"What the given table demands holds; it is not the one of sbx.";
	else if (s.status == EXIT_HOLDS && r->options->here)
		s.sentence =
			"Here, today, what was looked at is out of reach, as it must be.";
	else if (s.status == EXIT_HOLDS && r->options->select.quick)
		s.sentence =
			"What was looked at holds; the staged scenarios were not looked at.";
	else if (s.status == EXIT_HOLDS &&
		 (s.cells < cell_count() || r->options->select.rule_glob))
		s.sentence =
			"The selected cells and rules hold; the others were not looked at.";
	*ret = s;
}

void report_observation(const struct observation *o, char *buf, size_t n)
{
	const char *host = o->host > 0   ? "; the host sees the effect"
			   : o->host < 0 ? "; the host sees no effect"
					 : "";
	const char *seen = o->seen > 0   ? "; the listener saw the nonce"
			   : o->seen < 0 ? "; the listener saw nothing"
					 : "";

	if (!o->present)
		snprintf(buf, n, "nothing was observed%s%s", host, seen);
	else
		snprintf(buf, n, "%s%s%s", o->result, host, seen);
}
