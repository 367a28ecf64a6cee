/* sbx agents --check: a row of the table, tried on this machine without a model. The program is
 * started inside for its --version and its --help; nothing is traced. What it says when it fails,
 * and what of that is on the host but not inside, tells what is missing. */
#include "doctor.h"
#include "identity.h"
#include "inside.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_S 60
#define PATHS_MAX 32

struct trial {
	const struct options *o; /* as given */
	struct options tried; /* with what is not given filled in */
	struct checks checks;
	char *scratch; /* a throw-away work dir, or NULL; owned */
	struct sbx_strv seen; /* paths that were looked for already */
};

/* What a program says that lacks something. The first that is found counts. */
static const struct {
	const char *words, *lacks, *remedy;
} complaints[] = {
	{ "error while loading shared libraries", "a shared library",
		"'ldd PROGRAM' tells where it lies; then --ro-bind that directory" },
	{ "cannot open shared object file", "a shared library",
		"'ldd PROGRAM' tells where it lies; then --ro-bind that directory" },
	{ "env: ", "its interpreter",
		"have the interpreter's directory in PATH when sbx starts" },
	{ "Cannot find module", "a module of its own",
		"install the agent anew, or --ro-bind the directory that holds it" },
	{ "Read-only file system", "a place that it may write to",
		"if that is harmless: --bind PATH" },
	{ "EROFS", "a place that it may write to", "if that is harmless: --bind PATH" },
	{ "not found", "a program", "--ro-bind the directory that holds it" },
	{ "No such file or directory", "a file",
		"--ro-bind the directory that holds it" },
};

static bool ends_path(char c)
{
	return !(isalnum((unsigned char)c) || (c && strchr("_./+@-~", c)));
}

/* Absolute paths of at least two parts in what a program has said, that are on this host. */
static void paths_in(struct sbx_strv *ret, const char *said)
{
	for (const char *p = said; *p && ret->n < PATHS_MAX; p++) {
		SBX_CLEANUP_FREE char *path = NULL;
		struct stat st;
		size_t len = 0;

		if (*p != '/' || (p > said && !ends_path(p[-1])))
			continue;
		while (!ends_path(p[len]))
			len++;
		while (len > 1 && strchr("./", p[len - 1]))
			len--;
		path = sbx_xasprintf("%.*s", (int)len, p);
		if (strchr(path + 1, '/') && lstat(path, &st) == 0)
			sbx_strv_add(ret, path);
		p += len - 1;
	}
}

static bool is_new(struct trial *t, const char *path)
{
	for (size_t i = 0; i < t->seen.n; i++)
		if (strcmp(t->seen.v[i], path) == 0)
			return false;
	sbx_strv_add(&t->seen, path);
	return true;
}

/* What the program speaks of, and is on the host, but not inside. */
static void look_for_paths(struct trial *t, const struct prepared *p, const char *said)
{
	SBX_CLEANUP_FREE char *out = sbx_xcalloc(1, INSIDE_MAX);
	struct sbx_strv paths = { 0 }, cmd = { 0 };
	struct sbx_error e = { 0 };
	struct sbx_exit x = { 0 };

	paths_in(&paths, said);
	sbx_strv_add(&cmd, "/bin/sh");
	sbx_strv_add(&cmd, "-c");
	sbx_strv_add(&cmd, "for p; do [ -e \"$p\" ] || echo \"$p\"; done");
	sbx_strv_add(&cmd, "sh");
	for (size_t i = 0; i < paths.n; i++)
		sbx_strv_add(&cmd, paths.v[i]);
	if (paths.n > 0 && inside_run(p, &t->tried, cmd.v, t->tried.timeout_s * 1000, out,
				   &x, &e) < 0)
		checks_add_error(&t->checks, CHECK_FAIL, p->agent->name, "inside", &e);
	for (char *save = NULL, *path = strtok_r(out, "\n", &save); path;
		path = strtok_r(NULL, "\n", &save)) {
		struct check *c;

		if (!is_new(t, path))
			continue;
		c = checks_add(&t->checks, CHECK_FAIL, p->agent->name, "missing",
			"%s is on this machine, and not inside", path);
		c->remedy = sbx_xasprintf(
			"try --ro-bind %s here; if it helps, give it to 'sbx run', too",
			path);
	}
	sbx_strv_done(&paths);
	sbx_strv_done(&cmd);
}

static void add_failure(struct trial *t, const struct prepared *p, const char *name,
	const char *word, const char *said, const struct sbx_exit *x)
{
	SBX_CLEANUP_FREE char *line =
		sbx_xasprintf("%.*s", (int)strcspn(said, "\n"), said);
	struct check *c;
	size_t i = 0;

	while (i < SBX_ARRAY_SIZE(complaints) &&
		strstr(said, complaints[i].words) == NULL)
		i++;
	c = checks_add(&t->checks, CHECK_FAIL, p->agent->name, name,
		"%s ended with status %d%s%s: %.200s", word, x->code,
		i < SBX_ARRAY_SIZE(complaints) ? "; it seems to lack " : "",
		i < SBX_ARRAY_SIZE(complaints) ? complaints[i].lacks : "", line);
	c->code = sbx_error_code_name(SBX_E_NOTHING_RAN);
	c->remedy = sbx_xstrdup(i < SBX_ARRAY_SIZE(complaints)
					? complaints[i].remedy
					: "see whether it works without sbx");
	look_for_paths(t, p, said);
}

/* Starts the program with the words; said is what it printed. True: it ended with 0. */
static bool start(struct trial *t, const struct prepared *p, const char *name,
	const char *word, const char *behind, char said[INSIDE_MAX])
{
	char *const cmd[] = { p->command.v[0], (char *)(behind ? behind : word),
		(char *)(behind ? word : NULL), NULL };
	struct sbx_error e = { 0 };
	struct sbx_exit x = { 0 };

	if (inside_run(p, &t->tried, cmd, t->tried.timeout_s * 1000, said, &x, &e) < 0) {
		if (e.remedy == NULL && e.err == ETIMEDOUT)
			sbx_error_remedy(&e,
				"see whether it does without sbx; --timeout gives it longer");
		else if (e.remedy == NULL)
			sbx_error_remedy(&e,
				"'sbx doctor %s' looks at the program and its interpreter",
				p->agent->name);
		checks_add_error(&t->checks, CHECK_FAIL, p->agent->name, name, &e);
		look_for_paths(t, p, said);
		return false;
	}
	if (x.code != 0)
		add_failure(t, p, name, behind ? behind : word, said, &x);
	return x.code == 0;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
		if (!isalnum((unsigned char)p[len]) && p[len] != '-' &&
			(p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '-')))
			return true;
	return false;
}

/* The flags of the row, in what the program says of itself. */
static void check_flags(struct trial *t, const struct prepared *p, const char *help)
{
	const struct sbx_agent *a = p->agent;
	SBX_CLEANUP_FREE char *missing = NULL;
	struct check *c;

	for (size_t i = 0; a->skip_flags[i]; i++)
		if (!has_word(help, a->skip_flags[i]))
			checks_list(&missing, a->skip_flags[i]);
	if (missing == NULL) {
		checks_add(&t->checks, CHECK_OK, a->name, "flags",
			"those that switch its prompts off are in its help");
		return;
	}
	c = checks_add(&t->checks, CHECK_WARN, a->name, "flags",
		"its help does not know %s, which 'sbx run' gives it", missing);
	c->remedy = sbx_xstrdup("if it refuses: --no-skip-permissions");
}

static void check_help(struct trial *t, const struct prepared *p)
{
	const char *const *behind = p->agent->skip_behind;
	SBX_CLEANUP_FREE char *said = sbx_xcalloc(1, INSIDE_MAX);
	SBX_CLEANUP_FREE char *all = NULL;

	if (!start(t, p, "help", "--help", NULL, said))
		return;
	checks_add(&t->checks, CHECK_OK, p->agent->name, "help", "printed, %zu bytes",
		strlen(said));
	all = sbx_xstrdup(said);
	for (; behind && *behind; behind++) {
		char *longer;

		if (!start(t, p, "help", "--help", *behind, said))
			return;
		longer = sbx_xasprintf("%s\n%s", all, said);
		free(all);
		all = longer;
	}
	check_flags(t, p, all);
}

static void check_version(struct trial *t, const struct prepared *p)
{
	SBX_CLEANUP_FREE char *said = sbx_xcalloc(1, INSIDE_MAX);

	if (!start(t, p, "version", "--version", NULL, said))
		return;
	said[strcspn(said, "\n")] = '\0';
	checks_add(&t->checks, CHECK_OK, p->agent->name, "version", "%.200s",
		*said ? said : "(it prints nothing)");
}

/* Nothing is to be remembered of it: gemini claims a directory even for --version. */
static void forget_state(struct sbx_plan *plan)
{
	for (size_t i = plan->n; i-- > 0;)
		if (plan->ops[i].pin == SBX_PIN_STATE)
			sbx_plan_remove(plan, i);
}

static void check_row(struct trial *t, struct prepared *p)
{
	struct sbx_launch_opts lo = prepare_launch_opts(&t->tried);
	SBX_CLEANUP_FREE char *trees = NULL;
	struct sbx_error e = { 0 };

	for (size_t i = 0; i < p->host.n_needs; i++)
		if (p->host.needs[i].link == NULL)
			checks_list(&trees, p->host.needs[i].path);
	checks_add(&t->checks, CHECK_OK, p->agent->name, "program", "%s%s%s",
		p->command.v[0], trees ? "; shown for it: " : "", trees ? trees : "");
	if (!p->agent->verified)
		checks_add(&t->checks, CHECK_WARN, p->agent->name, "row",
			"unverified: %s", p->agent->why);
	forget_state(&p->plan);
	if (sbx_avail_check(&p->plan, &p->host, &lo, &e) < 0) {
		checks_add_error(&t->checks, CHECK_FAIL, p->agent->name, "sandbox", &e);
		return;
	}
	check_version(t, p);
	check_help(t, p);
}

static void check_agent(struct trial *t, const struct sbx_agent *agent, bool named)
{
	struct sbx_error e = { 0 };
	struct prepared p;

	if (agent->command == NULL)
		return;
	if (prepare(&p, &t->tried, agent, &e) == 0) {
		check_row(t, &p);
		prepared_done(&p);
	} else if (named || e.code != SBX_E_PROGRAM_MISSING || e.err != ENOENT) {
		checks_add_error(&t->checks, CHECK_FAIL, agent->name, "program", &e);
	}
	sbx_error_done(&e);
}

/* What is not given: no network, and a directory of our own, which nothing can be left in. */
static int fill_in(struct trial *t, struct sbx_error *e)
{
	struct sbx_policy *p = &t->tried.policy;

	if (t->tried.timeout_s == 0)
		t->tried.timeout_s = DEFAULT_S;
	if (!options_given(t->o, KEY_NET))
		p->net = SBX_NET_OFF;
	if (!options_given(t->o, KEY_FS))
		p->fs = SBX_FS_RO;
	if (p->workdir)
		return 0;
	t->scratch = sbx_xstrdup("/var/tmp/sbx-agents-XXXXXX");
	if (mkdtemp(t->scratch) == NULL) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "%s: %m", t->scratch);
		sbx_error_remedy(e, "name a directory: --workdir DIR");
		free(SBX_TAKE_PTR(t->scratch));
		return -1;
	}
	p->workdir = t->scratch;
	return 0;
}

static void check_all(struct trial *t)
{
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);

	for (int i = 0; i < t->o->n_words; i++)
		check_agent(t, sbx_agent_find(t->o->words[i]), true);
	for (size_t i = 0; t->o->n_words == 0 && i < n; i++)
		check_agent(t, &agents[i], false);
	if (t->checks.n == 0)
		checks_add(&t->checks, CHECK_FAIL, NULL, "agents",
			"none of the known agents is in PATH")
			->remedy =
			sbx_xstrdup("install one, or add its directory to PATH");
}

static int check_names(const struct options *o, struct sbx_error *e)
{
	if (checks_words(o, e) < 0)
		return -1;
	for (int i = 0; i < o->n_words; i++)
		if (sbx_agent_find(o->words[i])->command == NULL) {
			sbx_error_set(e, SBX_E_USAGE, EINVAL,
				"%s has no program of its own to check", o->words[i]);
			sbx_error_remedy(
				e, "try a command: sbx run %s -- COMMAND", o->words[i]);
			return -1;
		}
	return 0;
}

int agents_check(const struct options *o)
{
	struct trial t = { .o = o, .tried = *o };
	struct sbx_error e = { 0 };
	struct identity id = { 0 };
	int status;

	if (check_names(o, &e) < 0 || identity_assume(&id, o, NULL, &e) < 0 ||
		fill_in(&t, &e) < 0) {
		identity_done(&id);
		return cli_complain(&e);
	}
	identity_done(&id);
	check_all(&t);
	if (t.scratch)
		rmdir(t.scratch);
	if (o->format == FORMAT_JSON)
		checks_print_json(&t.checks);
	else
		checks_print_text(&t.checks);
	status = checks_failed(&t.checks) ? EXIT_MISSING : EXIT_FINE;
	checks_done(&t.checks);
	sbx_strv_done(&t.seen);
	free(t.scratch);
	return cli_finish_output() == EXIT_FINE ? status : EXIT_OWN;
}
