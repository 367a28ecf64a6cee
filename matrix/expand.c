#include "expand.h"

#include "allow.h"
#include "probe_hash.h"

#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* By agent: its executable config, its credentials, its transcripts (a path that ends with a
 * slash goes on with the project's own name), its state root, and a directory of what it runs or
 * obeys. */
static const struct {
	const char *agent;
	const char *config, *credentials, *state, *root, *orders;
} own[] = {
	{ "claude", ".claude/settings.json", ".claude/.credentials.json",
		".claude/projects/", ".claude", ".claude/hooks" },
	{ "codex", ".codex/config.toml", ".codex/auth.json", ".codex/sessions", ".codex",
		".codex/skills" },
	{ "gemini", ".gemini/settings.json", ".gemini/oauth_creds.json",
		".gemini/tmp/app", ".gemini", ".gemini/extensions" },
	{ "opencode", ".config/opencode/opencode.json", ".local/share/opencode/auth.json",
		".local/share/opencode", ".config/opencode", ".config/opencode/plugin" },
	{ "agent", ".cursor/mcp.json", ".config/cursor/auth.json", ".cursor/chats",
		".cursor", ".cursor/rules" },
	{ "kiro", ".kiro/settings/mcp.json", ".local/share/kiro-cli/data.sqlite3",
		".kiro/sessions/cli", ".kiro", ".kiro/hooks" },
};

static const char *own_path(const char *agent, const char *what)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(own); i++) {
		if (strcmp(own[i].agent, agent) != 0)
			continue;
		if (strcmp(what, "config") == 0)
			return own[i].config;
		if (strcmp(what, "credentials") == 0)
			return own[i].credentials;
		if (strcmp(what, "state") == 0)
			return own[i].state;
		if (strcmp(what, "root") == 0)
			return own[i].root;
		if (strcmp(what, "orders") == 0)
			return own[i].orders;
	}
	return ".none"; /* generic: rules with such a role are omitted there */
}

struct text {
	char buf[8192];
	size_t len;
};

static void put(struct text *t, const char *fmt, ...) SBX_PRINTF(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, sizeof(t->buf) - t->len, fmt, ap);
	va_end(ap);
	/* A cut path would be another path: the scene's own paths are far shorter. */
	if (n < 0 || (size_t)n >= sizeof(t->buf) - t->len)
		abort();
	t->len += (size_t)n;
}

static void put_own(struct text *t, const struct scene *s, const char *path)
{
	SBX_CLEANUP_FREE char *slug = tree_slug(&s->tree);
	size_t len = strlen(path);

	put(t, "%s%s", path, path[len - 1] == '/' ? slug : "");
}

static void put_hash(struct text *t, uint64_t h)
{
	put(t, "%016llx", (unsigned long long)h);
}

/* Of what the act reads: the first quarter of a megabyte. */
static void put_file_hash(struct text *t, const char *path)
{
	enum { READ_MAX = 262144 };
	SBX_CLEANUP_FREE char *content = sbx_xcalloc(1, READ_MAX);
	FILE *f = fopen(path, "re");

	/* Where it cannot be read, the control cannot either. */
	put_hash(t, f ? probe_hash(content, fread(content, 1, READ_MAX, f)) : 0);
	if (f)
		fclose(f);
}

static void put_text_hash(struct text *t, const char *text)
{
	put_hash(t, text ? tree_text_hash(text) : 0);
}

static void put_identity(struct text *t, const struct scene *s, const char *what)
{
	const char *path = strcmp(what, "home") == 0   ? s->tree.home
			   : strcmp(what, "work") == 0 ? s->tree.work
						       : what;
	struct stat st = { 0 };

	if (stat(path, &st) < 0)
		st.st_ino = 0; /* the control will not say "same" */
	put(t, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

static void put_namespace(struct text *t, const char *ns)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("/proc/self/ns/%s", ns);
	struct stat st = { 0 };

	put(t, "%llu", stat(path, &st) < 0 ? 0ULL : (unsigned long long)st.st_ino);
}

static void put_hostname(struct text *t)
{
	struct utsname u;

	put(t, "%s", uname(&u) < 0 ? "?" : u.nodename);
}

static int leak_number(const struct scene *s, const char *which)
{
	return strcmp(which, "dir") == 0    ? s->objects.leak_dir
	       : strcmp(which, "path") == 0 ? s->objects.leak_path
					    : s->objects.leak_file;
}

static int port_of(const struct scene *s, const char *label)
{
	int port = s->listeners.port[listener_find(label)];

	return port ? port : 9; /* no such family here: the control says EADDRNOTAVAIL */
}

static void put_mounts(struct text *t, const struct role_use *u)
{
	allow_mounts(t->buf + t->len, sizeof(t->buf) - t->len, &u->scene->tree, u->cell);
	t->len += strlen(t->buf + t->len);
}

static void put_env_names(struct text *t, const struct cell *c)
{
	allow_env_names(t->buf + t->len, sizeof(t->buf) - t->len, c);
	t->len += strlen(t->buf + t->len);
}

static void put_mounts_must(struct text *t, const struct role_use *u)
{
	allow_mounts_must(
		t->buf + t->len, sizeof(t->buf) - t->len, &u->scene->tree, u->cell);
	t->len += strlen(t->buf + t->len);
}

/* The first name of the scene's path: it is in the sandbox's root, since the work dir is. */
static void put_top(struct text *t, const char *root)
{
	put(t, "%.*s", (int)strcspn(root + 1, "/"), root + 1);
}

/* As the key's owner knows it; 0 where there is none. */
static void put_key_serial(struct text *t, const struct scene *s)
{
	long id = s->objects.has_key
			  ? syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING,
				    "user", s->nonce, 0)
			  : 0;

	put(t, "%ld", id > 0 ? id : 0);
}

static void put_etc_files(struct text *t, const struct role_use *u)
{
	allow_etc_files(t->buf + t->len, sizeof(t->buf) - t->len, u->cell);
	t->len += strlen(t->buf + t->len);
}

/* {word} of what this cell must have. */
static bool put_more(struct text *t, const char *word, const struct role_use *u)
{
	if (strcmp(word, "mountsmust") == 0)
		put_mounts_must(t, u);
	else if (strcmp(word, "etcfiles") == 0)
		put_etc_files(t, u);
	else if (strcmp(word, "top") == 0)
		put_top(t, u->scene->root);
	else if (strcmp(word, "keyserial") == 0)
		put_key_serial(t, u->scene);
	else
		return false;
	return true;
}

static void put_copies(struct text *t, const struct role_use *u)
{
	allow_copies(t->buf + t->len, sizeof(t->buf) - t->len, &u->scene->tree, u->cell);
	t->len += strlen(t->buf + t->len);
}

/* {word} */
static bool put_word(struct text *t, const char *word, const struct role_use *u)
{
	const struct scene *s = u->scene;

	if (strcmp(word, "home") == 0)
		put(t, "%s", s->tree.home);
	else if (strcmp(word, "work") == 0)
		put(t, "%s", s->tree.work);
	else if (strcmp(word, "sibling") == 0)
		put(t, "%s", s->tree.sibling);
	else if (strcmp(word, "root") == 0)
		put(t, "%s", s->root);
	else if (strcmp(word, "new") == 0)
		put(t, "%s-%u", u->token, u->index);
	else if (strcmp(word, "token") == 0)
		put(t, "%s", u->token);
	else if (strcmp(word, "nonce") == 0)
		put(t, "%s", s->nonce);
	else if (strcmp(word, "victim") == 0)
		put(t, "%d", (int)s->objects.victim);
	else if (strcmp(word, "ipckey") == 0)
		put(t, "%d", s->objects.key);
	else if (strcmp(word, "http") == 0)
		put(t, "%s", s->probe_http);
	else if (strcmp(word, "mounts") == 0)
		put_mounts(t, u);
	else if (strcmp(word, "envnames") == 0)
		put_env_names(t, u->cell);
	else if (strcmp(word, "copies") == 0)
		put_copies(t, u);
	else if (strcmp(word, "ids") == 0)
		put(t, "%u:%u", (unsigned)getuid(), (unsigned)getgid());
	else if (strcmp(word, "sid") == 0)
		put(t, "%d", (int)getsid(0));
	else if (strcmp(word, "hostname") == 0)
		put_hostname(t);
	else
		return put_more(t, word, u);
	return true;
}

/* {word:argument} */
static bool put_call(
	struct text *t, const char *word, const char *arg, const struct role_use *u)
{
	const struct scene *s = u->scene;
	const char *agent = cell_value(u->cell, AXIS_AGENT);

	if (strcmp(word, "hash") == 0)
		put_hash(t, tree_canary_hash(&s->tree, arg));
	else if (strcmp(word, "texthash") == 0)
		put_text_hash(t, arg);
	else if (strcmp(word, "filehash") == 0)
		put_file_hash(t, arg);
	else if (strcmp(word, "envhash") == 0)
		put_text_hash(t, scene_env(s, arg));
	else if (strcmp(word, "identity") == 0)
		put_identity(t, s, arg);
	else if (strcmp(word, "ns") == 0)
		put_namespace(t, arg);
	else if (strcmp(word, "port") == 0)
		put(t, "%d", port_of(s, arg));
	else if (strcmp(word, "hexport") == 0)
		put(t, "%04X", (unsigned)port_of(s, arg));
	else if (strcmp(word, "fd") == 0)
		put(t, "%d", leak_number(s, arg));
	else if (strcmp(word, "own") == 0)
		put_own(t, s, own_path(agent, arg));
	else if (strcmp(word, "ownhash") == 0)
		put_hash(t, tree_canary_hash(&s->tree, own_path(agent, arg)));
	else
		return false;
	return true;
}

char *role_expand(const char *template, const struct role_use *u)
{
	struct text t = { .len = 0 };
	char word[128];

	t.buf[0] = '\0';
	for (const char *p = template; *p;) {
		const char *brace = strchr(p, '{'),
			   *end = brace ? strchr(brace, '}') : NULL;
		char *colon;
		bool known;

		if (end == NULL) {
			put(&t, "%s", p);
			break;
		}
		put(&t, "%.*s", (int)(brace - p), p);
		snprintf(word, sizeof(word), "%.*s", (int)(end - brace - 1), brace + 1);
		colon = strchr(word, ':');
		if (colon)
			*colon++ = '\0';
		known = colon ? put_call(&t, word, colon, u) : put_word(&t, word, u);
		if (!known)
			abort(); /* a typing error in the table above; a unit test walks it */
		p = end + 1;
	}
	return sbx_xstrdup(t.buf);
}
