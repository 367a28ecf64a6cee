#include "mutants.h"

#include "path.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Places that some sandbox somewhere binds by mistake; after all other mounts, so that they
 * cover what is there. */
static const char *const extra_binds[] = { "/", "~", "~/projects", "~/projects/other",
	"~/.ssh", "~/.config", "~/.local", "~/.claude", "~/.codex", "~/.gemini",
	"~/.cursor", "~/.kiro", "~/.local/share/opencode", "~/.local/share/kiro-cli",
	"~/.config/opencode", "~/.config/cursor", "@root", "/etc", "/run", "/var", "/sys",
	"/proc", "/dev", "/tmp", "/var/tmp", "/root", "/home", "/boot", "/opt", "/srv",
	"/mnt", "/media", "/dev/shm", "/usr" };

/* Options that nothing in the plan is an instance of. */
static const struct {
	enum sbx_op_kind kind;
	const char *src, *dst;
} extra_options[] = {
	{ SBX_OP_OPTION, "ALL", "--cap-add" },
	{ SBX_OP_OPTION, "4242", "--uid" },
	{ SBX_OP_OPTION, "4242", "--gid" },
	{ SBX_OP_FLAG, NULL, "--share-net" },
	{ SBX_OP_FLAG, NULL, "--unshare-net" },
	{ SBX_OP_CHDIR, NULL, "/tmp" },
	{ SBX_OP_TMPFS, NULL, "~/projects/app" },
	{ SBX_OP_SYMLINK, "/usr/bin/false", "~/.local/bin/git" },
	{ SBX_OP_SYMLINK, "/usr/bin/false", "/usr.local" },
	{ SBX_OP_COPY, "/etc/os-release", "/etc/sudoers" },
	{ SBX_OP_COPY, "/etc/os-release", "~/.bashrc" },
	{ SBX_OP_COPY, "/etc/os-release", "/tmp/.X0-lock" },
	{ SBX_OP_ENV, "@env:GITHUB_TOKEN", "GITHUB_TOKEN" },
	{ SBX_OP_ENV, "@env:DATABASE_URL", "UNHEARD_OF" },
	{ SBX_OP_ENV, "/nonexistent/lib", "LD_LIBRARY_PATH" },
	{ SBX_OP_ENV, "/nonexistent/agent.sock", "SSH_AUTH_SOCK" },
};

static const struct {
	const char *name;
	unsigned bit;
	bool staged;
} steps[] = {
	{ "env", SBX_STEP_ENV, false },
	{ "stdio", SBX_STEP_STDIO, true },
	{ "close", SBX_STEP_CLOSE, false },
	{ "session", SBX_STEP_SESSION, true },
	{ "signals", SBX_STEP_SIGNALS, false },
	{ "core", SBX_STEP_CORE, false },
	{ "deathsig", SBX_STEP_DEATHSIG, true },
	{ "keyring", SBX_STEP_KEYRING, true },
	{ "groups", SBX_STEP_GROUPS, true },
	{ "separator", SBX_STEP_SEPARATOR, true },
	{ "init", SBX_STEP_INIT, false },
	{ "init-hide", SBX_STEP_INIT_HIDE, false },
	{ "init-scope", SBX_STEP_INIT_SCOPE, false },
	{ "init-leash", SBX_STEP_INIT_LEASH, true },
	{ "mounts", SBX_STEP_MOUNTS, true },
	{ "priority", SBX_STEP_PRIORITY, true },
	{ "relay", SBX_STEP_RELAY, true },
	{ "screen", SBX_STEP_SCREEN, true },
	{ "init-limits", SBX_STEP_INIT_LIMITS, true },
};

/* Where several walls stand in front of one thing, each alone can be missed by nobody, and
 * bwrap insists on some of them together: all of them at once. */
static const struct {
	const char *name;
	const char *drop[2];
	unsigned bits;
	bool staged;
} walls[] = {
	{ "pid", { "--unshare-pid", "--as-pid-1" }, 0, false },
	{ "uts", { "--unshare-uts", "--hostname" }, 0, false },
	{ "user", { "--unshare-user", "--disable-userns" }, 0, false },
	{ "userns", { "deny-list", "--disable-userns" }, 0, false },
	{ "pid1", { "--as-pid-1" }, SBX_STEP_INIT, false },
	{ "pid1-hidden", { "--as-pid-1" }, SBX_STEP_INIT_HIDE | SBX_STEP_INIT_SCOPE,
		false },
	{ "stdio", { "--as-pid-1" }, SBX_STEP_INIT | SBX_STEP_STDIO, true },
	{ "separator", { "--as-pid-1" }, SBX_STEP_INIT | SBX_STEP_SEPARATOR, true },
	{ "session", { "--new-session" }, SBX_STEP_SESSION, true },
	{ "leash", { "--die-with-parent" }, SBX_STEP_DEATHSIG | SBX_STEP_INIT_LEASH,
		true },
};

struct maker {
	struct mutants *out;
	const struct sbx_plan *plan;
	const struct scene *s;
};

/* A path of this scene as it is called in every scene. */
static char *neutral(const struct scene *s, const char *path)
{
	size_t home = strlen(s->tree.home), root = strlen(s->root);

	if (path == NULL)
		return NULL;
	if (strncmp(path, s->tree.home, home) == 0)
		return sbx_xasprintf("~%s", path + home);
	if (strncmp(path, s->root, root) == 0)
		return sbx_xasprintf("@root%s", path + root);
	return sbx_xstrdup(path);
}

/* Takes name. */
static struct mutant *add(struct maker *m, char *name, enum edit edit, size_t at)
{
	struct mutants *out = m->out;
	struct mutant *x;

	out->v = sbx_xrealloc(out->v, out->n + 1, sizeof(*out->v));
	x = &out->v[out->n++];
	*x = (struct mutant){ .name = name, .variant = { .edit = edit, .at = at } };
	if (edit != EDIT_NONE && edit != EDIT_INSERT) {
		x->owned[0] = neutral(m->s, m->plan->ops[at].dst);
		x->variant.dst_at = x->owned[0];
	}
	return x;
}

static char *name_of(const struct maker *m, const char *what, size_t i)
{
	SBX_CLEANUP_FREE char *dst = neutral(m->s, m->plan->ops[i].dst);

	return sbx_xasprintf("%s:%s", what, dst);
}

static void add_kind(struct maker *m, const char *what, size_t i, enum sbx_op_kind kind,
	bool from_host)
{
	struct mutant *x = add(m, name_of(m, what, i), EDIT_KIND, i);

	x->variant.kind = kind;
	if (from_host) /* the host's own, at the same place */
		x->variant.src = x->variant.dst_at;
}

static void add_value(struct maker *m, size_t i, const char *value)
{
	struct mutant *x = add(m, name_of(m, "value", i), EDIT_SOURCE, i);

	x->owned[1] = sbx_xstrdup(value);
	x->variant.src = x->owned[1];
}

static void add_source(struct maker *m, size_t i, const char *dir, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, rel);

	add_value(m, i, path);
}

static void weaken(struct maker *m, size_t i)
{
	const struct sbx_op *op = &m->plan->ops[i];
	struct utsname u;

	switch (op->kind) {
	case SBX_OP_COPY:
		if (op->sealed) /* something of the user's under a name of the system's */
			add_source(m, i, m->s->tree.home, ".ssh/id_ed25519");
		add_kind(m, "rw", i, SBX_OP_BIND, false);
		break;
	case SBX_OP_RO_BIND:
		add_kind(m, "rw", i, SBX_OP_BIND, false);
		break;
	case SBX_OP_BIND:
		add_kind(m, "ro", i, SBX_OP_RO_BIND, false);
		break;
	case SBX_OP_TMPFS:
	case SBX_OP_PROC:
	case SBX_OP_DEV:
		add_kind(m, "host-rw", i, SBX_OP_BIND, true);
		add_kind(m, "host-ro", i, SBX_OP_RO_BIND, true);
		break;
	case SBX_OP_TEXT:
		add_kind(m, "host-ro", i, SBX_OP_RO_BIND, true);
		break;
	case SBX_OP_ENV:
		add_value(m, i, "sbx-mutated");
		break;
	case SBX_OP_OPTION:
		if (strcmp(op->dst, "--hostname") == 0 && uname(&u) == 0)
			add_value(m, i, u.nodename);
		else if (strcmp(op->dst, "--cap-drop") == 0)
			add_value(m, i, "CAP_CHOWN");
		break;
	default:
		break;
	}
}

static void drop_and_weaken(struct maker *m)
{
	for (size_t i = 0; i < m->plan->n; i++) {
		SBX_CLEANUP_FREE char *what =
			sbx_xasprintf("drop:%s", sbx_op_kind_name(m->plan->ops[i].kind));

		/* What binds nobody who keeps within it shows only where somebody does not. */
		add(m, name_of(m, what, i), EDIT_DROP, i)->staged =
			m->plan->ops[i].kind == SBX_OP_LIMIT;
		weaken(m, i);
	}
}

/* Mounts that lie in one another, in the wrong order; of others the order is no matter. */
static void swap_nested(struct maker *m)
{
	const struct sbx_op *ops = m->plan->ops;

	for (size_t i = 0; i < m->plan->n; i++) {
		size_t up = i;

		if (!sbx_op_is_mount(ops[i].kind))
			continue;
		for (size_t k = 0; k < i; k++)
			if (sbx_op_is_mount(ops[k].kind) &&
				sbx_path_is_beneath(ops[i].dst, ops[k].dst))
				up = k;
		if (up == i)
			continue;
		add(m, name_of(m, "swap-with-parent", i), EDIT_SWAP, i)->variant.with =
			up;
	}
}

static void add_insert(struct maker *m, char *name, size_t at, enum sbx_op_kind kind,
	const char *src, const char *dst)
{
	struct mutant *x = add(m, name, EDIT_INSERT, at);

	x->variant.kind = kind;
	x->variant.src = src;
	x->variant.dst = dst;
}

/* An option that is there already changes nothing; nor does one against its absence. */
static bool changes(const struct maker *m, enum sbx_op_kind kind, const char *dst)
{
	bool off = false, there = false;

	for (size_t i = 0; i < m->plan->n; i++) {
		const struct sbx_op *op = &m->plan->ops[i];

		there |= op->kind == kind && strcmp(op->dst, dst) == 0;
		off |= op->kind == SBX_OP_FLAG && strcmp(op->dst, "--unshare-net") == 0;
	}
	return !there && (strcmp(dst, "--share-net") != 0 || off);
}

static void insert_more(struct maker *m)
{
	size_t end = 0; /* before the root is sealed */

	while (end < m->plan->n && m->plan->ops[end].kind != SBX_OP_REMOUNT_RO)
		end++;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(extra_binds); i++) {
		const char *path = extra_binds[i];

		add_insert(m, sbx_xasprintf("extra-rw:%s", path), end, SBX_OP_BIND, path,
			path);
		add_insert(m, sbx_xasprintf("extra-ro:%s", path), end, SBX_OP_RO_BIND,
			path, path);
	}
	add_insert(m, sbx_xstrdup("extra-ro:/=/host"), end, SBX_OP_RO_BIND, "/", "/host");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(extra_options); i++) {
		const enum sbx_op_kind kind = extra_options[i].kind;
		const char *dst = extra_options[i].dst;

		if (!changes(m, kind, dst))
			continue;
		/* Of two chdirs the last counts. */
		add_insert(m, sbx_xasprintf("extra:%s:%s", sbx_op_kind_name(kind), dst),
			kind == SBX_OP_CHDIR ? m->plan->n : end, kind,
			extra_options[i].src, dst);
	}
}

static char *row_name(const struct sbx_filter_row *row)
{
	char *name = sbx_xasprintf("filter:%s", row->name);

	for (int k = 0; k < 2 && row->cmp[k].mask; k++) {
		char *more = sbx_xasprintf("%s,%u=0x%llx", name, row->cmp[k].arg,
			(unsigned long long)row->cmp[k].value);

		free(name);
		name = more;
	}
	return name;
}

static void drop_filter_rows(struct maker *m)
{
	size_t n;
	const struct sbx_filter_row *rows = sbx_filter_rows(&n);

	for (size_t i = 0; i < n; i++) {
		struct mutant *x = add(m, row_name(&rows[i]), EDIT_NONE, 0);
		bool *skip = sbx_xcalloc(n, sizeof(*skip));

		skip[i] = true;
		x->owned[1] = (char *)skip;
		x->variant.skip_filter = skip;
	}
}

static void skip_steps(struct maker *m)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(steps); i++) {
		struct mutant *x =
			add(m, sbx_xasprintf("step:%s", steps[i].name), EDIT_NONE, 0);

		x->variant.skip_steps = steps[i].bit;
		x->staged = steps[i].staged;
	}
}

static void tear_down_walls(struct maker *m)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(walls); i++) {
		struct mutant *x =
			add(m, sbx_xasprintf("walls:%s", walls[i].name), EDIT_NONE, 0);

		memcpy(x->variant.drop, walls[i].drop, sizeof(x->variant.drop));
		x->variant.skip_steps = walls[i].bits;
		x->staged = walls[i].staged;
	}
}

void mutants_make(struct mutants *ret, const struct sbx_plan *plan, const struct scene *s,
	const struct cell *c)
{
	struct mutants out = { 0 };
	struct maker m = { .out = &out, .plan = plan, .s = s };

	drop_and_weaken(&m);
	swap_nested(&m);
	insert_more(&m);
	/* The filter knows neither policy nor agent: the same program in every cell. */
	if (strcmp(cell_value(c, AXIS_AGENT), "generic") == 0)
		drop_filter_rows(&m);
	skip_steps(&m);
	tear_down_walls(&m);
	*ret = out;
}

void mutants_done(struct mutants *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		for (size_t k = 0; k < SBX_ARRAY_SIZE(m->v[i].owned); k++)
			free(m->v[i].owned[k]);
	}
	free(m->v);
	*m = (struct mutants){ 0 };
}
