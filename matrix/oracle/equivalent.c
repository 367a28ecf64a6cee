#include "equivalent.h"

#include "expect.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 3

static int fail(char *error, const char *name, int line, const char *what)
{
	snprintf(error, EXPECT_ERROR_MAX, "%s:%d: %s", name, line, what);
	return -1;
}

static char *copy(const char *s)
{
	char *d = strdup(s);

	if (d == NULL)
		abort();
	return d;
}

static void add(struct equivalence **list, size_t *n, struct equivalence one)
{
	*list = reallocarray(*list, *n + 1, sizeof(one));
	if (*list == NULL)
		abort();
	(*list)[(*n)++] = one;
}

/* One line, modified in place. Returns NULL, or what is wrong. */
static const char *read_line(struct equivalents *e, char *line, int number)
{
	struct equivalence one = { .line = number };
	char *w[WORDS];
	const char *wrong;

	line += strspn(line, " \t\r");
	if (*line == '\0' || *line == '#')
		return NULL;
	for (int i = 0; i < WORDS; i++) {
		w[i] = line;
		line += strcspn(line, " \t");
		if (*line)
			*line++ = '\0';
		line += strspn(line, " \t\r");
	}
	if (*line == '\0')
		return "a line wants: same|idle GLOB WHEN reason";
	wrong = condition_parse(w[2], &one.when);
	if (wrong)
		return wrong;
	if (strcmp(w[0], "same") != 0 && strcmp(w[0], "idle") != 0)
		return "a line begins with 'same' or 'idle'";
	one.glob = copy(w[1]);
	one.why = copy(line);
	if (w[0][0] == 's')
		add(&e->mutants, &e->n_mutants, one);
	else
		add(&e->rules, &e->n_rules, one);
	return NULL;
}

int equivalents_parse(
	struct equivalents *ret, const char *text, const char *name, char *error)
{
	struct equivalents e = { 0 };
	char *all = copy(text);
	const char *wrong = NULL;
	int number = 0;

	for (char *line = all; line && !wrong;) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		wrong = read_line(&e, line, ++number);
		line = next;
	}
	free(all);
	if (wrong) {
		equivalents_done(&e);
		return fail(error, name, number, wrong);
	}
	*ret = e;
	return 0;
}

static struct equivalence *find(
	struct equivalence *list, size_t n, const char *name, const struct cell *c)
{
	for (size_t i = 0; i < n; i++)
		if (condition_matches(&list[i].when, c) &&
			fnmatch(list[i].glob, name, 0) == 0)
			return &list[i];
	return NULL;
}

struct equivalence *equivalents_mutant(
	const struct equivalents *e, const char *mutant, const struct cell *c)
{
	return find(e->mutants, e->n_mutants, mutant, c);
}

struct equivalence *equivalents_rule(
	const struct equivalents *e, const char *rule, const struct cell *c)
{
	return find(e->rules, e->n_rules, rule, c);
}

static void done(struct equivalence *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].glob);
		free(list[i].why);
	}
	free(list);
}

void equivalents_done(struct equivalents *e)
{
	done(e->mutants, e->n_mutants);
	done(e->rules, e->n_rules);
	*e = (struct equivalents){ 0 };
}
