/* Parts that the reports have in common. */
#pragma once

#include "report.h"

#include <jansson.h>

/* Escape sequences, or empty strings. */
struct ink {
	const char *good, *bad, *dim, *off;
};

const struct ink *report_ink(bool colour);

/* Version, machine, user, sandbox. */
void report_head(const struct report *r, FILE *f);
/* Why nothing was verified, and the remedy. */
void report_error(const struct sbx_error *e, const struct ink *ink, FILE *f);

/* report_here.c: what was looked at in the user's own world. */
void report_here(const struct report *r, FILE *f);

/* Any bytes as a JSON string. NULL becomes "". */
json_t *report_json_text(const char *s);
/* Adds version, machine, note and error. */
void report_json_head(const struct report *r, json_t *to);
