/* sbx run: starts the agent in a sandbox and ends as it ended. */
#include "cli.h"
#include "identity.h"
#include "plain.h"
#include "prepare.h"
#include "quote.h"
#include "run.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

/* Between TERM and KILL: time for an agent to write its transcript. */
#define LAST_WORDS_MS 2000
/* Until a control group is gone. */
#define CGROUP_MS 5000

/* How it ended, for --status-fd. */
struct outcome {
	const char *how; /* exited, signal, timeout, error or unsandboxed */
	int status; /* of sbx; -1: not known, the agent has taken its place */
	int signal;
	int landlock; /* as in struct sbx_exit */
	bool sandboxed;
	const char *error; /* name of the code, or NULL */
	const struct sbx_residue *residue; /* or NULL: not looked for */
};

/* What the session has left, as JSON; null: not looked for. */
static json_t *residue_json(const struct sbx_residue *r)
{
	json_t *j = r ? json_array() : json_null();

	for (size_t i = 0; r && i < r->n; i++) {
		const struct sbx_residue_item *item = &r->items[i];
		json_t *path = json_string(item->path), *detail = NULL;

		/* A name need not be UTF-8; JSON must be. */
		if (item->detail)
			detail = json_string(item->detail);
		json_array_append_new(
			j, json_pack("{s:s, s:o, s:o}", "kind",
				   sbx_residue_kind_name(item->kind), "path",
				   path ? path : json_null(), "detail",
				   detail ? detail : json_null()));
	}
	return j;
}

static void report(const struct options *o, const struct outcome *out)
{
	SBX_CLEANUP_FREE char *text = NULL;
	void (*was)(int);
	json_t *j;

	if (o->status_fd < 0)
		return;
	j = json_pack("{s:s, s:o, s:b, s:o, s:o, s:o, s:o}", "how", out->how, "status",
		out->status >= 0 ? json_integer(out->status) : json_null(), "sandboxed",
		out->sandboxed, "signal",
		out->signal ? json_integer(out->signal) : json_null(), "landlock",
		out->landlock >= 0 ? json_integer(out->landlock) : json_null(), "error",
		out->error ? json_string(out->error) : json_null(), "residue",
		residue_json(out->residue));
	text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
	was = signal(SIGPIPE, SIG_IGN);
	if (text == NULL || sbx_write_all(o->status_fd, text, strlen(text)) < 0 ||
		sbx_write_all(o->status_fd, "\n", 1) < 0)
		cli_warn("--status-fd: cannot be written: %s", strerror(errno));
	signal(SIGPIPE, was); /* an agent that takes our place must find it as it was */
}

int run_fail(const struct options *o, struct sbx_error *e)
{
	struct outcome out = {
		.how = "error",
		.status = EXIT_OWN,
		.landlock = -1,
		.error = sbx_error_code_name(e->code),
	};

	report(o, &out);
	return cli_complain(e);
}

/* As without sbx: in this process. Returns only when that failed. */
static int exec_plain(const struct options *o, const struct sbx_agent *agent)
{
	const struct outcome out = { .how = "unsandboxed", .status = -1, .landlock = -1 };
	struct sbx_strv command = { 0 };
	struct sbx_error e = { 0 };

	if (o->policy.workdir && chdir(o->policy.workdir) < 0) {
		sbx_error_set(&e, SBX_E_PATH_MISSING, errno, "work dir '%s': %m",
			o->policy.workdir);
		return run_fail(o, &e);
	}
	prepare_command(&command, agent, o->args, false);
	report(o, &out);
	execvp(command.v[0], command.v);
	sbx_error_set(&e, SBX_E_PROGRAM_MISSING, errno, "%s: %m", command.v[0]);
	sbx_error_remedy(&e, "install it, or add its directory to PATH");
	sbx_strv_done(&command);
	return run_fail(o, &e);
}

int run_plain(const struct options *o, const struct sbx_agent *agent, struct run_end *ret)
{
	struct outcome out = { .landlock = -1 };
	struct sbx_strv command = { 0 };
	struct sbx_error e = { 0 };
	int r;

	*ret = (struct run_end){ 0 };
	prepare_command(&command, agent, o->args, false);
	r = plain_run(command.v, o->policy.workdir, &out.signal, &e);
	sbx_strv_done(&command);
	if (r < 0)
		return run_fail(o, &e);
	*ret = (struct run_end){ .ran = true, .signal = out.signal };
	out.how = out.signal ? "signal" : "exited";
	out.status = r;
	report(o, &out);
	return r;
}

/* The sandbox cannot be had, and the user has said to go on. A bwrap that somebody may have
 * changed is no reason to go on. */
static bool may_fall_back(const struct options *o, const struct sbx_error *e)
{
	return o->fall_back && e->code != SBX_E_BWRAP_WRITABLE && e->code != SBX_E_ROOT;
}

static int fall_back(
	const struct options *o, const struct sbx_agent *agent, struct sbx_error *e)
{
	cli_warn("%s", e->message);
	if (e->remedy)
		cli_warn("to mend it: %s", e->remedy);
	cli_warn("%s RUNS WITHOUT A SANDBOX, as --on-unavailable run-unsandboxed says: "
		 "with your rights, on all of your files; its permission prompts stay on",
		agent->name);
	sbx_error_done(e);
	return exec_plain(o, agent);
}

/* bwrap has ended, and the command did not run: ask in a way that has an answer. */
static void explain_start(const struct prepared *p, const struct options *o,
	const struct sbx_exit *x, struct sbx_error *e)
{
	struct sbx_launch_opts lo = prepare_launch_opts(o);

	if (sbx_avail_check(&p->plan, &p->host, &lo, e) < 0)
		return;
	sbx_error_set(e, SBX_E_BWRAP_FAILED, EIO,
		"%s ended with status %d before the command ran", p->host.bwrap.path,
		x->code);
	sbx_error_remedy(e, "see what it says above; 'sbx doctor' tries again");
}

/* The ends that are not the command's own. */
static void explain(const struct prepared *p, const struct options *o,
	const struct sbx_exit *x, struct sbx_error *e)
{
	if (x->how == SBX_HOW_NOT_EXECUTED) {
		sbx_error_set(e, SBX_E_NOTHING_RAN, x->code,
			"%s cannot be executed inside the sandbox: %s", p->command.v[0],
			strerror(x->code));
		sbx_error_remedy(
			e, "'sbx plan' shows what is there; --ro-bind PATH shows more");
	} else if (x->how == SBX_HOW_UNLIMITED) {
		sbx_error_set(e, SBX_E_LIMIT, x->code,
			"a limit cannot be set inside the sandbox, so that nothing ran: %s",
			strerror(x->code));
		sbx_error_remedy(
			e, "'sbx plan' lists them; leave out one after the other");
	} else if (x->how == SBX_HOW_KILLED) {
		sbx_error_set(e, SBX_E_BWRAP_FAILED, EIO, "%s was killed by signal %d",
			p->host.bwrap.path, x->code);
		sbx_error_remedy(e, "look in the system log for who killed it (memory, a "
				    "security module)");
	} else if (x->landlock >= 0) {
		sbx_error_set(e, SBX_E_BWRAP_FAILED, EIO,
			"the sandbox was killed while the command ran");
		sbx_error_remedy(e, "look in the system log for who killed it (memory)");
	} else {
		explain_start(p, o, x, e);
	}
}

/* A kind that fills the screen tells no more than its first few. */
#define SHOWN_MAX 10

static void tell_residue(const struct sbx_residue *r)
{
	for (int kind = 0; kind < _SBX_RESIDUE_MAX; kind++) {
		size_t n = 0;

		for (size_t i = 0; i < r->n; i++) {
			const struct sbx_residue_item *item = &r->items[i];
			SBX_CLEANUP_FREE char *path = quote_plain(item->path);
			SBX_CLEANUP_FREE char *detail =
				item->detail ? quote_plain(item->detail) : NULL;

			if (item->kind != (enum sbx_residue_kind)kind || n++ >= SHOWN_MAX)
				continue;
			if (n == 1)
				fprintf(stderr,
					"sbx: left behind: %s: %s\nsbx: to mend it: %s\n",
					sbx_residue_kind_name(item->kind),
					sbx_residue_kind_why(item->kind),
					sbx_residue_kind_mend(item->kind));
			fprintf(stderr, "sbx:   %s%s%s\n", path,
				detail == NULL                       ? ""
				: item->kind == SBX_RESIDUE_LINK_OUT ? " -> "
								     : ": ",
				detail ? detail : "");
		}
		if (n > SHOWN_MAX)
			fprintf(stderr, "sbx:   and %zu more\n", n - SHOWN_MAX);
	}
	if (r->more > 0)
		fprintf(stderr, "sbx: left behind: %zu further ones, not listed\n",
			r->more);
}

static int finish(const struct prepared *p, const struct options *o,
	const struct sbx_exit *x, const struct sbx_residue *left, struct run_end *end)
{
	struct outcome out = {
		.how = x->signal ? "signal" : "exited",
		.status = x->code,
		.signal = x->signal,
		.landlock = x->landlock,
		.sandboxed = true,
		.residue = left,
	};
	struct sbx_error e = { 0 };

	if (left)
		tell_residue(left);
	if (x->starved)
		cli_warn("the kernel ended what needed more memory than --memory allows");
	if (x->survivors)
		cli_warn("processes outlived the sandbox and were killed");
	if (x->how == SBX_HOW_ABORTED) {
		out.how = "signal";
		out.signal = x->code;
		out.status = 128 + x->code;
	} else if (x->how == SBX_HOW_TIMEOUT) {
		out.how = "timeout";
		out.status = EXIT_TIMEOUT;
		fprintf(stderr, "sbx: %s was ended after %d s (--timeout)\n",
			p->agent->name, o->timeout_s);
	} else if (x->how != SBX_HOW_EXITED) {
		explain(p, o, x, &e);
		return run_fail(o, &e);
	}
	*end = (struct run_end){ .ran = x->how == SBX_HOW_EXITED, .signal = out.signal };
	if (o->strict_residue && out.status == 0 && left && left->n > 0)
		out.status = EXIT_RESIDUE;
	report(o, &out);
	return out.status;
}

static void tell_words(const struct sbx_strv *words)
{
	for (size_t i = 0; i < words->n; i++) {
		SBX_CLEANUP_FREE char *plain = quote_plain(words->v[i]);

		fprintf(stderr, " %s", plain);
	}
	fputc('\n', stderr);
}

static void tell_verbose(const struct prepared *p)
{
	SBX_CLEANUP_FREE char *work = quote_plain(p->host.workdir.real);
	struct sbx_strv withheld = { 0 };

	fprintf(stderr, "sbx: %s, profile %s, fs %s, net %s, work dir %s\n",
		p->agent->name, sbx_profile_name(p->policy.profile),
		sbx_fs_name(p->policy.fs), sbx_net_name(sbx_policy_net(&p->policy)),
		work);
	fputs("sbx: runs", stderr);
	tell_words(&p->command);
	prepare_withheld(&withheld, p);
	fprintf(stderr, "sbx: %zu variables withheld:", withheld.n);
	tell_words(&withheld);
	sbx_strv_done(&withheld);
}

/* The user's 0, 1 and 2 are this process's, which does nothing with them but relay. */
static int launch_relayed(const struct prepared *p, const struct options *o,
	struct sbx_relay *relay, struct sbx_exit *ret, struct sbx_error *e)
{
	struct sbx_launch_opts lo = prepare_launch_opts(o);
	struct sbx_launch l;
	int r;

	sbx_relay_prepare(relay, &lo);
	r = sbx_launch_start(&l, &p->plan, &p->host, p->command.v, &lo, e);
	if (r < 0)
		return r;
	r = sbx_relay_run(relay, &l, o->timeout_s ? o->timeout_s * 1000 : -1, ret);
	sbx_launch_done(&l);
	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "relay: %s", strerror(-r));
	return 0;
}

static int launch(const struct prepared *p, const struct options *o, struct run_end *end)
{
	const struct sbx_relay_opts ro = {
		.fds = { 0, 1, 2 }, .let_go = !o->twice, .grace_ms = LAST_WORDS_MS
	};
	struct sbx_error e = { 0 };
	struct sbx_residue_mark mark = { 0 };
	struct sbx_residue left = { 0 };
	struct sbx_relay *relay;
	struct sbx_exit x = { 0 };
	int r;

	if (sbx_relay_new(&relay, &ro, &e) < 0)
		return run_fail(o, &e);
	r = sbx_residue_begin(&mark, &p->plan, &p->host, &e);
	if (r == 0)
		r = launch_relayed(p, o, relay, &x, &e);
	if (r == 0)
		r = sbx_relay_lost(relay, &e);
	sbx_relay_free(relay);
	if (r == 0 && !o->no_residue)
		r = sbx_residue_collect(&left, &mark, &e);
	r = r < 0 ? run_fail(o, &e) : finish(p, o, &x, o->no_residue ? NULL : &left, end);
	sbx_residue_done(&left);
	sbx_residue_mark_done(&mark);
	return r;
}

int run_sandboxed(
	const struct options *o, const struct sbx_agent *agent, struct run_end *ret)
{
	struct sbx_launch_opts lo = prepare_launch_opts(o);
	struct sbx_error e = { 0 };
	struct prepared p;
	int status;

	*ret = (struct run_end){ 0 };
	if (prepare(&p, o, agent, &e) < 0)
		return run_fail(o, &e);
	if (o->verbose)
		tell_verbose(&p);
	/* Whether to go on without one is decided before anything runs. */
	if (o->fall_back && sbx_avail_check(&p.plan, &p.host, &lo, &e) < 0) {
		prepared_done(&p);
		return may_fall_back(o, &e) ? fall_back(o, agent, &e) : run_fail(o, &e);
	}
	status = launch(&p, o, ret);
	prepared_done(&p);
	return status;
}

/* Root's own group, before root becomes somebody who may not make one; the rest of the run as that
 * one. */
static int run_limited(const struct options *o, const struct sbx_agent *agent)
{
	struct sbx_cgroup group = SBX_CGROUP_NONE;
	struct options limited = *o;
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	struct identity id = { 0 };
	struct run_end end;
	int r = 0, status;

	if (geteuid() == 0 && o->sandbox) {
		sbx_cgroup_add(&plan, &o->policy);
		r = sbx_cgroup_make(&group, &plan, &e);
		sbx_plan_done(&plan);
		if (r == 0 && group.procs >= 0)
			limited.cgroup = &group;
	}
	if (r == 0)
		r = identity_assume(&id, o, agent, &e);
	if (r == 0 && id.assumed)
		fprintf(stderr, "sbx: started by root; runs as %s (uid %u)\n", id.name,
			(unsigned)id.uid);
	if (r < 0)
		status = run_fail(o, &e);
	else
		status = o->sandbox ? run_sandboxed(&limited, agent, &end)
				    : exec_plain(o, agent);
	identity_done(&id);
	sbx_cgroup_end(&group, CGROUP_MS);
	return status;
}

int cmd_run(const struct options *o)
{
	const struct sbx_agent *agent;
	struct sbx_error e = { 0 };

	agent = prepare_agent(o, &e);
	if (agent == NULL)
		return run_fail(o, &e);
	if (!o->sandbox && !o->as)
		return exec_plain(o, agent);
	return run_limited(o, agent);
}
