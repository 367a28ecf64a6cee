/* What "sbx-verify --here" looked at: people want to read the names of their own files. */
#include "report_parts.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 96

/* Of one rule, over all cells. */
struct seen {
	size_t match, absent, other;
};

static struct seen *count(const struct report *r)
{
	const struct table *t = r->options->table;
	struct seen *seen = sbx_xcalloc(t->n_rules + 1, sizeof(*seen));

	for (size_t c = 0; c < r->run->n; c++)
		for (size_t k = 0; k < r->run->cells[c].n; k++) {
			const struct result *v = &r->run->cells[c].v[k];
			struct seen *at = &seen[v->rule - t->rules];

			if (v->verdict == VERDICT_MATCH)
				at->match++;
			else if (v->verdict == VERDICT_ABSENT)
				at->absent++;
			else
				at->other++;
		}
	return seen;
}

/* One block: the rules of one line of the table, which stand together. */
static size_t print_block(
	const struct table *t, const struct seen *seen, size_t first, FILE *f)
{
	size_t i = first, absent = 0, column = 0;

	for (; i < t->n_rules && strcmp(t->rules[i].id, t->rules[first].id) == 0; i++) {
		const char *name = t->rules[i].role;

		absent += seen[i].absent && !seen[i].match && !seen[i].other;
		if (seen[i].match == 0 || seen[i].other)
			continue;
		if (column == 0)
			column = (size_t)fprintf(f, "  %s: ", t->rules[first].why);
		else if (column + strlen(name) + 2 > WIDTH)
			column = (size_t)fprintf(f, ",\n    ") - 2;
		else
			column += (size_t)fprintf(f, ", ");
		column += (size_t)fprintf(f, "%s", name);
	}
	if (column)
		fprintf(f, "%s", absent ? "" : "\n");
	if (column && absent)
		fprintf(f, " (%zu more are not on this machine)\n", absent);
	return i;
}

void report_here(const struct report *r, FILE *f)
{
	SBX_CLEANUP_FREE struct seen *seen = count(r);
	const struct table *t = r->options->table;

	fputs("Looked at, and as it must be in every cell above:\n", f);
	for (size_t i = 0; i < t->n_rules;)
		i = print_block(t, seen, i, f);
	fputc('\n', f);
}
