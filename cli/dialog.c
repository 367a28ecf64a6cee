#include "dialog.h"

#include "cli.h"
#include "identity.h"
#include "prepare.h"
#include "quote.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what is proposed ---- */

static bool is_program(const char *dir, size_t len, const char *name)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%.*s/%s", (int)len, dir, name);
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* By name, where 'sbx run' looks first. What it is, is checked when it is chosen. */
static bool is_found(const char *command)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : ""; *p;) {
		size_t len = strcspn(p, ":");

		if (*p == '/' && is_program(p, len, command))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

static size_t find_agents(struct dialog_agent **ret)
{
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);

	*ret = sbx_xcalloc(n, sizeof(**ret));
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = (struct dialog_agent){
			.name = agents[i].name,
			.found = agents[i].command && is_found(agents[i].command),
		};
	return n;
}

char *dialog_sentence(struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *both =
		sbx_xasprintf("%s%s%s", e->message ? e->message : "failed",
			e->remedy ? ". To mend it: " : "", e->remedy ? e->remedy : "");

	sbx_error_done(e);
	return quote_plain(both);
}

char *dialog_expand(const char *dir)
{
	const char *home = getenv("HOME");

	if (home && dir[0] == '~' && (dir[1] == '\0' || dir[1] == '/'))
		return sbx_xasprintf("%s%s", home, dir + 1);
	return sbx_xstrdup(dir);
}

/* ---- is there a sandbox here? The doctor's question, in a directory made for it. ---- */

static int try_sandbox(
	FILE *out, const struct options *o, const void *arg, struct sbx_error *e)
{
	char scratch[] = "/var/tmp/sbx-dialog-XXXXXX";
	struct options tried = *o;
	struct sbx_launch_opts lo = prepare_launch_opts(o);
	struct prepared p;
	int r;

	(void)out;
	(void)arg;
	if (mkdtemp(scratch) == NULL)
		return sbx_error_set(e, SBX_E_SYSTEM, errno, "%s: %m", scratch);
	tried.policy = (struct sbx_policy){ .workdir = scratch };
	r = prepare(&p, &tried, sbx_agent_find("generic"), e);
	if (r == 0) {
		r = sbx_avail_check(&p.plan, &p.host, &lo, e);
		prepared_done(&p);
	}
	rmdir(scratch);
	return r;
}

/* ---- what was chosen, as options ---- */

struct chosen {
	struct options o;
	const struct sbx_agent *agent;
	char *dir; /* owned */
	char *args[4];
};

static void from_dialog(
	struct chosen *ret, const struct dialog *d, const struct options *o)
{
	*ret = (struct chosen){ .o = *o, .dir = dialog_expand(d->dir.s) };
	ret->agent = sbx_agent_find(d->agents[d->agent].name);
	ret->o.policy.workdir = ret->dir;
	ret->o.policy.fs = d->fs;
	ret->o.policy.net = d->net ? SBX_NET_ON : SBX_NET_OFF;
	ret->o.sandbox = d->sandbox;
	if (ret->agent->command == NULL) {
		ret->args[0] = (char *)"sh";
		ret->args[1] = (char *)"-c";
		ret->args[2] = (char *)d->command.s;
		ret->o.args = ret->args;
	}
}

static int check_chosen(
	FILE *out, const struct options *o, const void *arg, struct sbx_error *e)
{
	const struct chosen *c = arg;
	struct prepared p;
	struct stat st;

	(void)out;
	(void)o;
	if (c->o.sandbox) {
		struct sbx_launch_opts lo = prepare_launch_opts(&c->o);
		int r = prepare(&p, &c->o, c->agent, e);

		if (r == 0) {
			r = sbx_avail_check(&p.plan, &p.host, &lo, e);
			prepared_done(&p);
		}
		return r;
	}
	if (stat(c->dir, &st) < 0)
		return sbx_error_set(
			e, SBX_E_PATH_MISSING, errno, "work dir '%s': %m", c->dir);
	if (!S_ISDIR(st.st_mode))
		return sbx_error_set(e, SBX_E_PATH_NOT_DIR, ENOTDIR,
			"work dir '%s' is not a directory", c->dir);
	return 0;
}

static char *check(
	const struct dialog *d, const struct options *o, enum dialog_field *ret_field)
{
	SBX_CLEANUP_FREE char *said = NULL;
	struct sbx_error e = { 0 };
	struct chosen c;
	int r;

	if (d->dir.len == 0) {
		*ret_field = DIALOG_DIR;
		return sbx_xstrdup("no directory is named");
	}
	if (dialog_is_shown(d, DIALOG_COMMAND) && d->command.len == 0) {
		*ret_field = DIALOG_COMMAND;
		return sbx_xstrdup("generic needs a command");
	}
	from_dialog(&c, d, o);
	r = identity_ask(&said, &c.o, check_chosen, &c, &e);
	free(c.dir);
	if (r == 0)
		return NULL;
	*ret_field = e.code == SBX_E_PROGRAM_MISSING || e.code == SBX_E_PROGRAM_HIDDEN
			     ? DIALOG_AGENT
			     : DIALOG_DIR;
	return dialog_sentence(&e);
}

/* ---- asking ---- */

static void propose(struct dialog *d, const struct options *o)
{
	SBX_CLEANUP_FREE struct dialog_agent *agents = NULL;
	SBX_CLEANUP_FREE char *here = getcwd(NULL, 0), *said = NULL;
	struct sbx_error e = { 0 };
	size_t n = find_agents(&agents);
	int r = identity_ask(&said, o, try_sandbox, NULL, &e);

	/* Who root becomes depends on the directory, which is asked for. */
	if (r < 0 && e.code == SBX_E_ROOT)
		r = 0;
	dialog_init(d, agents, n,
		o->policy.workdir ? o->policy.workdir
		: here            ? here
				  : "/",
		r < 0 ? e.message : NULL, r < 0 ? e.remedy : NULL);
	sbx_error_done(&e);
	d->fs = o->policy.fs;
	d->net = sbx_policy_net(&o->policy) == SBX_NET_ON;
	d->sandbox = d->sandbox && o->sandbox;
}

int dialog_ask(struct dialog_answers *ret, const struct options *o, struct sbx_error *e)
{
	struct dialog d;
	struct chosen c;
	int r;

	(void)e;
	propose(&d, o);
	r = dialog_on_screen(&d, o, check);
	if (r == DIALOG_NO_SCREEN)
		r = dialog_in_lines(&d, o, check);
	if (r == 0) {
		from_dialog(&c, &d, o);
		*ret = (struct dialog_answers){ .words = { sbx_xstrdup(c.agent->name) },
			.workdir = c.dir,
			.fs = c.o.policy.fs,
			.net = c.o.policy.net,
			.sandbox = c.o.sandbox };
		for (char **a = c.args; *a; a++)
			sbx_strv_add(&ret->args, *a);
	}
	dialog_done(&d);
	return r;
}

void dialog_answers_done(struct dialog_answers *a)
{
	free(a->words[0]);
	free(a->workdir);
	sbx_strv_done(&a->args);
}
