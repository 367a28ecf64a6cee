/* The report, in three forms from one summary. */
#pragma once

#include "facts.h"
#include "run.h"

/* Exit status of sbx-verify. Nothing else is 0. */
enum exit_status {
	EXIT_HOLDS = 0, /* everything that had to be verified was, and holds */
	EXIT_DEVIATES = 1, /* a mismatch, or a listed gap that has closed */
	EXIT_USAGE = 2, /* usage or configuration */
	EXIT_UNVERIFIED = 3, /* could not verify */
};

struct summary {
	enum exit_status status;
	size_t cells, cells_passed;
	size_t rules; /* observations judged, over all cells */
	size_t declared; /* observations the table demands, over all cells */
	size_t count[_VERDICT_MAX]; /* of observations */
	const char *sentence; /* the verdict in words, static */
};

struct report {
	const struct run *run;
	const struct run_options *options;
	const struct facts *facts;
	const char *note; /* about the uid, or NULL */
};

void report_summarise(const struct report *r, struct summary *ret);

/* Each returns 0, or a negative errno when f cannot be written. */
int report_text(const struct report *r, FILE *f, bool colour);
int report_json(const struct report *r, FILE *f);
int report_junit(const struct report *r, FILE *f);

/* "EROFS, host: unchanged" and the like, for people; into buf. */
void report_observation(const struct observation *o, char *buf, size_t n);
