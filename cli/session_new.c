/* sbx session new: a row, and then the agent. */
#include "dialog.h"
#include "identity.h"
#include "prepare.h"
#include "session.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static int check_name(const struct options *o, struct sbx_error *e)
{
	if (o->name == NULL || session_name_valid(o->name))
		return 0;
	sbx_error_set(
		e, SBX_E_USAGE, EINVAL, "--name: '%s' cannot name a session", o->name);
	sbx_error_remedy(e,
		"letters, digits and . _ -, the first a letter or digit, 64 at most; "
		"not eight hexadecimal digits, which are an id");
	return -1;
}

/* Everything that 'sbx run' would refuse is refused before anything is recorded. */
static int check_sandboxed(
	const struct options *o, const struct sbx_agent *agent, struct sbx_error *e)
{
	struct sbx_launch_opts lo = prepare_launch_opts(o);
	struct prepared p;
	int r = prepare(&p, o, agent, e);

	if (r < 0)
		return -1;
	if (!o->no_start)
		r = sbx_avail_check(&p.plan, &p.host, &lo, e);
	prepared_done(&p);
	return r < 0 ? -1 : 0;
}

static int real_workdir(const struct options *o, char real[PATH_MAX], struct sbx_error *e)
{
	const char *dir = o->policy.workdir ? o->policy.workdir : ".";
	struct stat st;

	if (realpath(dir, real) == NULL || stat(real, &st) < 0) {
		sbx_error_set(e, errno == ENOENT ? SBX_E_PATH_MISSING : SBX_E_SYSTEM,
			errno, "work dir '%s': %m", dir);
		sbx_error_remedy(e, "make it, or name another with --workdir");
		return -1;
	}
	if (!S_ISDIR(st.st_mode)) {
		sbx_error_set(e, SBX_E_PATH_NOT_DIR, ENOTDIR,
			"work dir '%s' is not a directory", dir);
		sbx_error_remedy(e, "name the directory of the project with --workdir");
		return -1;
	}
	return 0;
}

/* sqlite would take it, JSON would not, and nobody could read it in a list. */
static int check_utf8(const char *path, struct sbx_error *e)
{
	json_t *j = json_string(path);

	json_decref(j);
	if (j)
		return 0;
	sbx_error_set(e, SBX_E_SESSION_INVALID, EILSEQ,
		"the path of the work dir is no UTF-8, and cannot be recorded");
	sbx_error_remedy(e, "rename it; or use 'sbx run', which records nothing");
	return -1;
}

/* Where the agent can be told, the id by which it is found again. */
static char *conversation_for(const struct options *o, const struct sbx_agent *agent)
{
	return agent->resume && agent->resume->start && !session_own_word(agent, o->args)
		       ? session_uuid()
		       : NULL;
}

static int fill(struct session *row, const struct options *o,
	const struct sbx_agent *agent, struct sbx_error *e)
{
	char real[PATH_MAX];

	if (real_workdir(o, real, e) < 0 || check_utf8(real, e) < 0)
		return -1;
	if (o->sandbox && check_sandboxed(o, agent, e) < 0)
		return -1;
	row->name = o->name ? sbx_xstrdup(o->name) : NULL;
	row->agent = sbx_xstrdup(agent->name);
	row->workdir = sbx_xstrdup(real);
	row->conversation = conversation_for(o, agent);
	row->args = session_args_format(o->args, e);
	if (row->args && o->sandbox)
		row->sandbox = session_sandbox_format(&o->policy, !o->no_skip, e);
	return row->args == NULL || (o->sandbox && row->sandbox == NULL) ? -1 : 0;
}

static int record(struct session *row, struct sbx_error *e)
{
	struct session_store *store;
	int r = session_store_open(&store, SESSION_WRITE, e);

	if (r == 0) {
		r = session_store_add(store, row, e);
		session_store_close(store);
	}
	return r;
}

/* From the row, as at every later start. */
static int start(const struct options *o, struct session *row)
{
	struct session_options s;
	struct sbx_error e = { 0 };
	struct sbx_strv words = { 0 };
	struct run_end end;
	int status;

	if (session_options_make(&s, o, row, &e) < 0)
		return run_fail(o, &e);
	fprintf(stderr, "sbx: session %s\n", row->id);
	if (row->conversation)
		session_words(&words, s.agent->resume->start, row->conversation);
	status = session_run(&s, row, &words, &end);
	sbx_strv_done(&words);
	session_options_done(&s);
	return status;
}

static int make(const struct options *o, const struct sbx_agent *agent)
{
	struct session row = { .status = -1 };
	struct sbx_error e = { 0 };
	struct identity id = { 0 };
	int status;

	if (identity_assume(&id, o, agent, &e) < 0)
		return run_fail(o, &e);
	if (id.assumed)
		fprintf(stderr, "sbx: started by root; runs as %s (uid %u)\n", id.name,
			(unsigned)id.uid);
	identity_done(&id);
	if (fill(&row, o, agent, &e) < 0 || record(&row, &e) < 0) {
		status = run_fail(o, &e);
	} else if (o->no_start) {
		puts(row.id);
		status = cli_finish_output();
	} else {
		status = start(o, &row);
	}
	session_done(&row);
	return status;
}

/* Nothing is said about the agent: on a terminal it is asked for. */
static bool is_to_ask(const struct options *o)
{
	return o->n_words == 0 && o->args == NULL && isatty(0) && isatty(1);
}

/* The dialog was left without a sandbox: nobody keeps what the command line asked of one. */
static int check_promises(const struct options *o, struct sbx_error *e)
{
	if (o->sandbox ||
		(o->policy.n_binds == 0 && o->policy.n_env == 0 && o->policy.allow == 0 &&
			o->timeout_s == 0 && o->policy.profile == SBX_PROFILE_LENIENT))
		return 0;
	sbx_error_set(e, SBX_E_USAGE, EINVAL,
		"a session without a sandbox cannot keep --profile, --bind, --ro-bind, --env, "
		"--allow or --timeout");
	sbx_error_remedy(e, "leave them out, or switch the sandbox on");
	return -1;
}

int cmd_session_new(const struct options *given)
{
	struct options o = *given;
	struct dialog_answers answers = { 0 };
	const struct sbx_agent *agent;
	struct sbx_error e = { 0 };
	int status;

	if (check_name(&o, &e) < 0)
		return run_fail(&o, &e);
	if (is_to_ask(&o)) {
		status = dialog_ask(&answers, &o, &e);
		if (status < 0)
			return run_fail(&o, &e);
		if (status > 0)
			return status;
		o.words = answers.words;
		o.n_words = 1;
		o.args = answers.args.n ? answers.args.v : NULL;
		o.policy.workdir = answers.workdir;
		o.policy.fs = answers.fs;
		o.policy.net = answers.net;
		o.sandbox = answers.sandbox;
	}
	agent = check_promises(&o, &e) < 0 ? NULL : prepare_agent(&o, &e);
	status = agent ? make(&o, agent) : run_fail(&o, &e);
	dialog_answers_done(&answers);
	return status;
}
