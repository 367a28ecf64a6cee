#include "expect.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Columns: id when op role expect control [cite] why... */
#define COLUMNS 7

struct reader {
	struct table *t;
	const char *name;
	char *error;
	int line;
};

static int fail(const struct reader *r, int line, const char *what, const char *about)
{
	snprintf(r->error, EXPECT_ERROR_MAX, "%s:%d: %s%s%s", r->name, line, what,
		about ? ": " : "", about ? about : "");
	return -1;
}

static char *copy(const char *s)
{
	char *d = strdup(s);

	if (d == NULL)
		abort();
	return d;
}

static void *grow(void *array, size_t n, size_t size)
{
	/* Capacity doubles at powers of two. */
	if (n & (n - 1))
		return array;
	array = reallocarray(array, n ? 2 * n : 1, size);
	if (array == NULL)
		abort();
	return array;
}

/* ---- one expectation ---- */

static bool is_errno_name(const char *s)
{
	return s[0] == 'E' && s[1] &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == strlen(s);
}

static bool is_result(const char *s)
{
	return strcmp(s, "ok") == 0 || is_errno_name(s) ||
	       (strncmp(s, "value:", 6) == 0 && s[6]);
}

/* Takes "+host", "-host", "+seen" or "-seen" off the end. */
static bool take_suffix(char *text, const char *word, int *ret)
{
	size_t len = strlen(text), n = strlen(word);
	char sign;

	if (len < n + 1 || strcmp(text + len - n, word) != 0)
		return false;
	sign = text[len - n - 1];
	if (sign != '+' && sign != '-')
		return false;
	*ret = sign == '+' ? 1 : -1;
	text[len - n - 1] = '\0';
	return true;
}

static void expectation_done(struct expectation *e)
{
	for (int i = 0; i < EXPECT_ALTERNATIVES; i++)
		free(e->results[i]);
	*e = (struct expectation){ 0 };
}

static const char *parse_expectation(const char *text, struct expectation *ret)
{
	struct expectation e = { 0 };
	char buf[160], *save = NULL;
	int n = 0;

	if (snprintf(buf, sizeof(buf), "%s", text) >= (int)sizeof(buf))
		return "expectation too long";
	if (!take_suffix(buf, "host", &e.host))
		take_suffix(buf, "seen", &e.seen);
	for (char *w = strtok_r(buf, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
		if (!is_result(w) || n == EXPECT_ALTERNATIVES) {
			expectation_done(&e);
			return "not an expectation (ok, errno, value:X; +host -host +seen "
			       "-seen)";
		}
		e.results[n++] = copy(w);
	}
	if (n == 0)
		return "empty expectation";
	*ret = e;
	return NULL;
}

void expectation_text(const struct expectation *e, char *buf, size_t n)
{
	size_t len = 0;

	buf[0] = '\0';
	for (int i = 0; e->results[i] && len < n; i++)
		len += (size_t)snprintf(
			buf + len, n - len, "%s%s", i ? "|" : "", e->results[i]);
	if (len < n)
		snprintf(buf + len, n - len, "%s%s",
			e->host > 0   ? "+host"
			: e->host < 0 ? "-host"
				      : "",
			e->seen > 0   ? "+seen"
			: e->seen < 0 ? "-seen"
				      : "");
}

/* "EXPECTATION[;absent:RESULT]", "same" or "none:reason". */
static const char *parse_control(const char *text, struct control *ret)
{
	char buf[200], *absent;
	const char *wrong;

	if (strncmp(text, "none:", 5) == 0) {
		if (text[5] == '\0')
			return "control none without a reason";
		ret->kind = CONTROL_NONE;
		ret->reason = copy(text + 5);
		return NULL;
	}
	if (strcmp(text, "same") == 0) {
		ret->kind = CONTROL_SAME;
		return NULL;
	}
	if (snprintf(buf, sizeof(buf), "%s", text) >= (int)sizeof(buf))
		return "control too long";
	absent = strstr(buf, ";absent:");
	if (absent) {
		*absent = '\0';
		absent += strlen(";absent:");
		if (!is_result(absent))
			return "absent: wants an errno name or value:X";
	}
	wrong = parse_expectation(buf, &ret->expect);
	if (wrong)
		return wrong;
	ret->absent = absent ? copy(absent) : NULL;
	return NULL;
}

/* ---- lines ---- */

/* Cuts up to n words off line; the rest, trimmed, goes to *rest. Returns the number. */
static int words(char *line, char **out, int n, char **rest)
{
	int i = 0;

	for (; i < n; i++) {
		line += strspn(line, " \t");
		if (*line == '\0')
			break;
		out[i] = line;
		line += strcspn(line, " \t");
		if (*line)
			*line++ = '\0';
	}
	line += strspn(line, " \t");
	*rest = line;
	return i;
}

static int read_known(struct reader *r, char *line)
{
	char *w[4], *why;
	struct known k = { .line = r->line };
	const char *wrong;

	if (words(line, w, 4, &why) < 4 || *why == '\0')
		return fail(r, r->line, "known wants: rule when observed reason", NULL);
	wrong = condition_parse(w[2], &k.when);
	if (wrong == NULL)
		wrong = parse_expectation(w[3], &k.observed);
	if (wrong)
		return fail(r, r->line, wrong, w[1]);
	k.rule = copy(w[1]);
	k.why = copy(why);
	r->t->known = grow(r->t->known, r->t->n_known, sizeof(k));
	r->t->known[r->t->n_known++] = k;
	return 0;
}

static int read_omission(struct reader *r, char *line)
{
	char *w[3], *why;
	struct omission o = { .line = r->line };
	const char *wrong;

	if (words(line, w, 3, &why) < 3 || *why == '\0')
		return fail(r, r->line, "omit wants: ids when reason", NULL);
	wrong = condition_parse(w[2], &o.when);
	if (wrong)
		return fail(r, r->line, wrong, w[1]);
	o.glob = copy(w[1]);
	o.why = copy(why);
	r->t->omitted = grow(r->t->omitted, r->t->n_omitted, sizeof(o));
	r->t->omitted[r->t->n_omitted++] = o;
	return 0;
}

static char *parse_cite(const char *word)
{
	size_t len = strlen(word);

	if (len < 4 || word[0] != '[' || word[1] != 'S' || word[len - 1] != ']')
		return NULL;
	for (size_t i = 2; i + 1 < len; i++)
		if (!isdigit((unsigned char)word[i]))
			return NULL;
	return strndup(word + 1, len - 2);
}

static unsigned act_hash(const struct rule *r)
{
	unsigned h = 5381;

	for (const char *p = r->op; *p; p++)
		h = h * 33 + (unsigned char)*p;
	for (const char *p = r->role; *p; p++)
		h = h * 33 + (unsigned char)*p;
	return h;
}

static int read_rule(struct reader *r, char *line)
{
	struct rule k = { .line = r->line };
	char *w[COLUMNS], *why;
	const char *wrong;

	if (words(line, w, COLUMNS, &why) < COLUMNS || *why == '\0')
		return fail(r, r->line,
			"a rule wants: id when op role expect control [Sn] why", NULL);
	k.id = copy(w[0]);
	k.op = copy(w[2]);
	k.role = copy(w[3]);
	k.why = copy(why);
	k.cite = parse_cite(w[6]);
	k.act = act_hash(&k);
	/* Owned by the table from here on, also when it is refused. */
	r->t->rules = grow(r->t->rules, r->t->n_rules, sizeof(k));
	r->t->rules[r->t->n_rules++] = k;
	wrong = condition_parse(w[1], &r->t->rules[r->t->n_rules - 1].when);
	if (wrong == NULL)
		wrong = parse_expectation(w[4], &r->t->rules[r->t->n_rules - 1].expect);
	if (wrong == NULL)
		wrong = parse_control(w[5], &r->t->rules[r->t->n_rules - 1].control);
	if (wrong == NULL && k.cite == NULL)
		wrong = "the seventh column cites a sentence of docs/security.md as [S12]";
	return wrong ? fail(r, r->line, wrong, w[0]) : 0;
}

static int read_line(struct reader *r, char *line)
{
	line[strcspn(line, "\r")] = '\0';
	line += strspn(line, " \t");
	if (*line == '\0' || *line == '#')
		return 0;
	if (strncmp(line, "known", 5) == 0 && (line[5] == ' ' || line[5] == '\t'))
		return read_known(r, line);
	if (strncmp(line, "omit", 4) == 0 && (line[4] == ' ' || line[4] == '\t'))
		return read_omission(r, line);
	return read_rule(r, line);
}

/* ---- the table as a whole ---- */

bool rule_same_act(const struct rule *a, const struct rule *b)
{
	return a->act == b->act && strcmp(a->op, b->op) == 0 &&
	       strcmp(a->role, b->role) == 0;
}

/* Which omissions speak of a rule is looked up once, not in every cell. */
static void collect_omissions(struct table *t)
{
	for (size_t i = 0; i < t->n_rules; i++) {
		struct rule *k = &t->rules[i];

		for (size_t o = 0; o < t->n_omitted; o++) {
			if (fnmatch(t->omitted[o].glob, k->id, 0) != 0)
				continue;
			k->omitted = grow(k->omitted, k->n_omitted, sizeof(*k->omitted));
			k->omitted[k->n_omitted++] = &t->omitted[o].when;
		}
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_control(const struct rule *a, const struct rule *b)
{
	char ta[160], tb[160];

	expectation_text(&a->control.expect, ta, sizeof(ta));
	expectation_text(&b->control.expect, tb, sizeof(tb));
	return a->control.kind == b->control.kind && strcmp(ta, tb) == 0 &&
	       same_text(a->control.absent, b->control.absent) &&
	       same_text(a->control.reason, b->control.reason);
}

/* Outside, too, it may matter who acts; hence other controls for other uids. */
static bool same_uid(const struct rule *a, const struct rule *b)
{
	unsigned ma = a->when.mask[AXIS_UID], mb = b->when.mask[AXIS_UID];

	return ma == 0 || mb == 0 || (ma & mb) != 0;
}

const struct known *table_known(
	const struct table *t, const struct rule *r, const struct cell *c)
{
	for (size_t i = 0; i < t->n_known; i++)
		if (strcmp(t->known[i].rule, r->id) == 0 &&
			condition_matches(&t->known[i].when, c))
			return &t->known[i];
	return NULL;
}

bool table_runs(const struct table *t, const struct rule *r, const struct cell *c)
{
	if (!condition_matches(&r->when, c))
		return false;
	(void)t; /* its omissions hang on the rule */
	for (size_t i = 0; i < r->n_omitted; i++)
		if (condition_matches(r->omitted[i], c))
			return false;
	return true;
}

#define PAIR_MAX 64

/* The rules about the same operation and role. Returns how many, at most PAIR_MAX. */
static size_t rules_of_pair(
	const struct table *t, const struct rule *k, const struct rule *ret[PAIR_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_rules && n < PAIR_MAX; i++)
		if (rule_same_act(&t->rules[i], k))
			ret[n++] = &t->rules[i];
	return n;
}

/* Exactly one rule for this rule's pair in every cell, and this rule in at least one. */
static int check_cells(const struct reader *r, const struct rule *k)
{
	const struct rule *pair[PAIR_MAX];
	size_t used = 0, n_pair = rules_of_pair(r->t, k, pair);
	char name[CELL_NAME_MAX];

	if (n_pair == PAIR_MAX)
		return fail(
			r, k->line, "too many rules for one operation and role", k->id);
	for (size_t c = 0; c < cell_all_count(); c++) {
		struct cell cell = cell_all_at(c);
		size_t n = 0;

		for (size_t i = 0; i < n_pair; i++)
			n += condition_matches(&pair[i]->when, &cell);
		used += table_runs(r->t, k, &cell);
		if (n == 0)
			return fail(r, k->line,
				"gap: no rule for this operation and role in cell",
				cell_name(&cell, name));
		if (n > 1)
			return fail(r, k->line, "overlap: several rules in cell",
				cell_name(&cell, name));
	}
	return used ? 0 : fail(r, k->line, "dead: the rule is run in no cell", k->id);
}

/* Do the rules of this pair tell the cells apart? Then one of them may equal the control. */
static bool pair_discriminates(const struct table *t, const struct rule *k)
{
	char mine[160], theirs[160];

	expectation_text(&k->expect, mine, sizeof(mine));
	for (size_t i = 0; i < t->n_rules; i++) {
		if (!rule_same_act(&t->rules[i], k))
			continue;
		expectation_text(&t->rules[i].expect, theirs, sizeof(theirs));
		if (strcmp(mine, theirs) != 0)
			return true;
	}
	return false;
}

/* An errno or a "must not" proves nothing unless the act works outside. */
static int check_control(const struct reader *r, const struct rule *k)
{
	const struct expectation *c = &k->control.expect;
	char want[160], got[160];

	if (k->control.kind != CONTROL_EXPECT)
		return 0;
	expectation_text(&k->expect, want, sizeof(want));
	expectation_text(c, got, sizeof(got));
	if (strcmp(k->expect.results[0], "ok") != 0 && strcmp(want, got) == 0 &&
		!pair_discriminates(r->t, k))
		return fail(r, k->line,
			"the control expects the same as the rule: it proves nothing",
			k->id);
	if (k->expect.host && c->host <= 0)
		return fail(r, k->line, "the control must show +host", k->id);
	if (k->expect.seen && c->seen <= 0)
		return fail(r, k->line, "the control must show +seen", k->id);
	return 0;
}

static int check_rule(const struct reader *r, size_t i)
{
	const struct rule *k = &r->t->rules[i];

	for (size_t j = 0; j < i; j++) {
		const struct rule *other = &r->t->rules[j];

		if (strcmp(other->id, k->id) == 0)
			return fail(r, k->line, "second rule with this id", k->id);
		if (rule_same_act(other, k) && !same_control(other, k) &&
			same_uid(other, k))
			return fail(r, k->line,
				"other control than an earlier rule for the same act",
				k->id);
	}
	if (check_cells(r, k) < 0)
		return -1;
	return check_control(r, k);
}

static int check_known(const struct reader *r, const struct known *g)
{
	const struct rule *k = NULL;
	size_t used = 0;

	for (size_t i = 0; i < r->t->n_rules; i++)
		if (strcmp(r->t->rules[i].id, g->rule) == 0)
			k = &r->t->rules[i];
	if (k == NULL)
		return fail(
			r, g->line, "known gap of a rule that does not exist", g->rule);
	for (size_t c = 0; c < cell_all_count(); c++) {
		struct cell cell = cell_all_at(c);
		size_t n = 0;

		if (!condition_matches(&g->when, &cell))
			continue;
		if (!condition_matches(&k->when, &cell))
			return fail(r, g->line,
				"known gap in a cell where the rule does not apply",
				g->rule);
		used++;
		for (size_t i = 0; i < r->t->n_known; i++)
			n += strcmp(r->t->known[i].rule, g->rule) == 0 &&
			     condition_matches(&r->t->known[i].when, &cell);
		if (n > 1)
			return fail(r, g->line, "two known gaps for one rule in one cell",
				g->rule);
	}
	return used ? 0
		    : fail(r, g->line, "dead: the known gap matches no cell", g->rule);
}

/* An omission must leave out something, and not everything. */
static int check_omission(const struct reader *r, const struct omission *o)
{
	size_t used = 0;

	for (size_t i = 0; i < r->t->n_rules; i++)
		used += fnmatch(o->glob, r->t->rules[i].id, 0) == 0;
	return used ? 0 : fail(r, o->line, "dead: no rule has such an id", o->glob);
}

static int check_table(const struct reader *r)
{
	if (r->t->n_rules == 0)
		return fail(r, 0, "the table has no rule", NULL);
	for (size_t i = 0; i < r->t->n_rules; i++)
		if (check_rule(r, i) < 0)
			return -1;
	for (size_t i = 0; i < r->t->n_known; i++)
		if (check_known(r, &r->t->known[i]) < 0)
			return -1;
	for (size_t i = 0; i < r->t->n_omitted; i++)
		if (check_omission(r, &r->t->omitted[i]) < 0)
			return -1;
	return 0;
}

int table_parse(struct table *ret, const char *text, const char *name, char *error)
{
	struct table t = { 0 };
	struct reader r = { .t = &t, .name = name, .error = error };
	char *all = copy(text);
	int rc = 0;

	for (char *line = all; line && rc == 0;) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		r.line++;
		rc = read_line(&r, line);
		line = next;
	}
	free(all);
	collect_omissions(&t);
	if (rc == 0)
		rc = check_table(&r);
	if (rc < 0)
		table_done(&t);
	else
		*ret = t;
	return rc;
}

static void rule_done(struct rule *k)
{
	free(k->id);
	free(k->op);
	free(k->role);
	free(k->cite);
	free(k->why);
	expectation_done(&k->expect);
	expectation_done(&k->control.expect);
	free(k->control.absent);
	free(k->control.reason);
	free(k->omitted);
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->n_rules; i++)
		rule_done(&t->rules[i]);
	free(t->rules);
	for (size_t i = 0; i < t->n_known; i++) {
		free(t->known[i].rule);
		free(t->known[i].why);
		expectation_done(&t->known[i].observed);
	}
	free(t->known);
	for (size_t i = 0; i < t->n_omitted; i++) {
		free(t->omitted[i].glob);
		free(t->omitted[i].why);
	}
	free(t->omitted);
	*t = (struct table){ 0 };
}
