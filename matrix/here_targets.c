#include "here_targets.h"

#include "path.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of what one pattern finds; a directory of keys with more than that is seen by its first ones
 * and by itself. */
#define FOUND_MAX 24

/* ~ HOME, % the work dir, $NAME the value of a variable. '?' before a pattern: only where it is
 * there; without it, a path that is absent is reported as absent. */
struct row {
	const char *role;
	const char *const *patterns;
};

#define ROW(role, ...)                      \
	{                                   \
		role, (const char *const[]) \
		{                           \
			__VA_ARGS__, NULL   \
		}                           \
	}

/* clang-format off: a table */
static const struct row rows[] = {
	ROW("@here_keys", "~/.ssh", "?~/.ssh/*", "~/.gnupg",
		"?~/.gnupg/private-keys-v1.d/*", "~/.aws/credentials", "~/.aws/config",
		"~/.azure", "~/.config/gcloud", "~/.kube/config", "~/.docker/config.json",
		"~/.netrc", "~/.git-credentials", "~/.config/git/credentials",
		"~/.pgpass", "~/.my.cnf", "~/.npmrc", "~/.pypirc",
		"~/.cargo/credentials.toml", "~/.gem/credentials",
		"~/.config/gh/hosts.yml", "~/.config/glab-cli/config.yml",
		"~/.config/hub", "~/.password-store", "~/.local/share/keyrings",
		"~/.config/op", "~/.config/sops", "~/.config/age", "~/.vault-token",
		"~/.terraform.d/credentials.tfrc.json", "~/.config/rclone/rclone.conf",
		"~/.mozilla", "~/.thunderbird", "~/.config/google-chrome",
		"~/.config/chromium", "~/.config/BraveSoftware", "~/.bash_history",
		"~/.zsh_history", "~/.local/share/fish/fish_history", "~/.python_history",
		"~/.psql_history", "~/.lesshst", "~/.viminfo", "~/.Xauthority"),
	ROW("@here_startup", "~/.bashrc", "~/.bash_profile", "~/.bash_login",
		"~/.bash_logout", "~/.profile", "~/.zshrc", "~/.zshenv", "~/.zprofile",
		"~/.zlogin", "~/.config/fish/config.fish", "~/.inputrc", "~/.vimrc",
		"~/.tmux.conf", "~/.xsession", "~/.xinitrc", "~/.xprofile",
		"~/.ssh/authorized_keys", "~/.ssh/config", "~/.ssh/rc", "~/.gdbinit",
		"~/.pythonrc", "~/.npmrc", "~/.cargo/config.toml"),
	ROW("@here_startup_dirs", "~/.config/autostart", "~/.config/systemd/user",
		"~/.config/environment.d", "~/.local/bin", "~/bin", "~/.config/nvim",
		"~/.vim", "~/.config/git/hooks", "~/.local/share/applications"),
	ROW("@here_gitconfig", "?~/.gitconfig", "?~/.config/git/config"),
	ROW("@here_sockets", "$SSH_AUTH_SOCK", "$XDG_RUNTIME_DIR", "?$XDG_RUNTIME_DIR/*",
		"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
		"/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
		"/tmp/.X11-unix", "?/tmp/ssh-*", "?/tmp/tmux-*", "~/.gnupg/S.gpg-agent"),
	ROW("@here_git", "?%/.git/hooks", "?%/.git/config", "?%/.git/config.worktree",
		"?%/.git/commondir"),
	ROW("@here_project", "%/.claude", "%/.mcp.json", "%/.codex", "%/.gemini",
		"%/.opencode", "%/opencode.json", "%/opencode.jsonc", "%/.cursor",
		"%/.kiro"),
	ROW("@here_claude_obeyed", "?~/.claude/settings.json",
		"?~/.claude/settings.local.json", "?~/.claude/CLAUDE.md",
		"?~/.claude/agents", "?~/.claude/commands", "?~/.claude/hooks",
		"?~/.claude/skills", "?~/.claude/rules", "?~/.claude/plugins"),
	ROW("@here_claude_login", "~/.claude/.credentials.json"),
	ROW("@here_codex_obeyed", "?~/.codex/config.toml", "?~/.codex/hooks.json",
		"?~/.codex/AGENTS.md", "?~/.codex/rules", "?~/.codex/skills",
		"?~/.codex/prompts"),
	ROW("@here_codex_login", "~/.codex/auth.json"),
	ROW("@here_gemini_obeyed", "?~/.gemini/settings.json", "?~/.gemini/GEMINI.md",
		"?~/.gemini/trustedFolders.json", "?~/.gemini/trusted_hooks.json",
		"?~/.gemini/extensions", "?~/.gemini/policies", "?~/.gemini/commands",
		"?~/.gemini/skills", "?~/.gemini/agents"),
	ROW("@here_gemini_login", "~/.gemini/oauth_creds.json"),
	ROW("@here_opencode_obeyed", "?~/.config/opencode/opencode.json",
		"?~/.config/opencode/opencode.jsonc", "?~/.config/opencode/plugin",
		"?~/.config/opencode/plugins", "?~/.config/opencode/agent",
		"?~/.config/opencode/command"),
	ROW("@here_opencode_login", "~/.local/share/opencode/auth.json"),
	ROW("@here_cursor_obeyed", "?~/.cursor/cli-config.json", "?~/.cursor/mcp.json",
		"?~/.cursor/rules", "?~/.cursor/extensions"),
	ROW("@here_cursor_login", "~/.config/cursor/auth.json"),
	ROW("@here_kiro_obeyed", "?~/.kiro/settings", "?~/.kiro/hooks",
		"?~/.kiro/steering", "?~/.kiro/agents"),
	ROW("@here_kiro_login", "~/.local/share/kiro-cli/data.sqlite3"),
	ROW("@here_orders", "~/.claude/daemon", "~/.claude/jobs",
		"~/.codex/queue_1.sqlite", "~/.codex/packages", "?/tmp/claude-[0-9]*",
		"?/tmp/cc-socks*", "?/tmp/cc-daemon-*", "?/tmp/codex-daemon-*"),
};

static const struct {
	const char *role, *variable;
} keys[] = {
	{ "@here_env_claude", "ANTHROPIC_API_KEY" },
	{ "@here_env_codex", "OPENAI_API_KEY" },
	{ "@here_env_gemini", "GEMINI_API_KEY" },
	{ "@here_env_opencode", "OPENROUTER_API_KEY" },
	{ "@here_env_cursor", "CURSOR_API_KEY" },
	{ "@here_env_kiro", "KIRO_API_KEY" },
};

/* S13: the list; and what the agents are configured by, which depends on the agent. */
static const char *const named_variables[] = { "HOME", "PATH", "USER", "LOGNAME", "SHELL",
	"TMPDIR", "PWD", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "LANG",
	"LANGUAGE", "LC_*", "TZ", "[Hh][Tt][Tt][Pp]_[Pp]*", "[Hh][Tt][Tt][Pp][Ss]_[Pp]*",
	"[Aa][Ll][Ll]_[Pp]*", "[Nn][Oo]_[Pp]*", "SSL_CERT_*", "NODE_EXTRA_CA_CERTS",
	"CURL_CA_BUNDLE", "ANTHROPIC_*", "CLAUDE_*", "OPENAI_*", "CODEX_*", "GEMINI_*",
	"GOOGLE_*", "OPENCODE*", "OPENROUTER_*", "GROQ_*", "CURSOR_*", "KIRO_*",
	"DISABLE_*", "MAX_THINKING_TOKENS" };
/* clang-format on */

static struct here_target *add(struct here_targets *t, char *take_name)
{
	t->v = sbx_xrealloc(t->v, t->n + 1, sizeof(*t->v));
	t->v[t->n] = (struct here_target){ .name = take_name };
	return &t->v[t->n++];
}

/* For the report, and so without what a terminal would obey. */
static char *short_name(const struct scene *s, const char *path)
{
	size_t home = strlen(s->tree.home);
	char *name = sbx_path_is_beneath(path, s->tree.home)
			     ? sbx_xasprintf("~%s", path + home)
			     : sbx_xstrdup(path);

	for (char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return name;
}

static char *identity_of(const char *path)
{
	struct stat st = { 0 };

	if (stat(path, &st) < 0)
		st.st_ino = 0; /* the control will not say "same" */
	return sbx_xasprintf("%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
}

/* Which file it is goes along: "identity" wants it, the others do not look. The work dir and what
 * lies in it are the project; what it lies in is there inside, as an empty place. */
static void add_path(
	struct here_targets *t, const struct scene *s, const char *path, bool project)
{
	struct here_target *one;

	if (!project && (sbx_path_is_beneath(path, s->tree.work) ||
				sbx_path_is_beneath(s->tree.work, path)))
		return;
	one = add(t, short_name(s, path));
	one->args[0] = sbx_xstrdup(path);
	one->args[1] = identity_of(path);
}

/* What glob() takes for these characters and no others. Owned. */
static char *quoted(const char *path)
{
	char *out = sbx_xcalloc(2 * strlen(path) + 1, 1), *w = out;

	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			*w++ = '\\';
		*w++ = *path;
	}
	return out;
}

/* Owned; NULL when it has no meaning here. for_glob: only the pattern's own signs are some. */
static char *expand(const char *pattern, const struct scene *s, bool for_glob)
{
	SBX_CLEANUP_FREE char *name = NULL, *begin = NULL;
	const char *value = NULL;
	size_t len = 1;

	if (pattern[0] == '~') {
		value = s->tree.home;
	} else if (pattern[0] == '%') {
		value = s->tree.work;
	} else if (pattern[0] == '$') {
		len = strcspn(pattern, "/");
		name = sbx_xasprintf("%.*s", (int)(len - 1), pattern + 1);
		value = scene_env(s, name);
	} else {
		return sbx_xstrdup(pattern);
	}
	if (value == NULL || value[0] != '/')
		return NULL;
	begin = for_glob ? quoted(value) : sbx_xstrdup(value);
	return sbx_xasprintf("%s%s", begin, pattern + len);
}

static void add_pattern(
	struct here_targets *t, const struct scene *s, const char *pattern)
{
	const bool only_there = pattern[0] == '?';
	const bool project = pattern[only_there] == '%';
	SBX_CLEANUP_FREE char *path = expand(pattern + only_there, s, only_there);
	glob_t found = { 0 };

	if (path == NULL)
		return;
	if (!only_there) {
		add_path(t, s, path, project);
		return;
	}
	if (glob(path, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (i < FOUND_MAX)
			add_path(t, s, found.gl_pathv[i], project);
		else
			t->more++;
	globfree(&found);
}

static bool is_named(const char *variable)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(named_variables); i++)
		if (fnmatch(named_variables[i], variable, 0) == 0)
			return true;
	return false;
}

/* No hash is that of a value: the act says whether there is one. */
static void add_variable(struct here_targets *t, const char *name)
{
	struct here_target *one = add(t, sbx_xasprintf("$%s", name));

	one->args[0] = sbx_xstrdup(name);
	one->args[1] = sbx_xstrdup("0");
}

static void add_variables(struct here_targets *t, const struct scene *s)
{
	for (size_t i = 0; i < s->env.n; i++) {
		SBX_CLEANUP_FREE char *name = sbx_xasprintf(
			"%.*s", (int)strcspn(s->env.v[i], "="), s->env.v[i]);

		if (!is_named(name))
			add_variable(t, name);
	}
}

/* DIR and the names that may be in it, by slashes. */
static void add_names(
	struct here_targets *t, const struct scene *s, const char *dir, const char *only)
{
	struct here_target *one;

	if (access(dir, R_OK) < 0)
		return;
	one = add(t, short_name(s, dir));
	one->args[0] = sbx_xstrdup(dir);
	one->args[1] = sbx_xasprintf("/%s", only);
}

static void add_beside(struct here_targets *t, const struct scene *s)
{
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(s->tree.work);

	/* In HOME and in the root there is more; other rules look at those. */
	if (strcmp(parent, "/") != 0 && strcmp(parent, s->tree.home) != 0 &&
		strcmp(parent, "/tmp") != 0 && strcmp(parent, "/var/tmp") != 0)
		add_names(t, s, parent, s->tree.work + strlen(parent) + 1);
}

static bool special(struct here_targets *t, const char *role, const struct role_use *use)
{
	const struct scene *s = use->scene;
	SBX_CLEANUP_FREE char *projects = sbx_path_join(s->tree.home, ".claude/projects");
	SBX_CLEANUP_FREE char *slug = tree_slug(&s->tree);

	if (strcmp(role, "@here_home") == 0)
		add_path(t, s, s->tree.home, true);
	else if (strcmp(role, "@here_work") == 0)
		add_path(t, s, s->tree.work, true);
	else if (strcmp(role, "@here_tmp") == 0)
		add_path(t, s, "/tmp", true);
	else if (strcmp(role, "@here_beside") == 0)
		add_beside(t, s);
	else if (strcmp(role, "@here_claude_projects") == 0)
		add_names(t, s, projects, slug);
	else if (strcmp(role, "@here_env") == 0)
		add_variables(t, s);
	else if (strcmp(role, "@here_runner") == 0) {
		SBX_CLEANUP_FREE char *proc = sbx_xasprintf("/proc/%d", (int)getpid());

		add_path(t, s, proc, true);
	} else if (strcmp(role, "@here_work_new") == 0) {
		SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", s->root, "new");

		add_path(t, s, path, true);
	} else
		return false;
	return true;
}

static bool tabled(struct here_targets *t, const char *role, const struct scene *s)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].role, role) == 0) {
			add_variable(t, keys[i].variable);
			return true;
		}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].role, role) == 0) {
			for (const char *const *p = rows[i].patterns; *p; p++)
				add_pattern(t, s, *p);
			return true;
		}
	return false;
}

int here_targets_find(
	struct here_targets *ret, const char *role, const struct role_use *use)
{
	struct here_targets t = { 0 };
	struct role_args args;

	if (strncmp(role, "@here_", 6) == 0) {
		if (!special(&t, role, use) && !tabled(&t, role, use->scene))
			return -1;
	} else if (role_resolve(&args, role, use) < 0) {
		return -1;
	} else {
		struct here_target *one = add(&t, sbx_xstrdup(role));

		for (int i = 0; i < ROLE_ARGS; i++)
			one->args[i] = SBX_TAKE_PTR(args.v[i]);
	}
	*ret = t;
	return 0;
}

void here_targets_done(struct here_targets *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].name);
		for (int k = 0; k < ROLE_ARGS; k++)
			free(t->v[i].args[k]);
	}
	free(t->v);
	*t = (struct here_targets){ 0 };
}
