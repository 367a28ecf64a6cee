#include "plan.h"

#include "accounts.h"
#include "baseline.h"
#include "cgroup.h"
#include "judge.h"
#include "limit.h"
#include "mounts.h"
#include "path.h"
#include "profiles.h"
#include "protect.h"

#include <errno.h>
#include <string.h>

static const char *const kind_names[_SBX_OP_MAX] = {
	[SBX_OP_FLAG] = "flag",
	[SBX_OP_OPTION] = "option",
	[SBX_OP_SECCOMP] = "seccomp",
	[SBX_OP_BIND] = "bind",
	[SBX_OP_RO_BIND] = "ro-bind",
	[SBX_OP_TMPFS] = "tmpfs",
	[SBX_OP_DIR] = "dir",
	[SBX_OP_SYMLINK] = "symlink",
	[SBX_OP_PROC] = "proc",
	[SBX_OP_DEV] = "dev",
	[SBX_OP_COPY] = "copy",
	[SBX_OP_TEXT] = "text",
	[SBX_OP_CHDIR] = "chdir",
	[SBX_OP_REMOUNT_RO] = "remount-ro",
	[SBX_OP_ENV] = "env",
	[SBX_OP_LIMIT] = "limit",
	[SBX_OP_CGROUP] = "cgroup",
};

const char *sbx_op_kind_name(enum sbx_op_kind kind)
{
	return (unsigned)kind < _SBX_OP_MAX ? kind_names[kind] : "?";
}

bool sbx_op_is_mount(enum sbx_op_kind kind)
{
	return kind >= SBX_OP_BIND && kind <= SBX_OP_TEXT;
}

const struct sbx_opened *sbx_plan_base(const struct sbx_host *h, enum sbx_pin pin)
{
	switch (pin) {
	case SBX_PIN_WORKDIR:
		return &h->workdir;
	case SBX_PIN_GIT:
		return h->git.real ? &h->git : NULL;
	case SBX_PIN_STATE:
		return h->state.real ? &h->state : NULL;
	default:
		return NULL;
	}
}

struct sbx_op *sbx_plan_add(struct sbx_plan *plan, enum sbx_op_kind kind, const char *src,
	const char *dst, const char *why)
{
	struct sbx_op *op;

	plan->ops = sbx_xrealloc(plan->ops, plan->n + 1, sizeof(*plan->ops));
	op = &plan->ops[plan->n++];
	*op = (struct sbx_op){
		.kind = kind,
		.src = src ? sbx_xstrdup(src) : NULL,
		.dst = sbx_xstrdup(dst),
		.why = why,
	};
	return op;
}

void sbx_plan_remove(struct sbx_plan *plan, size_t i)
{
	free(plan->ops[i].src);
	free(plan->ops[i].dst);
	memmove(&plan->ops[i], &plan->ops[i + 1], (plan->n - i - 1) * sizeof(*plan->ops));
	plan->n--;
}

void sbx_plan_done(struct sbx_plan *plan)
{
	while (plan->n > 0)
		sbx_plan_remove(plan, plan->n - 1);
	free(plan->ops);
	*plan = (struct sbx_plan){ 0 };
}

/* ---- mounts ---- */

static void add_sealed(struct sbx_plan *m, enum sbx_op_kind kind, const char *src,
	const char *dst, const char *why)
{
	struct sbx_op *op = sbx_mounts_add(m, kind, src, dst, SBX_PIN_NONE, why);

	if (op)
		op->sealed = true;
}

/* A file is copied: every mount costs the start more than a page of text. */
static void add_system_path(
	struct sbx_plan *m, const struct sbx_fact *f, const struct baseline_path_row *row)
{
	const char *src = f->real ? f->real : row->path;

	if (f->target == SBX_FT_FILE && !f->kept_out && !row->live)
		add_sealed(m, SBX_OP_COPY, src, row->path, row->why);
	else
		sbx_mounts_add(m, SBX_OP_RO_BIND, src, row->path, SBX_PIN_NONE, row->why);
}

static void add_system(struct sbx_plan *m, const struct sbx_host *h, bool net)
{
	for (size_t i = 0; i < n_baseline_system; i++) {
		const struct baseline_path_row *row = &baseline_system[i];
		const struct sbx_fact *f = sbx_host_fact(h, row->path);

		if (f->target == SBX_FT_ABSENT || (row->net_only && !net))
			continue;
		if (row->keep_link && f->type == SBX_FT_LINK)
			sbx_mounts_add(m, SBX_OP_SYMLINK, f->link, row->path,
				SBX_PIN_NONE, row->why);
		else
			add_system_path(m, f, row);
	}
	sbx_mounts_add(m, SBX_OP_PROC, NULL, "/proc", SBX_PIN_NONE,
		"only the sandbox's processes");
	for (size_t i = 0; i < n_baseline_proc_masks; i++)
		if (sbx_host_fact(h, baseline_proc_masks[i].path)->type != SBX_FT_ABSENT)
			sbx_mounts_add(m, SBX_OP_RO_BIND, "/dev/null",
				baseline_proc_masks[i].path, SBX_PIN_NONE,
				baseline_proc_masks[i].why);
	/* bwrap covers it only where access() says that it may be written to, and that is about
	 * the directory; the files below ask for the host's uid 0, capabilities or not. */
	if (h->uid == 0)
		sbx_mounts_add(m, SBX_OP_RO_BIND, "/proc/sys", "/proc/sys", SBX_PIN_NONE,
			"uid 0 may write to the kernel's settings, core_pattern among them");
	sbx_mounts_add(m, SBX_OP_DEV, NULL, "/dev", SBX_PIN_NONE,
		"null, zero, random, pty; no disks");
	sbx_mounts_add(m, SBX_OP_TMPFS, NULL, "/tmp", SBX_PIN_NONE,
		"private: the host's /tmp holds sockets of agents' daemons");
	sbx_mounts_add(
		m, SBX_OP_TMPFS, NULL, "/var/tmp", SBX_PIN_NONE, "private, as /tmp");
}

/* Users and groups by name, but not the host's list of them. */
static void add_accounts(struct sbx_plan *m, const struct sbx_host *h)
{
	SBX_CLEANUP_FREE char *passwd = sbx_accounts_passwd(h);
	SBX_CLEANUP_FREE char *group = sbx_accounts_group(h);

	add_sealed(m, SBX_OP_TEXT, passwd, "/etc/passwd",
		"one's own name, root and nobody; not who else has an account");
	add_sealed(
		m, SBX_OP_TEXT, group, "/etc/group", "one's own group, root and nogroup");
}

static void add_user_files(struct sbx_plan *m, const struct sbx_host *h)
{
	for (size_t i = 0; i < n_baseline_user; i++) {
		SBX_CLEANUP_FREE char *path =
			sbx_path_join(h->home, baseline_user[i].path);
		const struct sbx_fact *f = sbx_host_fact(h, path);

		if (f->target == SBX_FT_FILE)
			sbx_mounts_add(m, SBX_OP_RO_BIND, f->real ? f->real : path, path,
				SBX_PIN_NONE, baseline_user[i].why);
	}
}

static enum sbx_op_kind kind_of_mode(enum sbx_path_mode mode)
{
	switch (mode) {
	case SBX_PATH_STATE:
		return SBX_OP_BIND;
	case SBX_PATH_COPY:
		return SBX_OP_COPY;
	default:
		return SBX_OP_RO_BIND;
	}
}

/* Who could write it would have the transcripts of another project bound to his. */
static void add_marker(struct sbx_plan *m, const struct sbx_host *h, const char *dir)
{
	SBX_CLEANUP_FREE char *src = NULL, *dst = NULL;

	if (h->state_marker == NULL)
		return;
	src = sbx_path_join(h->state.real, h->state_marker);
	dst = sbx_path_join(dir, strchr(h->state_marker, '/') + 1);
	if (sbx_host_fact(h, src)->type == SBX_FT_FILE)
		sbx_mounts_add(m, SBX_OP_RO_BIND, src, dst, SBX_PIN_STATE,
			"says which project the directory belongs to");
}

/* Of a directory of transcripts this project's alone; one that is not there yet is made, and
 * goes when nothing was put in it. */
static void add_project_state(
	struct sbx_plan *m, const struct sbx_host *h, const struct sbx_agent_path *p)
{
	SBX_CLEANUP_FREE char *src = NULL, *dir = sbx_path_join(h->home, p->path),
			      *dst = NULL;
	const struct sbx_fact *f;
	struct sbx_op *op;

	if (h->state_name == NULL)
		return;
	src = sbx_path_join(h->state.real, h->state_name);
	dst = sbx_path_join(dir, h->state_shown ? h->state_shown : h->state_name);
	f = sbx_host_fact(h, src);
	if (f->closed || (f->type != SBX_FT_DIR && f->type != SBX_FT_ABSENT))
		return;
	op = sbx_mounts_add(m, SBX_OP_BIND, src, dst, SBX_PIN_STATE, p->why);
	if (op && (f->type == SBX_FT_ABSENT || f->reserved))
		op->reserve = SBX_RESERVE_DIR;
	else if (op)
		add_marker(m, h, dst);
}

static void add_agent(struct sbx_plan *m, const struct sbx_host *h,
	const struct sbx_agent *agent, bool bind_state)
{
	for (const struct sbx_agent_path *p = agent->paths; p->path; p++) {
		bool system = p->path[0] == '/';
		SBX_CLEANUP_FREE char *path =
			sbx_path_join(system ? "/" : h->home, p->path);
		const struct sbx_fact *f = sbx_host_fact(h, path);
		bool fits = p->mode == SBX_PATH_STATE ? f->target == SBX_FT_DIR
			    : p->mode == SBX_PATH_COPY
				    ? f->target == SBX_FT_FILE
				    : f->target == SBX_FT_FILE || f->target == SBX_FT_DIR;

		if (fits && bind_state && p->by != SBX_BY_NOTHING)
			add_project_state(m, h, p);
		else if (fits && (system || bind_state))
			sbx_mounts_add(m, kind_of_mode(p->mode), f->real ? f->real : path,
				path, SBX_PIN_NONE, p->why);
	}
}

/* The command's program, its interpreter, and the links by which they are called. */
static void add_needs(struct sbx_plan *m, const struct sbx_host *h)
{
	for (size_t i = 0; i < h->n_needs; i++) {
		const struct sbx_need *n = &h->needs[i];

		if (n->link)
			sbx_mounts_add(m, SBX_OP_SYMLINK, n->link, n->path, SBX_PIN_NONE,
				n->why);
		else
			sbx_mounts_add(m, SBX_OP_RO_BIND, n->path, n->path, SBX_PIN_NONE,
				n->why);
	}
}

/* Read-only beats writable. Where that is not the user's own word he has to know. */
static int check_binds(
	const struct sbx_plan *m, const struct sbx_host *h, struct sbx_error *e)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct sbx_op *op = &m->ops[i];
		int r;

		if (op->kind == SBX_OP_BIND || op->pin == SBX_PIN_BIND)
			continue;
		for (size_t k = 0; k < h->n_binds; k++) {
			if (!h->binds[k].rw || strcmp(h->binds[k].real, op->dst) != 0)
				continue;
			r = sbx_error_set(e, SBX_E_BIND_READ_ONLY, EROFS,
				"bind '%s' cannot be made writable: %s", op->dst,
				op->why);
			sbx_error_remedy(e,
				"leave it out, and make the change on the host; what the host "
				"obeys, and what only may be read, no agent changes");
			return r;
		}
	}
	return 0;
}

static int add_user(struct sbx_plan *m, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e)
{
	bool rw = p->fs == SBX_FS_RW;
	int r;

	sbx_mounts_add(m, rw ? SBX_OP_BIND : SBX_OP_RO_BIND, h->workdir.real,
		h->workdir.real, SBX_PIN_WORKDIR,
		rw ? "the project: the one place the agent may change"
		   : "the project, to read only");
	for (size_t i = 0; i < h->n_binds; i++) {
		struct sbx_op *op = sbx_mounts_add(m,
			h->binds[i].rw ? SBX_OP_BIND : SBX_OP_RO_BIND, h->binds[i].real,
			h->binds[i].real, SBX_PIN_BIND, "the user asked for it");

		if (op)
			op->pin_index = i;
	}
	r = sbx_protect_add(m, p, h, e);
	return r < 0 ? r : check_binds(m, h, e);
}

/* ---- environment ---- */

static void add_env(
	struct sbx_plan *plan, const char *name, const char *value, const char *why)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].kind == SBX_OP_ENV &&
			strcmp(plan->ops[i].dst, name) == 0)
			return;
	if (value)
		sbx_plan_add(plan, SBX_OP_ENV, value, name, why);
}

static void append_dirs(char **path, const struct sbx_strv *dirs)
{
	for (size_t i = 0; i < dirs->n; i++) {
		char *longer =
			sbx_xasprintf("%s%s%s", *path, **path ? ":" : "", dirs->v[i]);

		free(*path);
		*path = longer;
	}
}

/* Where the command's programs are stands where it stands outside, so that "env node" finds
 * what it finds there. Owned. */
static char *path_inside(const struct sbx_host *h)
{
	char *path = sbx_xstrdup("");
	struct sbx_strv system = { 0 };

	sbx_strv_add(&system, baseline_path);
	append_dirs(&path, &h->path_dirs);
	append_dirs(&path, &system);
	append_dirs(&path, &h->path_dirs_after);
	sbx_strv_done(&system);
	return path;
}

static void add_environment(struct sbx_plan *plan, const struct sbx_policy *p,
	const struct sbx_host *h, const struct sbx_agent *agent, bool net)
{
	SBX_CLEANUP_FREE char *path = path_inside(h);

	add_env(plan, "HOME", h->home, "private inside, but at its usual place");
	add_env(plan, "PATH", path, "the directories that exist inside");
	add_env(plan, "USER", h->user, "login name");
	add_env(plan, "LOGNAME", h->user, "login name");
	add_env(plan, "SHELL", "/bin/sh", "the user's own shell may not exist inside");
	add_env(plan, "TMPDIR", "/tmp", "the private one");
	for (size_t i = 0; i < n_baseline_env; i++)
		if (net || !baseline_env[i].net_only)
			add_env(plan, baseline_env[i].name,
				sbx_env_get(h->environ.v, baseline_env[i].name),
				baseline_env[i].why);
	for (const struct sbx_agent_env *s = agent->set_env; s->name; s++)
		add_env(plan, s->name, s->value, s->why);
	if (sbx_profile_defaults(p->profile)->pass_keys)
		for (size_t i = 0; agent->env[i]; i++)
			add_env(plan, agent->env[i],
				sbx_env_get(h->environ.v, agent->env[i]),
				"the agent's key, endpoint or switch");
	for (size_t i = 0; i < p->n_env; i++)
		add_env(plan, p->env[i], sbx_env_get(h->environ.v, p->env[i]),
			"the user asked for it");
}

/* Binds one CA file or directory, unless it is there already or is something that no bind may
 * show: a variable must not be a way to ~/.ssh. */
static void add_ca_file(
	struct sbx_plan *m, const struct sbx_host *h, const char *path, const char *real)
{
	const char *const homes[] = { h->home, h->home_real, NULL };

	if (sbx_path_is_beneath(real, "/usr") ||
		sbx_path_is_beneath(real, "/etc/ssl/certs") ||
		sbx_path_is_beneath(real, h->workdir.real) ||
		sbx_path_is_beneath(h->workdir.real, real) ||
		sbx_judge_path(real, "CA file", homes, NULL) < 0)
		return;
	sbx_mounts_add(m, SBX_OP_RO_BIND, real, path, SBX_PIN_NONE,
		"roots of trust that a passed variable names");
}

/* A CA file that a passed variable names must be there. */
static void add_ca_files(
	struct sbx_plan *m, const struct sbx_plan *envs, const struct sbx_host *h)
{
	static const char *const names[] = { "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
		"CURL_CA_BUNDLE", "SSL_CERT_DIR" };

	for (size_t i = 0; i < envs->n; i++)
		for (size_t k = 0; k < SBX_ARRAY_SIZE(names); k++) {
			const struct sbx_op *op = &envs->ops[i];
			SBX_CLEANUP_FREE char *path = NULL;
			const struct sbx_fact *f;

			if (op->kind != SBX_OP_ENV || strcmp(op->dst, names[k]) != 0)
				continue;
			path = sbx_path_normalise(op->src);
			if (path == NULL)
				continue;
			f = sbx_host_fact(h, path);
			if (f->target == (k == 3 ? SBX_FT_DIR : SBX_FT_FILE))
				add_ca_file(m, h, path, f->real ? f->real : path);
		}
}

/* ---- assembly ---- */

static void add_flags(struct sbx_plan *plan, bool net)
{
	for (size_t i = 0; i < n_baseline_flags; i++)
		sbx_plan_add(plan, baseline_flags[i].arg ? SBX_OP_OPTION : SBX_OP_FLAG,
			baseline_flags[i].arg, baseline_flags[i].option,
			baseline_flags[i].why);
	if (!net)
		sbx_plan_add(plan, SBX_OP_FLAG, NULL, "--unshare-net",
			"no address but a loopback of its own; abstract sockets of the host are "
			"out of reach");
	sbx_plan_add(plan, SBX_OP_SECCOMP, NULL, "deny-list",
		"closes kernel interfaces that no namespace confines");
}

int sbx_plan_build(struct sbx_plan *ret, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e)
{
	const struct sbx_agent *agent = sbx_agent_find(p->agent);
	bool net = sbx_policy_net(p) == SBX_NET_ON;
	struct sbx_plan plan = { 0 }, m = { 0 }, env = { 0 };
	int r;

	if (agent == NULL)
		return sbx_error_set(e, SBX_E_AGENT_UNKNOWN, 0, "agent '%s' is not known",
			p->agent ? p->agent : "");
	add_environment(&env, p, h, agent, net);
	add_system(&m, h, net);
	add_accounts(&m, h);
	sbx_mounts_add(&m, SBX_OP_TMPFS, NULL, h->home, SBX_PIN_NONE,
		"private HOME: nothing of the user's is there unless a row binds it");
	if (sbx_profile_defaults(p->profile)->bind_state)
		add_user_files(&m, h);
	add_agent(&m, h, agent, sbx_profile_defaults(p->profile)->bind_state);
	add_needs(&m, h);
	add_ca_files(&m, &env, h);
	r = add_user(&m, p, h, e);
	if (r == 0) {
		sbx_mounts_unseal(&m);
		sbx_mounts_sort(&m);
		add_flags(&plan, net);
		plan.ops = sbx_xrealloc(
			plan.ops, plan.n + m.n + env.n + 2, sizeof(*plan.ops));
		memcpy(plan.ops + plan.n, m.ops, m.n * sizeof(*m.ops));
		plan.n += m.n;
		sbx_plan_add(&plan, SBX_OP_REMOUNT_RO, NULL, "/",
			"what is not mounted cannot be created either: a denial is visible");
		sbx_plan_add(&plan, SBX_OP_CHDIR, NULL, h->workdir.real,
			"where the agent works");
		plan.ops = sbx_xrealloc(plan.ops, plan.n + env.n, sizeof(*plan.ops));
		memcpy(plan.ops + plan.n, env.ops, env.n * sizeof(*env.ops));
		plan.n += env.n;
		m.n = env.n = 0; /* their operations belong to the plan now */
		sbx_cgroup_add(&plan, p);
		r = sbx_limits_add(&plan, p, h, e);
		if (r < 0)
			sbx_plan_done(&plan);
		else
			*ret = plan;
	}
	sbx_plan_done(&m);
	sbx_plan_done(&env);
	return r;
}
