#include "prepare.h"

#include "session_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* By what else agents are called. */
static const struct {
	const char *word, *name;
} other_names[] = {
	{ "cursor", "agent" },
	{ "cursor-agent", "agent" },
	{ "kiro-cli", "kiro" },
	{ "claude-code", "claude" },
	{ "gemini-cli", "gemini" },
};

/* Which agent may have been meant, or NULL. */
static const char *meant(const char *word)
{
	size_t n, len = strlen(word);
	const struct sbx_agent *agents = sbx_agents(&n);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(other_names); i++)
		if (strcasecmp(other_names[i].word, word) == 0)
			return other_names[i].name;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(agents[i].name, word) == 0 ||
			(len >= 3 && strncasecmp(agents[i].name, word, 3) == 0))
			return agents[i].name;
	return NULL;
}

static const struct sbx_agent *unknown_agent(const char *word, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *known = sbx_xstrdup("");
	const char *maybe = meant(word);
	const struct sbx_agent *agents;
	size_t n;

	agents = sbx_agents(&n);
	for (size_t i = 0; i < n; i++) {
		char *more =
			sbx_xasprintf("%s%s%s", known, i ? ", " : "", agents[i].name);

		free(known);
		known = more;
	}
	sbx_error_set(e, SBX_E_AGENT_UNKNOWN, EINVAL, "agent '%s' is not known", word);
	if (maybe)
		sbx_error_remedy(e,
			"did you mean %s? It is one of: %s; any other command: sbx run generic "
			"-- %s",
			maybe, known, word);
	else
		sbx_error_remedy(e,
			"it is one of: %s; any other command: sbx run generic -- %s",
			known, word);
	return NULL;
}

const struct sbx_agent *prepare_agent(const struct options *o, struct sbx_error *e)
{
	const char *verb = o->cmd == CMD_PLAN          ? "plan"
			   : o->cmd == CMD_SESSION_NEW ? "session new"
						       : "run";
	const struct sbx_agent *agent;

	if (o->n_words > 1) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL,
			"'%s': what is meant for the agent stands after '--'",
			o->words[1]);
		sbx_error_remedy(
			e, "sbx %s %s -- %s ...", verb, o->words[0], o->words[1]);
		return NULL;
	}
	if (o->n_words == 0 && o->args == NULL) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "no agent is named");
		sbx_error_remedy(e, "for example: sbx %s claude; see 'sbx agents'", verb);
		return NULL;
	}
	agent = sbx_agent_find(o->n_words ? o->words[0] : "generic");
	if (agent == NULL)
		return unknown_agent(o->words[0], e);
	if (agent->command == NULL &&
		(o->args == NULL || o->args[0] == NULL || o->args[0][0] == '\0')) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL, "%s needs a command", agent->name);
		sbx_error_remedy(e, "sbx %s generic -- COMMAND [ARG...]", verb);
		return NULL;
	}
	return agent;
}

/* Does the first word name a subcommand that takes the flags behind it only? */
static bool flags_stand_behind(const struct sbx_agent *agent, char *const *args)
{
	const char *const *name = agent->skip_behind;

	if (args == NULL || *args == NULL)
		return false;
	for (; name && *name; name++)
		if (strcmp(*name, *args) == 0)
			return true;
	return false;
}

void prepare_command(
	struct sbx_strv *ret, const struct sbx_agent *agent, char *const *args, bool skip)
{
	if (agent->command)
		sbx_strv_add(ret, agent->command);
	if (skip && flags_stand_behind(agent, args))
		sbx_strv_add(ret, *args++);
	for (size_t i = 0; skip && agent->skip_flags[i]; i++)
		sbx_strv_add(ret, agent->skip_flags[i]);
	for (size_t i = 0; skip && agent->key_flags && agent->key_flags[i]; i++)
		sbx_strv_add(ret, agent->key_flags[i]);
	for (; args && *args; args++)
		sbx_strv_add(ret, *args);
}

/* What decides whether a session is run without a sandbox is out of a sandbox's reach, also where
 * XDG_STATE_HOME has moved it. */
static int check_store(const struct sbx_host *h, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *dir = session_store_dir(NULL);
	char real[PATH_MAX];

	if (dir == NULL)
		return 0;
	if (realpath(dir, real) == NULL)
		snprintf(real, sizeof(real), "%s", dir);
	for (size_t i = 0; i <= h->n_binds; i++) {
		const struct sbx_opened *at = i ? &h->binds[i - 1] : &h->workdir;
		bool below;

		if (at->real == NULL || (i && !at->rw))
			continue;
		below = sbx_path_is_beneath(at->real, real);
		if (!below && !sbx_path_is_beneath(real, at->real))
			continue;
		sbx_error_set(e, below ? SBX_E_PATH_IN_CRED : SBX_E_PATH_ABOVE_CRED,
			EPERM,
			"'%s' %s the store of sessions, '%s', which says what is run without a "
			"sandbox",
			at->real, below ? "lies in, or is," : "holds", real);
		sbx_error_remedy(e,
			"take another directory, or move the store with XDG_STATE_HOME");
		return -EPERM;
	}
	return 0;
}

/* One that was named must be there: what is searched for instead would be another one. */
static int check_named(const char *bwrap, struct sbx_error *e)
{
	struct stat st;
	int err = 0;

	if (bwrap == NULL)
		return 0;
	if (stat(bwrap, &st) < 0 || faccessat(AT_FDCWD, bwrap, X_OK, AT_EACCESS) < 0)
		err = errno;
	else if (!S_ISREG(st.st_mode))
		err = EINVAL;
	if (err == 0)
		return 0;
	sbx_error_set(e, SBX_E_NOT_INSTALLED, err, "--bwrap: '%s': %s", bwrap,
		err == EINVAL ? "it is no file" : strerror(err));
	sbx_error_remedy(e,
		"name one that can be executed, or leave --bwrap out: the first "
		"in PATH is used then");
	return -err;
}

int prepare(struct prepared *ret, const struct options *o, const struct sbx_agent *agent,
	struct sbx_error *e)
{
	struct prepared p = { .agent = agent, .policy = o->policy };
	struct sbx_host_opts ho = { .bwrap = o->bwrap };
	int r;

	p.policy.agent = agent->name;
	r = check_named(o->bwrap, e);
	if (r < 0)
		return r;
	r = sbx_host_read(&p.host, &p.policy, &ho, e);
	if (r < 0)
		return r;
	prepare_command(&p.command, agent, o->args, !o->no_skip);
	r = check_store(&p.host, e);
	if (r == 0 && p.command.n > 0)
		r = sbx_program_find(&p.host, &p.command.v[0], e);
	if (r == 0)
		r = sbx_plan_build(&p.plan, &p.policy, &p.host, e);
	if (r < 0) {
		prepared_done(&p);
		return r;
	}
	*ret = p;
	return 0;
}

void prepared_done(struct prepared *p)
{
	sbx_plan_done(&p->plan);
	sbx_host_done(&p->host);
	sbx_strv_done(&p->command);
}

struct sbx_launch_opts prepare_launch_opts(const struct options *o)
{
	struct sbx_launch_opts lo = SBX_LAUNCH_INHERIT;

	lo.allow_root = o->allow_root;
	lo.cgroup = o->cgroup;
	return lo;
}

static bool plan_sets(const struct sbx_plan *plan, const char *name, size_t len)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].kind == SBX_OP_ENV &&
			strncmp(plan->ops[i].dst, name, len) == 0 &&
			plan->ops[i].dst[len] == '\0')
			return true;
	return false;
}

void prepare_withheld(struct sbx_strv *ret, const struct prepared *p)
{
	for (size_t i = 0; i < p->host.environ.n; i++) {
		const char *v = p->host.environ.v[i];
		size_t len = strcspn(v, "=");

		if (!plan_sets(&p->plan, v, len))
			sbx_strv_addf(ret, "%.*s", (int)len, v);
	}
}

bool prepare_is_passed(const struct prepared *p, const struct sbx_op *op)
{
	static const char *const ours[] = { "HOME", "PATH", "USER", "LOGNAME", "SHELL",
		"TMPDIR" };
	const char *own = sbx_env_get(p->host.environ.v, op->dst);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(ours); i++)
		if (strcmp(op->dst, ours[i]) == 0)
			return false;
	return own && strcmp(own, op->src) == 0;
}
