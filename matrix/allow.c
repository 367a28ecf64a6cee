#include "allow.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* S15: system directories, and the files of /etc; S16: private places. %H home, %W work dir, %S its name
 * among claude's projects. */
static const char *const everywhere[] = { "tmpfs /", "ro /usr", "ro /bin", "ro /sbin",
	"ro /lib", "ro /lib32", "ro /lib64", "ro /libx32", "tmpfs /tmp", "tmpfs /var/tmp",
	"tmpfs %H", "proc /proc", "ro /proc/keys", "ro /proc/key-users", "ro /proc/sys",
	"ro /proc/irq", "ro /proc/bus", "ro /proc/sysrq-trigger", "ro /etc/alternatives",
	"ro /etc/profile.d", "ro /etc/terminfo", NULL };

/* S23: what follows the network. */
static const char *const with_network[] = { "ro /etc/ca-certificates",
	"ro /etc/pki/ca-trust/extracted", "ro /etc/pki/tls/certs", "ro /etc/resolv.conf",
	"ro /etc/ssl/certs", NULL };

/* S15, S23: files; copies, or mounts of the host's. */
static const char *const etc_files[] = { "/etc/bash.bashrc", "/etc/hosts", "/etc/inputrc",
	"/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/os-release",
	"/etc/profile", "/etc/timezone", NULL };
static const char *const etc_files_with_network[] = { "/etc/host.conf",
	"/etc/nsswitch.conf", "/etc/protocols", "/etc/services", "/etc/ssl/cert.pem",
	"/etc/ssl/openssl.cnf", NULL };

/* S1, S7, S8: the work dir, what is protected in it, and what holds that in place. */
static const char *const work_rw[] = { "rw %W", "rw %W/.git", "ro %W/.git/hooks",
	"ro %W/.git/config", "ro %W/.claude", "ro %W/.mcp.json",
	/* absent in the scene, and reserved */
	"ro %W/.git/config.worktree", "ro %W/.git/commondir", "ro %W/.git/modules",
	"ro %W/.git/worktrees", "rw %W/.git/modules/own", "ro %W/.git/modules/own/hooks",
	"ro %W/.git/modules/own/config", "ro %W/.git/modules/own/config.worktree",
	"ro %W/.git/modules/own/commondir", "ro %W/.git/modules/own/modules",
	"ro %W/.git/modules/own/worktrees", "rw %W/.git/worktrees/own",
	"ro %W/.git/worktrees/own/gitdir", "ro %W/.git/worktrees/own/commondir",
	"ro %W/.git/worktrees/own/config.worktree", "ro %W/.codex", "ro %W/.gemini",
	"ro %W/.opencode", "ro %W/opencode.json", "ro %W/opencode.jsonc", "ro %W/.cursor",
	"ro %W/.kiro", NULL };
static const char *const work_ro[] = { "ro %W", NULL };

/* S9: an agent's own; of the files that the scene has. */
static const struct {
	const char *agent;
	const char *system; /* the administrator's policy, in any profile */
	const char *const lenient[8];
	const char *env;
} own[] = {
	{ "claude", "ro /etc/claude-code",
		{ "ro %H/.claude/settings.json", "ro %H/.claude/.credentials.json",
			"ro %H/.claude/CLAUDE.md", "rw %H/.claude/projects/%S",
			"ro %H/.claude/hooks" },
		"ANTHROPIC_API_KEY" },
	{ "codex", "ro /etc/codex",
		{ "ro %H/.codex/config.toml", "ro %H/.codex/auth.json",
			"rw %H/.codex/sessions", "ro %H/.codex/skills" },
		"OPENAI_API_KEY" },
	{ "gemini", "ro /etc/gemini-cli",
		{ "ro %H/.gemini/settings.json", "ro %H/.gemini/oauth_creds.json",
			"rw %H/.gemini/tmp/app", "ro %H/.gemini/tmp/app/.project_root",
			"ro %H/.gemini/extensions" },
		"GEMINI_API_KEY" },
	{ "opencode", "ro /etc/opencode",
		{ "ro %H/.config/opencode/opencode.json",
			"ro %H/.local/share/opencode/auth.json",
			"ro %H/.config/opencode/plugin" },
		"OPENROUTER_API_KEY" },
	{ "agent", NULL,
		{ "ro %H/.cursor/cli-config.json", "ro %H/.cursor/mcp.json",
			"ro %H/.config/cursor/auth.json", "rw %H/.cursor/chats",
			"ro %H/.cursor/rules" },
		"CURSOR_API_KEY" },
	{ "kiro", NULL,
		{ "ro %H/.kiro/settings", "ro %H/.local/share/kiro-cli/data.sqlite3",
			"rw %H/.kiro/sessions/cli", "ro %H/.kiro/hooks" },
		"KIRO_API_KEY" },
};

/* S13. PWD is bwrap's own, from --chdir. */
static const char env_everywhere[] = "HOME PATH USER LOGNAME SHELL TMPDIR PWD TERM LANG";
static const char env_with_network[] = " http_proxy no_proxy";

/* Fixed switches, harmless in any profile. */
static const struct {
	const char *agent;
	const char *names;
} switches[] = {
	{ "claude", " DISABLE_AUTOUPDATER" },
	{ "gemini", " GEMINI_CLI_TRUST_WORKSPACE GEMINI_CLI_NO_RELAUNCH" },
	{ "opencode", " OPENCODE_DISABLE_AUTOUPDATE" },
};

struct out {
	char *buf;
	size_t n, len;
};

static void put(struct out *o, const char *text, size_t len)
{
	/* A cut list allows less: a mismatch, never a pass. */
	if (o->len + len + 1 > o->n)
		len = o->n - o->len - 1;
	memcpy(o->buf + o->len, text, len);
	o->len += len;
	o->buf[o->len] = '\0';
}

static void put_line(struct out *o, const char *line, const struct tree *t)
{
	SBX_CLEANUP_FREE char *slug = tree_slug(t);

	for (const char *p = line; *p;) {
		size_t n = strcspn(p, "%");
		const char *with = p[n] == 0         ? ""
				   : p[n + 1] == 'H' ? t->home
				   : p[n + 1] == 'S' ? slug
						     : t->work;

		put(o, p, n);
		put(o, with, strlen(with));
		p += p[n] ? n + 2 : n;
	}
	put(o, "\n", 1);
}

static void put_files(struct out *o, const char *before, const char *const *files)
{
	for (; *files; files++) {
		put(o, before, strlen(before));
		put(o, *files, strlen(*files));
		put(o, "\n", 1);
	}
}

static void put_lines(struct out *o, const char *const *lines, const struct tree *t)
{
	for (; *lines; lines++)
		put_line(o, *lines, t);
}

static bool is(const struct cell *c, enum axis a, const char *value)
{
	return strcmp(cell_value(c, a), value) == 0;
}

void allow_mounts(char *buf, size_t n, const struct tree *t, const struct cell *c)
{
	struct out o = { .buf = buf, .n = n };
	bool lenient = is(c, AXIS_PROFILE, "lenient");

	put_lines(&o, everywhere, t);
	put_files(&o, "ro ", etc_files);
	put_lines(&o, is(c, AXIS_FS, "rw") ? work_rw : work_ro, t);
	if (is(c, AXIS_NET, "on")) {
		put_lines(&o, with_network, t);
		put_files(&o, "ro ", etc_files_with_network);
	}
	if (lenient)
		put_line(&o, "ro %H/.gitconfig", t);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(own); i++) {
		if (!is(c, AXIS_AGENT, own[i].agent))
			continue;
		if (own[i].system)
			put_line(&o, own[i].system, t);
		if (lenient)
			put_lines(&o, own[i].lenient, t);
	}
}

void allow_etc_files(char *buf, size_t n, const struct cell *c)
{
	static const char *const own_text[] = { "/etc/passwd", "/etc/group", NULL };
	struct out o = { .buf = buf, .n = n };

	put_files(&o, "", own_text);
	put_files(&o, "", etc_files);
	if (is(c, AXIS_NET, "on"))
		put_files(&o, "", etc_files_with_network);
}

/* S9: "a private copy". */
void allow_copies(char *buf, size_t n, const struct tree *t, const struct cell *c)
{
	struct out o = { .buf = buf, .n = n };

	buf[0] = '\0';
	if (is(c, AXIS_AGENT, "claude") && is(c, AXIS_PROFILE, "lenient"))
		put_line(&o, "%H/.claude.json", t);
}

void allow_env_names(char *buf, size_t n, const struct cell *c)
{
	struct out o = { .buf = buf, .n = n };

	put(&o, env_everywhere, strlen(env_everywhere));
	if (is(c, AXIS_NET, "on"))
		put(&o, env_with_network, strlen(env_with_network));
	for (size_t i = 0; i < SBX_ARRAY_SIZE(switches); i++)
		if (is(c, AXIS_AGENT, switches[i].agent))
			put(&o, switches[i].names, strlen(switches[i].names));
	for (size_t i = 0; i < SBX_ARRAY_SIZE(own); i++)
		if (is(c, AXIS_AGENT, own[i].agent) && is(c, AXIS_PROFILE, "lenient")) {
			put(&o, " ", 1);
			put(&o, own[i].env, strlen(own[i].env));
		}
}

/* ---- what must be there ---- */

/* bwrap's own, where it finds that they could be written to. */
static const char *const bwraps_own[] = { "/proc/sys", "/proc/irq", "/proc/bus",
	"/proc/sysrq-trigger" };

/* Links where the host has links: then they are no mounts. */
static const char *const often_links[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/libx32" };

static bool among(const char *path, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], path) == 0)
			return true;
	return false;
}

static bool listed(const char *path, const char *const *list)
{
	while (*list && strcmp(*list, path) != 0)
		list++;
	return *list != NULL;
}

/* A read-only path of the system is bound where this machine has it, if it is no file of those
 * that may be copies. */
static bool machine_has(const char *path, const struct cell *c)
{
	struct stat st;

	if (among(path, bwraps_own, SBX_ARRAY_SIZE(bwraps_own)))
		return strcmp(path, "/proc/sys") == 0 && is(c, AXIS_UID, "root");
	if (listed(path, etc_files) || listed(path, etc_files_with_network))
		return false;
	if (among(path, often_links, SBX_ARRAY_SIZE(often_links)) &&
		lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return false;
	return stat(path, &st) == 0;
}

void allow_mounts_must(char *buf, size_t n, const struct tree *t, const struct cell *c)
{
	/* S29; /dev itself is a tmpfs. */
	static const char *const devices[] = { "dev /dev/null", "dev /dev/zero",
		"dev /dev/full", "dev /dev/random", "dev /dev/urandom", "dev /dev/tty",
		"dev /dev/pts", "dev /dev", NULL };
	struct out o = { .buf = buf, .n = n };
	char all[8192];

	allow_mounts(all, sizeof(all), t, c);
	put_lines(&o, devices, t);
	for (char *line = all; *line;) {
		size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n');
		/* The scene has all of its own. */
		bool system = strncmp(line, "ro ", 3) == 0 &&
			      strncmp(line + 3, t->home, strlen(t->home)) != 0;

		line[len] = '\0';
		if (strcmp(line, "tmpfs /") == 0) /* S16: sealed */
			put_line(&o, "sealed /", t);
		else if (!system || machine_has(line + 3, c))
			put_line(&o, line, t);
		line = next;
	}
}
