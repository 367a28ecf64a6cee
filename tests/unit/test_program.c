/* Where a program really lives: fake installations in a directory of their own. */
#include "path.h"
#include "t.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char *root, *home, *work, *path;
	struct sbx_host h;
};

static int make_world(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));

	w->root = t_mkdir();
	w->home = sbx_xasprintf("%s/home", w->root);
	w->work = sbx_xasprintf("%s/project", w->root);
	t_host_debian(&w->h, w->work);
	free(w->h.home);
	free(w->h.home_real);
	w->h.home = sbx_xstrdup(w->home);
	w->h.home_real = sbx_xstrdup(w->home);
	assert_int_equal(mkdir(w->home, 0755), 0);
	assert_int_equal(mkdir(w->work, 0755), 0);
	*state = w;
	return 0;
}

static int end_world(void **state)
{
	struct world *w = *state;

	sbx_host_done(&w->h);
	t_rmdir(w->root);
	free(w->home);
	free(w->work);
	free(w->path);
	free(w);
	return 0;
}

/* A path of the scene: "~/x" lies in the home, "@/x" in its root. Owned. */
static char *at(const struct world *w, const char *path)
{
	if (path[0] == '~')
		return sbx_path_join(w->home, path + 1);
	return path[0] == '@' ? sbx_path_join(w->root, path + 1) : sbx_xstrdup(path);
}

static void make_parents(const char *path)
{
	SBX_CLEANUP_FREE char *up = sbx_path_parent(path);

	if (strcmp(up, "/") == 0 || access(up, F_OK) == 0)
		return;
	make_parents(up);
	assert_int_equal(mkdir(up, 0755), 0);
}

static void make_file(const struct world *w, const char *path, const char *text)
{
	SBX_CLEANUP_FREE char *p = at(w, path);
	FILE *f;

	make_parents(p);
	f = fopen(p, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(p, 0755), 0);
}

/* "->" text is taken as it is, but for ~ and @. */
static void make_link(const struct world *w, const char *path, const char *text)
{
	SBX_CLEANUP_FREE char *p = at(w, path), *t = at(w, text);

	make_parents(p);
	assert_int_equal(symlink(t, p), 0);
}

static void search_in(struct world *w, const char *dirs)
{
	SBX_CLEANUP_FREE char *list = sbx_xstrdup(dirs), *path = sbx_xstrdup("PATH=");
	char *save = NULL;

	for (char *d = strtok_r(list, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
		SBX_CLEANUP_FREE char *dir = at(w, d);
		char *longer = sbx_xasprintf("%s%s:", path, dir);

		free(path);
		path = longer;
	}
	sbx_strv_add(&w->h.environ, path);
}

/* ---- layouts ---- */

static const struct row {
	const char *name;
	struct {
		const char *path, *text, *link;
	} files[6];
	const char *path; /* PATH */
	const char *word;
	const char *exec; /* what is executed inside; NULL: an error */
	const char *needs[4]; /* "path" bound, "path>" a link */
	const char *dir; /* first in PATH inside, or NULL */
	enum sbx_code code; /* of the error */
} rows[] = {
	{ "claude's own installer",
		{ { "~/.local/share/claude/versions/2.1.0", "ELF", NULL },
			{ "~/.local/bin/claude", NULL,
				"~/.local/share/claude/versions/2.1.0" } },
		"~/.local/bin:/usr/bin", "claude", "~/.local/bin/claude",
		{ "~/.local/share/claude/versions/2.1.0", "~/.local/bin/claude>" },
		"~/.local/bin", SBX_OK },
	{ "cursor's installer: the version's directory",
		{ { "~/.local/share/cursor-agent/versions/v1/cursor-agent",
			  "#!/usr/bin/env sh\n", NULL },
			{ "~/.local/bin/agent", NULL,
				"~/.local/share/cursor-agent/versions/v1/cursor-agent" } },
		"~/.local/bin:/usr/bin", "agent", "~/.local/bin/agent",
		{ "~/.local/share/cursor-agent/versions/v1", "~/.local/bin/agent>" },
		"~/.local/bin", SBX_OK },
	{ "npm -g with a prefix of its own",
		{ { "~/.npm-global/lib/node_modules/@openai/codex/bin/codex.js",
			  "#!/bin/sh\n", NULL },
			{ "~/.npm-global/bin/codex", NULL,
				"../lib/node_modules/@openai/codex/bin/codex.js" } },
		"~/.npm-global/bin:/usr/bin", "codex", "~/.npm-global/bin/codex",
		{ "~/.npm-global/lib/node_modules", "~/.npm-global/bin/codex>" },
		"~/.npm-global/bin", SBX_OK },
	{ "nvm: the package and its node are one tree",
		{ { "~/.nvm/versions/node/v22.1.0/lib/node_modules/c/cli.js",
			  "#!/usr/bin/env node\n", NULL },
			{ "~/.nvm/versions/node/v22.1.0/bin/c", NULL,
				"../lib/node_modules/c/cli.js" },
			{ "~/.nvm/versions/node/v22.1.0/bin/node", "ELF", NULL } },
		"~/.nvm/versions/node/v22.1.0/bin:/usr/bin", "c",
		"~/.nvm/versions/node/v22.1.0/bin/c", { "~/.nvm/versions/node/v22.1.0" },
		"~/.nvm/versions/node/v22.1.0/bin", SBX_OK },
	{ "fnm: PATH leads through a link",
		{ { "~/.local/share/fnm/node-versions/v20/installation/bin/node", "ELF",
			  NULL },
			{ "@/multishells/1", NULL,
				"~/.local/share/fnm/node-versions/v20/installation" },
			{ "~/.npm-global/lib/node_modules/x/x.js",
				"#!/usr/bin/env -S node --flag\n", NULL },
			{ "~/.npm-global/bin/x", NULL, "../lib/node_modules/x/x.js" } },
		"@/multishells/1/bin:~/.npm-global/bin:/usr/bin", "x",
		"~/.npm-global/bin/x",
		{ "~/.local/share/fnm/node-versions/v20/installation",
			"~/.npm-global/lib/node_modules", "~/.npm-global/bin/x>",
			"@/multishells/1/bin/node>" },
		"@/multishells/1/bin", SBX_OK },
	{ "volta: the stand-in is seen through",
		{ { "~/.volta/bin/volta-shim", "ELF", NULL },
			{ "~/.volta/bin/codex", NULL, "volta-shim" },
			{ "~/.volta/bin/node", NULL, "volta-shim" },
			{ "~/.volta/tools/image/packages/@openai/codex/bin/codex",
				"#!/usr/bin/env node\n", NULL },
			{ "~/.volta/tools/image/node/9.0.0/bin/node", "ELF", NULL },
			{ "~/.volta/tools/image/node/20.1.0/bin/node", "ELF", NULL } },
		"~/.volta/bin:/usr/bin", "codex",
		"~/.volta/tools/image/packages/@openai/codex/bin/codex",
		{ "~/.volta/tools/image" }, "~/.volta/tools/image/node/20.1.0/bin",
		SBX_OK },
	{ "mise: the stand-in is seen through",
		{ { "~/.local/bin/mise", "ELF", NULL },
			{ "~/.local/share/mise/shims/gemini", NULL, "~/.local/bin/mise" },
			{ "~/.local/share/mise/installs/gemini/0.61/bin/gemini", "ELF",
				NULL },
			{ "~/.local/share/mise/installs/gemini/latest", NULL,
				"./0.61" } },
		"~/.local/share/mise/shims:/usr/bin", "gemini",
		"~/.local/share/mise/installs/gemini/latest/bin/gemini",
		{ "~/.local/share/mise/installs/gemini/0.61",
			"~/.local/share/mise/installs/gemini/latest/bin/gemini>" },
		"~/.local/share/mise/installs/gemini/latest/bin", SBX_OK },
	{ "a stand-in that stands for nothing", { { "~/.volta/bin/codex", "ELF", NULL } },
		"~/.volta/bin:/usr/bin", "codex", NULL, { NULL }, NULL,
		SBX_E_PROGRAM_MISSING },
	{ "a chain of links, each made inside",
		{ { "@/apps/one/bin/tool", "ELF", NULL },
			{ "@/apps/one/lib/x", "", NULL },
			{ "@/apps/current", NULL, "one" },
			{ "@/apps/bin/tool", NULL, "../current/bin/tool" },
			{ "~/.local/bin/tool", NULL, "@/apps/bin/tool" } },
		"~/.local/bin:/usr/bin", "tool", "~/.local/bin/tool",
		{ "@/apps/one", "~/.local/bin/tool>", "@/apps/bin/tool>",
			"@/apps/current/bin/tool>" },
		"~/.local/bin", SBX_OK },
	{ "a file alone in ~/.local/bin: not the directory",
		{ { "~/.local/bin/tool", "#!/bin/sh\n", NULL },
			{ "~/.local/lib/x", "", NULL } },
		"~/.local/bin:/usr/bin", "tool", "~/.local/bin/tool",
		{ "~/.local/bin/tool" }, "~/.local/bin", SBX_OK },
	{ "a package.json in HOME does not open HOME",
		{ { "~/tool/cli", "ELF", NULL }, { "~/package.json", "{}", NULL } },
		"~/tool:/usr/bin", "tool/../cli", NULL, { NULL }, NULL,
		SBX_E_PROGRAM_MISSING },
	{ "HOME as a prefix does not open HOME",
		{ { "~/bin/tool", "ELF", NULL }, { "~/lib/x", "", NULL },
			{ "~/package.json", "{}", NULL } },
		"~/bin:/usr/bin", "tool", "~/bin/tool", { "~/bin/tool" }, "~/bin",
		SBX_OK },
	{ "a directory of credentials is refused", { { "~/.ssh/tool", "ELF", NULL } },
		"~/.ssh:/usr/bin", "tool", NULL, { NULL }, NULL, SBX_E_PROGRAM_HIDDEN },
	{ "a link into one, too",
		{ { "~/.aws/node_modules/tool", "ELF", NULL },
			{ "~/.local/bin/tool", NULL, "~/.aws/node_modules/tool" } },
		"~/.local/bin:/usr/bin", "tool", NULL, { NULL }, NULL,
		SBX_E_PROGRAM_HIDDEN },
	{ "an agent's state directory is never shown whole",
		{ { "~/.claude/tool", "ELF", NULL },
			{ "~/.claude/package.json", "", NULL } },
		"~/.claude:/usr/bin", "tool", "~/.claude/tool", { "~/.claude/tool" },
		"~/.claude", SBX_OK },
	{ "nor one of which no file is known",
		{ { "~/.local/state/opencode/tool", "ELF", NULL },
			{ "~/.local/state/opencode/package.json", "", NULL } },
		"~/.local/state/opencode:/usr/bin", "tool",
		"~/.local/state/opencode/tool", { "~/.local/state/opencode/tool" },
		"~/.local/state/opencode", SBX_OK },
	{ "claude's local installation",
		{ { "~/.claude/local/claude", "#!/bin/sh\n", NULL },
			{ "~/.claude/local/node_modules/x", "", NULL } },
		"~/.claude/local:/usr/bin", "claude", "~/.claude/local/claude",
		{ "~/.claude/local" }, "~/.claude/local", SBX_OK },
	{ "a Python environment",
		{ { "~/venvs/a/bin/tool", "#!/usr/bin/env sh\n", NULL },
			{ "~/venvs/a/pyvenv.cfg", "", NULL } },
		"~/venvs/a/bin:/usr/bin", "tool", "~/venvs/a/bin/tool", { "~/venvs/a" },
		"~/venvs/a/bin", SBX_OK },
	{ "the system's own keeps its name", { { NULL, NULL, NULL } }, "/usr/bin", "env",
		"env", { NULL }, NULL, SBX_OK },
	{ "in the work dir: relative words are left alone",
		{ { "@/project/run.sh", "#!/bin/sh\n", NULL } }, "/usr/bin", "./run.sh",
		"./run.sh", { NULL }, NULL, SBX_OK },
	{ "relative entries of PATH are ignored", { { "@/project/tool", "ELF", NULL } },
		"/usr/bin", "tool", NULL, { NULL }, NULL, SBX_E_PROGRAM_MISSING },
	{ "an interpreter that is not there",
		{ { "~/t/tool", "#!/usr/bin/env nosuchnode\n", NULL } }, "~/t:/usr/bin",
		"tool", NULL, { NULL }, NULL, SBX_E_PROGRAM_MISSING },
	{ "an interpreter by path, elsewhere",
		{ { "~/t/tool", "#!INTERPRETER\n", NULL },
			{ "~/node-v22/bin/node", "ELF", NULL },
			{ "~/node-v22/lib/x", "", NULL } },
		"~/t:/usr/bin", "tool", "~/t/tool", { "~/t/tool", "~/node-v22" }, "~/t",
		SBX_OK },
	{ "a shell script that starts node",
		{ { "~/t/tool", "#!/bin/sh\nexec node x.js\n", NULL },
			{ "~/node-v22/bin/node", "ELF", NULL },
			{ "~/node-v22/lib/x", "", NULL } },
		"~/t:~/node-v22/bin:/usr/bin", "tool", "~/t/tool",
		{ "~/t/tool", "~/node-v22" }, "~/node-v22/bin", SBX_OK },
	{ "a link that leads nowhere",
		{ { "~/.local/bin/claude", NULL, "/nonexistent/claude" } },
		"~/.local/bin:/usr/bin", "claude", NULL, { NULL }, NULL,
		SBX_E_PROGRAM_MISSING },
	{ "a script of the project names a program beside other files of the user's",
		{ { "~/node-v22/package.json", "{}", NULL },
			{ "~/node-v22/bin/node", "ELF", NULL },
			{ "@/project/run", "#!INTERPRETER\n", NULL } },
		"/usr/bin", "./run", NULL, { NULL }, NULL, SBX_E_PROGRAM_HIDDEN },
	{ "the same, and the user's PATH leads there too",
		{ { "~/node-v22/package.json", "{}", NULL },
			{ "~/node-v22/bin/node", "ELF", NULL },
			{ "@/project/run", "#!INTERPRETER\n", NULL } },
		"~/node-v22/bin:/usr/bin", "./run", "./run", { "~/node-v22" }, NULL,
		SBX_OK },
	{ "a link of the project leads out",
		{ { "~/pkg/package.json", "{}", NULL }, { "~/pkg/cli", "ELF", NULL },
			{ "@/project/run", NULL, "~/pkg/cli" } },
		"/usr/bin", "./run", NULL, { NULL }, NULL, SBX_E_PROGRAM_HIDDEN },
	{ "a name in PATH is a link of the project's that leads out",
		{ { "~/pkg/package.json", "{}", NULL }, { "~/pkg/cli", "ELF", NULL },
			{ "@/project/bin/cli", NULL, "~/pkg/cli" } },
		"@/project/bin:/usr/bin", "cli", NULL, { NULL }, NULL,
		SBX_E_PROGRAM_HIDDEN },
	{ "a program of the user's is a link to a script of the project's",
		{ { "~/pkg/package.json", "{}", NULL },
			{ "~/node-v22/bin/node", "ELF", NULL },
			{ "@/project/run", "#!INTERPRETER\n", NULL },
			{ "~/bin/run", NULL, "@/project/run" } },
		"~/bin:/usr/bin", "run", NULL, { NULL }, NULL, SBX_E_PROGRAM_HIDDEN },
	{ "a venv of the project: a version of Python may be chosen",
		{ { "~/.pyenv/versions/3.12/bin/python3.12", "ELF", NULL },
			{ "@/project/.venv/bin/python", NULL,
				"~/.pyenv/versions/3.12/bin/python3.12" } },
		"/usr/bin", ".venv/bin/python", ".venv/bin/python",
		{ "~/.pyenv/versions/3.12" }, NULL, SBX_OK },
};

static const struct sbx_need *find_need(const struct sbx_host *h, const char *path)
{
	for (size_t i = 0; i < h->n_needs; i++)
		if (strcmp(h->needs[i].path, path) == 0)
			return &h->needs[i];
	return NULL;
}

static void set_up(struct world *w, const struct row *r)
{
	for (size_t i = 0; i < 6 && r->files[i].path; i++) {
		const char *text = r->files[i].text;
		SBX_CLEANUP_FREE char *elsewhere =
			sbx_xasprintf("#!%s/node-v22/bin/node\n", w->home);

		if (r->files[i].link)
			make_link(w, r->files[i].path, r->files[i].link);
		else
			make_file(w, r->files[i].path,
				strcmp(text, "#!INTERPRETER\n") ? text : elsewhere);
	}
	search_in(w, r->path);
}

static void check_needs(const struct world *w, const struct row *r)
{
	size_t n = 0;

	for (; n < 4 && r->needs[n]; n++) {
		SBX_CLEANUP_FREE char *path = at(w, r->needs[n]);
		char *mark = strchr(path, '>');
		const struct sbx_need *need;

		if (mark)
			*mark = '\0';
		need = find_need(&w->h, path);
		if (need == NULL || (mark != NULL) != (need->link != NULL))
			fail_msg("%s is not %s", path, mark ? "a link" : "bound");
	}
	for (size_t i = 0; i < w->h.n_needs; i++)
		if (strncmp(w->h.needs[i].path, w->root, strlen(w->root)) != 0)
			fail_msg("%s is shown", w->h.needs[i].path);
	assert_int_equal(w->h.n_needs, n);
}

static void found(void **state)
{
	const struct row *r = *state;
	struct sbx_error e = { 0 };
	void *scene = NULL;
	struct world *w;
	char *word = sbx_xstrdup(r->word);
	int rc;

	make_world(&scene);
	w = scene;
	set_up(w, r);
	rc = sbx_program_find(&w->h, &word, &e);
	if (r->exec) {
		SBX_CLEANUP_FREE char *exec =
			r->exec[0] == '.' ? sbx_xstrdup(r->exec) : at(w, r->exec);
		SBX_CLEANUP_FREE char *dir = r->dir ? at(w, r->dir) : NULL;

		if (rc < 0)
			fail_msg("%s", e.message);
		assert_string_equal(word, exec);
		check_needs(w, r);
		if (dir)
			assert_string_equal(w->h.path_dirs.v[0], dir);
	} else {
		assert_true(rc < 0);
		assert_string_equal(
			sbx_error_code_name(e.code), sbx_error_code_name(r->code));
		assert_non_null(e.remedy);
		assert_string_equal(word, r->word);
	}
	sbx_error_done(&e);
	free(word);
	end_world(&scene);
}

T_ROWS(layouts, rows, found)

/* ---- what is never shown ---- */

static void home_is_never_a_tree(void **state)
{
	static const char *const never[] = { "~", "~/.local", "~/.local/bin", "~/.ssh",
		"~/.claude", "~/.config", "@", "/etc", "/home", "/", "/proc" };
	struct world *w = *state;

	make_file(w, "~/.local/bin/x", "");
	make_file(w, "~/.ssh/x", "");
	make_file(w, "~/.claude/x", "");
	make_file(w, "~/.config/x", "");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(never); i++) {
		SBX_CLEANUP_FREE char *path = at(w, never[i]);
		const char *why = NULL;
		char *tree = sbx_program_tree(&w->h, path, &why);

		if (tree)
			fail_msg("%s is shown for %s", tree, path);
	}
}

/* What the plan makes of it: read-only, links, and PATH. */
static void the_plan_shows_it_read_only(void **state)
{
	struct world *w = *state;
	struct sbx_policy p = { .agent = "claude", .workdir = w->work };
	SBX_CLEANUP_FREE char *word = sbx_xstrdup("claude");
	SBX_CLEANUP_FREE char *link = at(w, "~/.local/bin/claude");
	SBX_CLEANUP_FREE char *file = at(w, "~/.local/share/claude/versions/2");
	SBX_CLEANUP_FREE char *begin = sbx_xasprintf("%s/.local/bin:", w->home);
	const struct sbx_op *op;
	struct sbx_error e = { 0 };
	struct sbx_plan plan;

	make_file(w, "~/.local/share/claude/versions/2", "ELF");
	make_link(w, "~/.local/bin/claude", "~/.local/share/claude/versions/2");
	search_in(w, "~/.local/bin:/usr/bin");
	assert_int_equal(sbx_program_find(&w->h, &word, &e), 0);
	assert_int_equal(sbx_plan_build(&plan, &p, &w->h, &e), 0);
	op = t_find_op(&plan, file);
	assert_int_equal(op->kind, SBX_OP_RO_BIND);
	assert_string_equal(op->src, file);
	op = t_find_op(&plan, link);
	assert_int_equal(op->kind, SBX_OP_SYMLINK);
	assert_string_equal(op->src, file);
	op = t_find_op(&plan, "PATH");
	assert_int_equal(strncmp(op->src, begin, strlen(begin)), 0);
	sbx_plan_done(&plan);
}

/* Outside /usr/bin comes first, so it does inside: what else lies in a tree hides nothing. */
static void path_keeps_its_order(void **state)
{
	struct world *w = *state;
	struct sbx_policy p = { .workdir = w->work };
	SBX_CLEANUP_FREE char *word = sbx_xstrdup("tool");
	SBX_CLEANUP_FREE char *end = sbx_xasprintf("/sbin:%s/late/bin", w->home);
	struct sbx_error e = { 0 };
	struct sbx_plan plan;
	const char *path;

	make_file(w, "~/late/bin/tool", "ELF");
	make_file(w, "~/late/lib/x", "");
	search_in(w, "/usr/bin:~/late/bin");
	assert_int_equal(sbx_program_find(&w->h, &word, &e), 0);
	assert_int_equal(sbx_plan_build(&plan, &p, &w->h, &e), 0);
	path = t_find_op(&plan, "PATH")->src;
	assert_int_equal(strncmp(path, "/usr/local/bin:", 15), 0);
	assert_string_equal(path + strlen(path) - strlen(end), end);
	sbx_plan_done(&plan);
}

/* A tree that comes later takes in what was found beneath it. */
static void a_tree_covers_what_lies_beneath(void **state)
{
	struct world *w = *state;

	sbx_host_add_need(&w->h, "/opt/a/bin/x", NULL, "x");
	sbx_host_add_need(&w->h, "/opt/a/bin/y", "/opt/b", "y");
	sbx_host_add_need(&w->h, "/opt/ab", NULL, "z");
	assert_int_equal(w->h.n_needs, 3);
	sbx_host_add_need(&w->h, "/opt/a", NULL, "tree");
	assert_int_equal(w->h.n_needs, 2);
	sbx_host_add_need(&w->h, "/opt/a/lib/z", NULL, "covered");
	assert_int_equal(w->h.n_needs, 2);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(home_is_never_a_tree),
		WORLD_TEST(the_plan_shows_it_read_only),
		WORLD_TEST(path_keeps_its_order),
		WORLD_TEST(a_tree_covers_what_lies_beneath),
	};

	return layouts() + cmocka_run_group_tests(tests, NULL, NULL);
}
