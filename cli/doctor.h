/* What sbx doctor, and sbx agents --check, found out, and how it is printed. */
#pragma once

#include "cli.h"

enum check_status {
	CHECK_OK,
	CHECK_WARN, /* works, but less well than it could */
	CHECK_FAIL, /* 'sbx run' would fail */
	CHECK_SKIP, /* cannot be tried, because something before it failed */
	_CHECK_MAX,
};

struct check {
	enum check_status status;
	const char *name; /* borrowed */
	const char *agent; /* whom it is about, borrowed; NULL: the machine */
	const char *code; /* of struct sbx_error, or NULL */
	char *what; /* owned */
	char *remedy; /* owned, or NULL */
};

struct checks {
	struct check *v;
	size_t n;
};

/* Adds one; returns it, so that the remedy can be added. */
struct check *checks_add(struct checks *c, enum check_status status, const char *agent,
	const char *name, const char *fmt, ...) SBX_PRINTF(5, 6);
/* Adds one from an error, and ends that. */
void checks_add_error(struct checks *c, enum check_status status, const char *agent,
	const char *name, struct sbx_error *e);
bool checks_failed(const struct checks *c);
void checks_done(struct checks *c);

/* The words of a command that takes names of agents: known ones, and no "--". 0, or -1 with e set. */
int checks_words(const struct options *o, struct sbx_error *e);
/* Appends ", WORD" to an owned text, which may be NULL. */
void checks_list(char **list, const char *word);

void checks_print_text(const struct checks *c);
void checks_print_json(const struct checks *c);

/* sbx agents --check; returns the exit status. */
int agents_check(const struct options *o);
