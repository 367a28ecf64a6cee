/* sbx session resume: the same sandbox again, and in it, where it can be had, the same
 * conversation. */
#include "identity.h"
#include "prepare.h"
#include "session.h"
#include "transcripts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* An agent that does not find its conversation has said so within this time. */
#define AT_ONCE_MS 10000

/* What is done first, and why. */
struct way {
	bool again; /* with the agent's own words for it */
	bool kept; /* a file of the conversation is there, or it is not known how it is called */
	const char *
		own; /* else: the argument with which the user says himself what is to be done */
	const char *
		why_fresh; /* or why not; for a line on standard error; NULL: no need to */
};

/* ---- the row ---- */

static int find(const char *word, struct session *ret, struct sbx_error *e)
{
	struct session_store *store;
	int r = session_store_open(&store, SESSION_READ, e);

	if (r == 0) {
		r = session_store_find(store, word, ret, e);
		session_store_close(store);
	}
	return r;
}

/* As the user whose store it is: what root has to know before it becomes him. */
static int tell_agent(
	FILE *out, const struct options *o, const void *arg, struct sbx_error *e)
{
	struct session row = { .status = -1 };

	(void)arg;
	if (find(o->words[0], &row, e) < 0)
		return -1;
	fputs(row.agent, out);
	session_done(&row);
	return 0;
}

/* Root keeps only the variables that the agent's row of our own table names, so that one is asked
 * for first. Those that the session names are not passed from root's environment: whose store it
 * is could have root hand over anything by writing its name there. */
static int assume_for(const struct options *o, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *told = NULL;
	const struct sbx_agent *agent = NULL;
	struct identity id = { 0 };

	if (identity_changes(o)) {
		if (identity_ask(&told, o, tell_agent, NULL, e) < 0)
			return -1;
		agent = sbx_agent_find(told);
	}
	if (identity_assume(&id, o, agent, e) < 0)
		return -1;
	if (id.assumed)
		fprintf(stderr,
			"sbx: started by root; runs as %s (uid %u), without variables of root's "
			"that only the session names\n",
			id.name, (unsigned)id.uid);
	identity_done(&id);
	return 0;
}

/* ---- which way ---- */

/* Where the agent keeps the conversations of this project on the host; NULL: nowhere. Owned. */
static char *kept_outside(const struct sbx_agent *agent, const char *workdir)
{
	const char *home = getenv("HOME");
	char real[PATH_MAX];

	for (const struct sbx_agent_path *p = agent->paths; home && p->path; p++) {
		SBX_CLEANUP_FREE char *path = NULL, *name = NULL;

		if (p->mode != SBX_PATH_STATE)
			continue;
		path = sbx_path_join(home, p->path);
		if (path == NULL || realpath(path, real) == NULL)
			return NULL;
		if (p->by == SBX_BY_NOTHING)
			return sbx_xstrdup(real);
		name = sbx_transcripts_name(p->by, real, workdir);
		return name ? sbx_path_join(real, name) : NULL;
	}
	return NULL;
}

/* The same, when this sandbox shows it, so that the agent can find them. */
static char *kept_inside(const struct prepared *p)
{
	for (size_t i = 0; i < p->plan.n; i++)
		for (const struct sbx_agent_path *a = p->agent->paths; a->path; a++) {
			const struct sbx_op *op = &p->plan.ops[i];
			SBX_CLEANUP_FREE char *path =
				sbx_path_join(p->host.home, a->path);

			if (a->mode == SBX_PATH_STATE && op->kind == SBX_OP_BIND &&
				sbx_path_is_beneath(op->dst, path))
				return sbx_xstrdup(op->src);
		}
	return NULL;
}

static struct way choose(
	const struct session_options *s, const struct session *row, const char *dir)
{
	const struct sbx_agent_resume *r = s->agent->resume;
	struct way way = { .kept = true, .own = session_own_word(s->agent, s->o.args) };

	if (r == NULL || way.own)
		return way;
	if (s->o.fresh)
		way.why_fresh = "--fresh says so";
	else if (r->start && row->conversation == NULL)
		way.why_fresh = "no conversation is on record";
	else if (s->o.sandbox && dir == NULL)
		way.why_fresh = "its sandbox keeps no conversations";
	else
		way.again = true;
	if (way.again && r->kept_as)
		way.kept = dir && session_is_kept(s->agent, dir, row->conversation);
	return way;
}

/* Could the agent have read anything from it that a second start would miss? */
static bool input_is_whole(void)
{
	struct stat st;

	return isatty(0) ||
	       (fstat(0, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

/* ---- running ---- */

static int run_fresh(
	const struct session_options *s, struct session *row, const char *why)
{
	const struct sbx_agent_resume *r = s->agent->resume;
	struct sbx_strv words = { 0 };
	struct run_end end;
	int status;

	if (r && r->start && !session_own_word(s->agent, s->o.args)) {
		free(row->conversation);
		row->conversation = session_uuid();
		session_words(&words, r->start, row->conversation);
	}
	if (why)
		fprintf(stderr, "sbx: session %s: %s starts anew: %s\n", row->id,
			s->agent->name, why);
	status = session_run(s, row, &words, &end);
	sbx_strv_done(&words);
	return status;
}

static int run_again(
	struct session_options *s, struct session *row, const struct way *way)
{
	bool may_follow = !way->kept && input_is_whole();
	struct sbx_strv words = { 0 };
	long long begin = sbx_now_ms();
	struct run_end end;
	bool at_once;
	int status;

	if (s->agent->resume->start == NULL)
		fprintf(stderr, "sbx: session %s: %s\n", row->id, s->agent->resume->why);
	session_words(&words, s->agent->resume->again, row->conversation);
	s->o.twice = may_follow;
	status = session_run(s, row, &words, &end);
	s->o.twice = false;
	sbx_strv_done(&words);
	at_once = end.ran && end.signal == 0 && status != 0 &&
		  sbx_now_ms() - begin < AT_ONCE_MS;
	if (!at_once)
		return status;
	if (may_follow)
		return run_fresh(s, row,
			"it has ended at once, and no file of its conversation "
			"is there");
	fprintf(stderr,
		"sbx: session %s: %s has ended at once with status %d%s; should it miss "
		"its conversation: sbx session resume --fresh %s\n",
		row->id, s->agent->name, status,
		way->kept
			? ""
			: ", no file of its conversation is there, and it may have read "
			  "from standard input",
		row->id);
	return status;
}

/* Nothing runs unless the sandbox can be had as it was recorded. */
static int check_sandboxed(
	const struct session_options *s, char **ret_dir, struct sbx_error *e)
{
	struct sbx_launch_opts lo = prepare_launch_opts(&s->o);
	struct prepared p;
	int r;

	if (prepare(&p, &s->o, s->agent, e) < 0)
		return -1;
	r = sbx_avail_check(&p.plan, &p.host, &lo, e);
	if (r == 0)
		*ret_dir = kept_inside(&p);
	prepared_done(&p);
	return r < 0 ? -1 : 0;
}

static int check_plain(const struct options *o, struct sbx_error *e)
{
	struct stat st;

	if (stat(o->policy.workdir, &st) < 0) {
		sbx_error_set(e, SBX_E_PATH_MISSING, errno, "work dir '%s': %m",
			o->policy.workdir);
		return -1;
	}
	if (o->timeout_s == 0)
		return 0;
	sbx_error_set(e, SBX_E_USAGE, EINVAL,
		"--timeout means nothing for a session without a sandbox");
	sbx_error_remedy(e, "use timeout(1)");
	return -1;
}

static int resume(const struct options *given, struct session *row)
{
	SBX_CLEANUP_FREE char *dir = NULL;
	struct session_options s;
	struct sbx_error e = { 0 };
	struct way way;
	int r;

	if (session_options_make(&s, given, row, &e) < 0)
		return run_fail(given, &e);
	r = s.o.sandbox ? check_sandboxed(&s, &dir, &e) : check_plain(&s.o, &e);
	if (r < 0) {
		session_options_done(&s);
		if (e.remedy == NULL)
			sbx_error_remedy(&e,
				"nothing was run; mend that and resume again, or forget "
				"it: sbx session rm %s",
				row->id);
		return run_fail(given, &e);
	}
	if (!s.o.sandbox)
		dir = kept_outside(s.agent, row->workdir);
	way = choose(&s, row, dir);
	if (way.own)
		fprintf(stderr,
			"sbx: session %s: %s gets its arguments as they are: '%s' says what is "
			"to be done\n",
			row->id, s.agent->name, way.own);
	r = way.again ? run_again(&s, row, &way) : run_fresh(&s, row, way.why_fresh);
	session_options_done(&s);
	return r;
}

int cmd_session_resume(const struct options *o)
{
	struct session row = { .status = -1 };
	struct sbx_error e = { 0 };
	int status;

	if (o->n_words != 1) {
		if (o->n_words == 0)
			sbx_error_set(&e, SBX_E_USAGE, EINVAL, "no session is named");
		else
			sbx_error_set(&e, SBX_E_USAGE, EINVAL,
				"'%s': what is meant for the agent stands after '--'",
				o->words[1]);
		sbx_error_remedy(&e,
			"'sbx session list' shows them; see 'sbx session resume "
			"--help'");
		return run_fail(o, &e);
	}
	if (assume_for(o, &e) < 0 || find(o->words[0], &row, &e) < 0)
		return run_fail(o, &e);
	status = resume(o, &row);
	session_done(&row);
	return status;
}
