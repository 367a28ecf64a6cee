/* sbx agents: the table. */
#include "cli.h"
#include "doctor.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

/* Where the row comes from. */
static const char *source_of(const struct sbx_agent *a)
{
	return a->source ? a->source : "built in";
}

static void print_words(const char *title, const char *const *words)
{
	if (*words == NULL)
		return;
	printf("%s:", title);
	for (; *words; words++)
		printf(" %s", *words);
	putchar('\n');
}

static void print_one(const struct sbx_agent *a)
{
	printf("%s: %s%s\n", a->name, a->why, a->verified ? "" : " (unverified)");
	printf("source: %s\n", source_of(a));
	if (a->command)
		printf("command: %s\n", a->command);
	print_words("flags, when sandboxed", a->skip_flags);
	if (a->resume) {
		print_words("takes a conversation up again by", a->resume->again);
		printf("which one: %s\n", a->resume->why);
	}
	if (a->key_flags)
		print_words("with them, for its key", a->key_flags);
	if (a->skip_behind)
		print_words("behind one of these", a->skip_behind);
	for (const struct sbx_agent_path *p = a->paths; p->path; p++)
		printf("%-17s %s%-32s %s\n", sbx_path_mode_name(p->mode),
			p->path[0] == '/' ? "" : "~/", p->path, p->why);
	print_words("passed variables", a->env);
	for (const struct sbx_agent_env *v = a->set_env; v->name; v++)
		printf("set               %s=%s: %s\n", v->name, v->value, v->why);
}

static void print_table(const struct sbx_agent *agents, size_t n)
{
	printf("%-10s %-10s %-44s %-9s %s\n", "NAME", "COMMAND", "FLAGS WHEN SANDBOXED",
		"SOURCE", "VERIFIED");
	for (size_t i = 0; i < n; i++) {
		const struct sbx_agent *a = &agents[i];

		printf("%-10s %-10s %-44s %-9s %s\n", a->name,
			a->command ? a->command : "-",
			a->skip_flags[0] ? a->skip_flags[0] : "-", source_of(a),
			a->verified ? "yes" : "unverified");
	}
	puts("\n'sbx agents NAME' shows its paths and variables. unverified: that row is from the\n"
	     "agent's documentation, and the agent itself has not been run with it; 'sbx agents\n"
	     "--check NAME' tries it here.");
}

static json_t *names(const char *const *words)
{
	json_t *j = json_array();

	for (; words && *words; words++)
		json_array_append_new(j, json_string(*words));
	return j;
}

static json_t *to_json(const struct sbx_agent *a)
{
	json_t *paths = json_array(), *set = json_array();

	for (const struct sbx_agent_path *p = a->paths; p->path; p++)
		json_array_append_new(
			paths, json_pack("{s:s, s:s, s:s}", "path", p->path, "mode",
				       sbx_path_mode_name(p->mode), "why", p->why));
	for (const struct sbx_agent_env *v = a->set_env; v->name; v++)
		json_array_append_new(set, json_pack("{s:s, s:s, s:s}", "name", v->name,
						   "value", v->value, "why", v->why));
	return json_pack("{s:s, s:s?, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"name", a->name, "command", a->command, "source", source_of(a),
		"verified", a->verified, "why", a->why, "skip_flags",
		names(a->skip_flags), "key_flags", names(a->key_flags), "skip_behind",
		names(a->skip_behind), "roots", names(a->roots), "paths", paths, "env",
		names(a->env), "set_env", set);
}

static void print_json(const struct sbx_agent *agents, size_t n)
{
	json_t *j = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(j, to_json(&agents[i]));
	json_dumpf(j, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(j);
}

int cmd_agents(const struct options *o)
{
	const struct sbx_agent *agents, *one = NULL;
	struct sbx_error e = { 0 };
	size_t n;

	if (o->check)
		return agents_check(o);
	if (o->n_words > 1 || o->args) {
		sbx_error_set(&e, SBX_E_USAGE, EINVAL, "'%s': one name at most",
			o->n_words > 1 ? o->words[1] : "--");
		sbx_error_remedy(&e, "see 'sbx agents --help'");
		return cli_complain(&e);
	}
	agents = sbx_agents(&n);
	if (o->n_words == 1) {
		one = sbx_agent_find(o->words[0]);
		if (one == NULL) {
			sbx_error_set(&e, SBX_E_AGENT_UNKNOWN, EINVAL,
				"agent '%s' is not known", o->words[0]);
			sbx_error_remedy(&e, "'sbx agents' lists them");
			return cli_complain(&e);
		}
		agents = one;
		n = 1;
	}
	if (o->format == FORMAT_JSON)
		print_json(agents, n);
	else if (one)
		print_one(one);
	else
		print_table(agents, n);
	return cli_finish_output();
}
