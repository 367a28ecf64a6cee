/* docs/coverage.md against the table: what the catalogues name is tried, or there is a reason. */
#include "oracle/expect.h"
#include "t.h"

#include <fnmatch.h>
#include <stdlib.h>

#define MAX_ROWS 1024
#define STAGED "Staged scenarios"
#define BEYOND "Rules beyond the catalogues"

/* Ids of each family in the catalogues. */
static const struct {
	const char *name;
	size_t n;
} families[] = { { "FSW", 68 }, { "MNT", 28 }, { "NST", 18 }, { "PRC", 18 }, { "NOD", 7 },
	{ "RD", 30 }, { "SYS", 5 }, { "NET", 36 }, { "PID", 24 }, { "IPC", 21 },
	{ "KRN", 29 }, { "PRV", 10 }, { "PST", 45 }, { "DEV", 14 }, { "INF", 13 },
	{ "W", 18 }, { "R", 15 }, { "G", 17 }, { "L", 10 }, { "D", 7 }, { "P", 14 },
	{ "N", 12 }, { "E", 10 }, { "K", 12 }, { "F", 12 }, { "H", 10 }, { STAGED, 82 } };

/* One row of a table of the page; in the section of rules beyond, id is NULL. */
struct line {
	const char *family, *id, *rules, *remark;
};

struct page {
	char *text;
	struct line rows[MAX_ROWS];
	size_t n;
	struct table table;
};

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " ");
	end = s + strlen(s);
	while (end > s && end[-1] == ' ')
		*--end = '\0';
	return s;
}

/* "| a | b | c |" into its cells; returns how many. */
static int split(char *line, char **cells, int max)
{
	int n = 0;

	for (char *p = line + 1, *bar; n < max && (bar = strchr(p, '|')); p = bar + 1) {
		*bar = '\0';
		cells[n++] = trim(p);
	}
	return n;
}

static void add_row(struct page *p, const char *family, char *line)
{
	const bool beyond = strcmp(family, BEYOND) == 0;
	char *cells[4];
	int n = split(line, cells, 4);
	struct line *r = &p->rows[p->n];

	if (strcmp(cells[0], "id") == 0 || strcmp(cells[0], "rules") == 0 ||
		strncmp(cells[0], "---", 3) == 0)
		return;
	if (n != (beyond ? 2 : 3))
		fail_msg("the row of %s has %d cells", cells[0], n);
	assert_true(p->n++ < MAX_ROWS);
	*r = beyond ? (struct line){ family, NULL, cells[0], cells[1] }
		    : (struct line){ family, cells[0], cells[1], cells[2] };
}

static int load(void **state)
{
	struct page *p = sbx_xcalloc(1, sizeof(*p));
	SBX_CLEANUP_FREE char *table = NULL;
	char error[EXPECT_ERROR_MAX] = "", *save = NULL;
	const char *family = "";

	assert_int_equal(sbx_read_file(TEST_COVERAGE, 1 << 20, &p->text, NULL), 0);
	assert_int_equal(sbx_read_file(TEST_TABLE, 1 << 20, &table, NULL), 0);
	if (table_parse(&p->table, table, "expect.tbl", error) < 0)
		fail_msg("%s", error);
	for (char *line = strtok_r(p->text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "## ", 3) == 0) {
			line[strcspn(line, ":")] = '\0';
			family = line + 3;
		} else if (line[0] == '|') {
			add_row(p, family, line);
		}
	}
	*state = p;
	return 0;
}

static int unload(void **state)
{
	struct page *p = *state;

	table_done(&p->table);
	free(p->text);
	free(p);
	return 0;
}

/* The next `glob` of a cell into buf, or NULL. */
static const char *next_glob(const char *s, char *buf, size_t size)
{
	const char *open = strchr(s, '`'), *end = open ? strchr(open + 1, '`') : NULL;

	if (end == NULL)
		return NULL;
	assert_true((size_t)(end - open) < size);
	snprintf(buf, size, "%.*s", (int)(end - open - 1), open + 1);
	return end + 1;
}

static bool in_catalogues(const struct line *r)
{
	return r->id && strcmp(r->family, STAGED) != 0;
}

static void every_family_is_complete(void **state)
{
	const struct page *p = *state;
	size_t sum = 0, rows = 0;

	for (size_t f = 0; f < SBX_ARRAY_SIZE(families); f++) {
		size_t n = 0;

		for (size_t i = 0; i < p->n; i++)
			n += strcmp(p->rows[i].family, families[f].name) == 0;
		if (n != families[f].n)
			fail_msg("%s has %zu rows, the catalogue %zu ids",
				families[f].name, n, families[f].n);
		sum += n;
	}
	for (size_t i = 0; i < p->n; i++)
		rows += p->rows[i].id != NULL;
	assert_int_equal(sum, rows);
}

/* The staged scenarios were numbered by themselves. */
static bool same_id(const struct line *a, const struct line *b)
{
	return a->id && b->id && strcmp(a->id, b->id) == 0 &&
	       in_catalogues(a) == in_catalogues(b);
}

static void ids_are_unique(void **state)
{
	const struct page *p = *state;

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < i; k++)
			if (same_id(&p->rows[i], &p->rows[k]))
				fail_msg("%s has two rows", p->rows[i].id);
}

static void every_rule_named_exists(void **state)
{
	const struct page *p = *state;
	char glob[128];

	for (size_t i = 0; i < p->n; i++)
		for (const char *s = p->rows[i].rules;
			(s = next_glob(s, glob, sizeof(glob)));) {
			size_t hits = 0;

			for (size_t k = 0; k < p->table.n_rules; k++)
				hits += fnmatch(glob, p->table.rules[k].id, 0) == 0;
			if (hits == 0)
				fail_msg("%s names %s, and there is no such rule",
					p->rows[i].id ? p->rows[i].id : "a row beyond",
					glob);
		}
}

static void a_row_names_rules_or_a_reason(void **state)
{
	const struct page *p = *state;
	char glob[128];

	for (size_t i = 0; i < p->n; i++) {
		const struct line *r = &p->rows[i];

		if (next_glob(r->rules, glob, sizeof(glob)))
			continue;
		if (strcmp(r->rules, "-") != 0 || *r->remark == '\0')
			fail_msg("%s has neither a rule nor a reason",
				r->id ? r->id : "a row beyond");
	}
}

static void every_rule_is_named(void **state)
{
	const struct page *p = *state;
	char glob[128];

	for (size_t k = 0; k < p->table.n_rules; k++) {
		bool named = false;

		for (size_t i = 0; i < p->n && !named; i++)
			for (const char *s = p->rows[i].rules;
				!named && (s = next_glob(s, glob, sizeof(glob)));)
				named = fnmatch(glob, p->table.rules[k].id, 0) == 0;
		if (!named)
			fail_msg("no row names the rule %s", p->table.rules[k].id);
	}
}

/* The number after "- TEXT: " at the top of the page. */
static size_t stated(const char *text)
{
	SBX_CLEANUP_FREE char *page = NULL, *mark = sbx_xasprintf("- %s: ", text);
	const char *at;

	assert_int_equal(sbx_read_file(TEST_COVERAGE, 1 << 20, &page, NULL), 0);
	at = strstr(page, mark);
	if (at == NULL)
		fail_msg("the page does not say '%s'", mark);
	return at ? strtoul(at + strlen(mark), NULL, 10) : 0;
}

static void the_counts_are_the_real_ones(void **state)
{
	const struct page *p = *state;
	size_t all = 0, covered = 0;

	for (size_t i = 0; i < p->n; i++) {
		all += p->rows[i].id != NULL;
		covered += p->rows[i].id && strcmp(p->rows[i].rules, "-") != 0;
	}
	assert_int_equal(stated("ids in the catalogues"), all);
	assert_int_equal(stated("covered by rules"), covered);
	assert_int_equal(stated("not covered, with a reason"), all - covered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_family_is_complete),
		cmocka_unit_test(ids_are_unique),
		cmocka_unit_test(every_rule_named_exists),
		cmocka_unit_test(a_row_names_rules_or_a_reason),
		cmocka_unit_test(every_rule_is_named),
		cmocka_unit_test(the_counts_are_the_real_ones),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
