/* The report of sbx-verify mutate: kill table, survivors, explanations, idle rules, score. */
#pragma once

#include "mutate.h"
#include "report.h"

/* r: machine, options and note, for the head. Each returns 0, or a negative errno when f
 * cannot be written. */
int report_mutate_text(
	const struct mutation *m, const struct report *r, FILE *f, bool colour);
/* The mutants alone, of a run that was planned only. */
int report_mutate_list(const struct mutation *m, FILE *f);
int report_mutate_json(const struct mutation *m, const struct report *r, FILE *f);
