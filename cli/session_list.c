/* sbx session list, show and rm: what is on record. */
#include "identity.h"
#include "quote.h"
#include "session.h"

#include <errno.h>
#include <libsmartcols.h>
#include <limits.h>
#include <string.h>

/* ---- JSON ---- */

static json_t *parsed(const char *text)
{
	json_t *j = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : json_null();

	/* One that cannot be read is shown as it is: null would mean that there is none. */
	return j ? j : json_string(text);
}

static json_t *to_json(const struct session *s)
{
	return json_pack("{s:s, s:s?, s:s, s:s, s:b, s:o, s:o, s:s?, s:I, s:I, s:o}",
		"id", s->id, "name", s->name, "agent", s->agent, "workdir", s->workdir,
		"sandboxed", s->sandbox != NULL, "sandbox", parsed(s->sandbox), "args",
		parsed(s->args), "conversation", s->conversation, "created",
		(json_int_t)s->created, "used", (json_int_t)s->used, "status",
		s->status >= 0 ? json_integer(s->status) : json_null());
}

static void print_json(json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(j);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	double width;
	int flags;
} columns[] = {
	{ "ID", 8, 0 }, { "NAME", 4, 0 }, { "AGENT", 5, 0 }, { "SANDBOX", 7, 0 },
	{ "USED", 19, 0 }, { "STATUS", 3, SCOLS_FL_RIGHT },
	{ "WORK DIR", 0.3, SCOLS_FL_WRAP }, /* nothing of it is ever left out */
};

static void fill_line(struct libscols_line *line, const struct session *s)
{
	SBX_CLEANUP_FREE char *sandbox = session_sandbox_summary(s->sandbox);
	SBX_CLEANUP_FREE char *status =
		s->status >= 0 ? sbx_xasprintf("%d", s->status) : sbx_xstrdup("-");
	SBX_CLEANUP_FREE char *dir = quote_plain(s->workdir);
	SBX_CLEANUP_FREE char *agent = quote_plain(s->agent);
	char when[32];

	scols_line_set_data(line, 0, s->id);
	scols_line_set_data(line, 1, s->name ? s->name : "-");
	scols_line_set_data(line, 2, agent);
	scols_line_set_data(line, 3, sandbox ? sandbox : "NONE");
	scols_line_set_data(line, 4, session_time(s->used, when));
	scols_line_set_data(line, 5, status);
	scols_line_set_data(line, 6, dir);
}

static int print_table(const struct session *rows, size_t n, struct sbx_error *e)
{
	struct libscols_table *table = scols_new_table();
	int r = table ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(columns); i++)
		r = scols_table_new_column(
			    table, columns[i].name, columns[i].width, columns[i].flags)
			    ? 0
			    : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		if (line)
			fill_line(line, &rows[i]);
		r = line ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = scols_print_table(table);
	scols_unref_table(table);
	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "table: %s", strerror(-r));
	return 0;
}

static int print_rows(const struct options *o, const struct session *rows, size_t n,
	struct sbx_error *e)
{
	json_t *list;

	if (o->format != FORMAT_JSON && n == 0) {
		fputs("sbx: there are no sessions; 'sbx session new' records one\n",
			stderr);
		return 0;
	}
	if (o->format != FORMAT_JSON)
		return print_table(rows, n, e);
	list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, to_json(&rows[i]));
	print_json(list);
	return 0;
}

/* ---- one ---- */

static void print_line(const char *key, const char *value)
{
	SBX_CLEANUP_FREE char *plain = quote_plain(value);

	printf("%-13s %s\n", key, plain);
}

static void print_word(const char *word)
{
	SBX_CLEANUP_FREE char *q = quote_sh(word);
	SBX_CLEANUP_FREE char *plain = quote_plain(q);

	printf(" %s", plain);
}

/* The same policy on the command line of sbx run. */
static void print_as_run(const struct session_options *s)
{
	const struct sbx_policy *p = &s->o.policy;

	printf("%-13s sbx run", "the same as");
	if (!s->o.sandbox) {
		fputs(" --sandbox none", stdout);
	} else {
		printf(" --profile %s --fs %s --net %s", sbx_profile_name(p->profile),
			sbx_fs_name(p->fs), sbx_net_name(p->net));
		for (size_t i = 0; i < p->n_binds; i++) {
			fputs(p->binds[i].rw ? " --bind" : " --ro-bind", stdout);
			print_word(p->binds[i].path);
		}
		for (size_t i = 0; i < p->n_env; i++)
			printf(" --env %s", p->env[i]);
		for (unsigned bit = 1; bit && bit <= _SBX_ALLOW_ALL; bit <<= 1)
			if (p->allow & bit)
				printf(" --allow %s",
					sbx_allow_name((enum sbx_allow)bit));
		if (s->o.no_skip)
			fputs(" --no-skip-permissions", stdout);
	}
	fputs(" --workdir", stdout);
	print_word(p->workdir);
	printf(" %s", s->agent->name);
	for (size_t i = 0; i < s->args.n; i++) {
		fputs(i ? "" : " --", stdout);
		print_word(s->args.v[i]);
	}
	putchar('\n');
}

static int print_one(
	const struct options *o, const struct session *row, struct sbx_error *e)
{
	struct session_options s;
	char when[32];

	print_line("session", row->id);
	if (row->name)
		print_line("name", row->name);
	print_line("agent", row->agent);
	print_line("work dir", row->workdir);
	print_line("sandbox",
		row->sandbox ? row->sandbox : "NONE: it runs with your rights");
	if (row->conversation)
		print_line("conversation", row->conversation);
	print_line("recorded", session_time(row->created, when));
	print_line("last used", session_time(row->used, when));
	if (row->status >= 0)
		printf("%-13s %d\n", "exit status", row->status);
	if (session_options_make(&s, o, row, e) < 0)
		return -1;
	print_as_run(&s);
	session_options_done(&s);
	return 0;
}

/* ---- the commands ---- */

static int check_words(const struct options *o, int min, int max, struct sbx_error *e)
{
	const char *name = options_commands[0].name;

	for (size_t i = 0; i < options_n_commands; i++)
		if (options_commands[i].cmd == o->cmd)
			name = options_commands[i].name;
	if (o->n_words >= min && o->n_words <= max && o->args == NULL)
		return 0;
	if (o->n_words < min)
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "no session is named");
	else
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "'%s' means nothing here",
			o->args ? "--" : o->words[max]);
	sbx_error_remedy(e,
		min > 0 && o->n_words < min
			? "'sbx session list' shows them; see 'sbx %s --help'"
			: "see 'sbx %s --help'",
		name);
	return -1;
}

/* Becomes who is to be asked, and opens his store. */
static int open_store(struct session_store **ret, const struct options *o,
	enum session_access access, struct sbx_error *e)
{
	struct identity id = { 0 };

	if (identity_assume(&id, o, NULL, e) < 0)
		return -1;
	identity_done(&id);
	return session_store_open(ret, access, e) < 0 ? -1 : 0;
}

int cmd_session_list(const struct options *o)
{
	struct session_store *store;
	struct session *rows = NULL;
	struct sbx_error e = { 0 };
	size_t n = 0;
	int r;

	if (check_words(o, 0, 0, &e) < 0 || open_store(&store, o, SESSION_READ, &e) < 0)
		return cli_complain(&e);
	r = session_store_list(store, &rows, &n, &e);
	session_store_close(store);
	if (r == 0)
		r = print_rows(o, rows, n, &e);
	for (size_t i = 0; i < n; i++)
		session_done(&rows[i]);
	free(rows);
	return r < 0 ? cli_complain(&e) : cli_finish_output();
}

int cmd_session_show(const struct options *o)
{
	struct session_store *store;
	struct session row;
	struct sbx_error e = { 0 };
	int r;

	if (check_words(o, 1, 1, &e) < 0 || open_store(&store, o, SESSION_READ, &e) < 0)
		return cli_complain(&e);
	r = session_store_find(store, o->words[0], &row, &e);
	session_store_close(store);
	if (r < 0)
		return cli_complain(&e);
	if (o->format == FORMAT_JSON)
		print_json(to_json(&row));
	else
		r = print_one(o, &row, &e);
	session_done(&row);
	if (r < 0)
		return cli_complain(&e);
	return cli_finish_output();
}

int cmd_session_rm(const struct options *o)
{
	struct session_store *store;
	struct sbx_error e = { 0 };
	int r;

	/* Nothing is made in order to remove something. */
	if (check_words(o, 1, INT_MAX, &e) < 0 ||
		open_store(&store, o, SESSION_READ, &e) < 0)
		return cli_complain(&e);
	r = session_store_remove(store, o->words, o->n_words, &e);
	session_store_close(store);
	return r < 0 ? cli_complain(&e) : EXIT_FINE;
}
