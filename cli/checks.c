#include "doctor.h"
#include "quote.h"

#include <errno.h>
#include <jansson.h>

static const char *const status_names[_CHECK_MAX] = { "ok", "warn", "FAIL", "skip" };
static const char *const status_json[_CHECK_MAX] = { "ok", "warn", "fail", "skip" };

struct check *checks_add(struct checks *c, enum check_status status, const char *agent,
	const char *name, const char *fmt, ...)
{
	struct check *one;
	va_list ap;

	c->v = sbx_xrealloc(c->v, c->n + 1, sizeof(*c->v));
	one = &c->v[c->n++];
	*one = (struct check){ .status = status, .agent = agent, .name = name };
	va_start(ap, fmt);
	one->what = sbx_xvasprintf(fmt, ap);
	va_end(ap);
	return one;
}

void checks_add_error(struct checks *c, enum check_status status, const char *agent,
	const char *name, struct sbx_error *e)
{
	struct check *one = checks_add(c, status, agent, name, "%s", e->message);

	one->code = sbx_error_code_name(e->code);
	one->remedy = SBX_TAKE_PTR(e->remedy);
	sbx_error_done(e);
}

bool checks_failed(const struct checks *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].status == CHECK_FAIL)
			return true;
	return false;
}

void checks_done(struct checks *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].what);
		free(c->v[i].remedy);
	}
	free(c->v);
	*c = (struct checks){ 0 };
}

int checks_words(const struct options *o, struct sbx_error *e)
{
	if (o->args) {
		const char *name = o->cmd == CMD_DOCTOR ? "doctor" : "agents";

		sbx_error_set(e, SBX_E_USAGE, EINVAL, "%s runs no command: '--'", name);
		sbx_error_remedy(e, "see 'sbx %s --help'", name);
		return -1;
	}
	for (int i = 0; i < o->n_words; i++)
		if (sbx_agent_find(o->words[i]) == NULL) {
			sbx_error_set(e, SBX_E_AGENT_UNKNOWN, EINVAL,
				"agent '%s' is not known", o->words[i]);
			sbx_error_remedy(e, "'sbx agents' lists them");
			return -1;
		}
	return 0;
}

void checks_list(char **list, const char *word)
{
	char *longer =
		sbx_xasprintf("%s%s%s", *list ? *list : "", *list ? ", " : "", word);

	free(*list);
	*list = longer;
}

void checks_print_text(const struct checks *c)
{
	size_t bad = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct check *one = &c->v[i];
		SBX_CLEANUP_FREE char *what = quote_plain(one->what);

		bad += one->status == CHECK_FAIL;
		printf("%-4s  %-8s %-12s %s\n", status_names[one->status],
			one->agent ? one->agent : "machine", one->name, what);
		if (one->remedy) {
			SBX_CLEANUP_FREE char *remedy = quote_plain(one->remedy);

			printf("%28sto mend it: %s\n", "", remedy);
		}
	}
	if (bad)
		printf("\n%zu of %zu checks failed: 'sbx run' would not work here\n", bad,
			c->n);
	else
		puts("\nall that 'sbx run' needs is there; that the sandbox holds is proved by "
		     "sbx-verify");
}

void checks_print_json(const struct checks *c)
{
	json_t *all = json_array(), *top;

	for (size_t i = 0; i < c->n; i++) {
		const struct check *one = &c->v[i];
		/* Paths in it need be no UTF-8, which JSON must be. */
		json_t *what = json_string(one->what);

		json_array_append_new(
			all, json_pack("{s:s, s:s?, s:s, s:s?, s:o, s:s?}", "name",
				     one->name, "agent", one->agent, "status",
				     status_json[one->status], "code", one->code, "what",
				     what ? what : json_null(), "remedy", one->remedy));
	}
	top = json_pack("{s:s, s:b, s:o}", "sbx", sbx_version(), "ok", !checks_failed(c),
		"checks", all);
	json_dumpf(top, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(top);
}
