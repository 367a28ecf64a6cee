/* sbx session: what its subcommands share. */
#include "session.h"

#include <errno.h>
#include <fnmatch.h>
#include <ftw.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

int cmd_session(const struct options *o)
{
	struct sbx_error e = { 0 };

	if (o->n_words == 0 && o->args == NULL) {
		options_print_help(stderr, options_command("session"));
		return EXIT_OWN;
	}
	sbx_error_set(&e, SBX_E_USAGE, EINVAL, "there is no command 'session %s'",
		o->n_words ? o->words[0] : "--");
	sbx_error_remedy(&e,
		"it is one of: new, list, show, resume, rm; see 'sbx session "
		"--help'");
	return cli_complain(&e);
}

/* ---- from a row to options ---- */

int session_options_make(struct session_options *ret, const struct options *given,
	const struct session *row, struct sbx_error *e)
{
	struct session_options s = { .o = *given };

	s.agent = sbx_agent_find(row->agent);
	if (s.agent == NULL) {
		sbx_error_set(e, SBX_E_AGENT_UNKNOWN, EINVAL,
			"session %s is of the agent '%s', which is not known", row->id,
			row->agent);
		sbx_error_remedy(e, "'sbx agents' lists those that are");
		return -1;
	}
	if (session_args_parse(&s.args, row->args, e) < 0)
		return -1;
	if (row->sandbox && session_sandbox_parse(&s.sandbox, row->sandbox, e) < 0) {
		sbx_strv_done(&s.args);
		return -1;
	}
	s.o.policy = s.sandbox.policy;
	s.o.policy.workdir = row->workdir;
	s.o.sandbox = row->sandbox != NULL;
	s.o.no_skip = !s.sandbox.skip;
	if (given->args == NULL)
		s.o.args = s.args.v;
	*ret = s;
	return 0;
}

void session_options_done(struct session_options *s)
{
	session_sandbox_done(&s->sandbox);
	sbx_strv_done(&s->args);
}

/* ---- conversations ---- */

char *session_uuid(void)
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		abort(); /* 16 bytes are never cut short (getrandom(2)) */
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	return sbx_xasprintf(
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
		b[12], b[13], b[14], b[15]);
}

/* "--resume=x" is "--resume"; a word that is no option counts in front only, where it is a
 * subcommand. */
static bool is_word(const char *arg, const char *word, bool first)
{
	size_t len = strlen(word);

	if (strncmp(arg, word, len) != 0)
		return false;
	if (arg[len] == '\0')
		return first || word[0] == '-';
	return arg[len] == '=' && word[0] == '-';
}

const char *session_own_word(const struct sbx_agent *agent, char *const *args)
{
	for (size_t i = 0; agent->resume && args && args[i]; i++)
		for (size_t k = 0; agent->resume->own[k]; k++)
			if (is_word(args[i], agent->resume->own[k], i == 0))
				return args[i];
	return NULL;
}

static char *put_id(const char *word, const char *id)
{
	const char *at = strstr(word, "{}");

	if (at == NULL)
		return sbx_xstrdup(word);
	return sbx_xasprintf("%.*s%s%s", (int)(at - word), word, id ? id : "", at + 2);
}

void session_words(struct sbx_strv *ret, const char *const *words, const char *id)
{
	for (; words && *words; words++)
		sbx_strv_take(ret, put_id(*words, id));
}

/* nftw() has no argument for its function. */
static const char *pattern;

static int is_it(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	return type == FTW_F && fnmatch(pattern, path + at->base, 0) == 0;
}

bool session_is_kept(const struct sbx_agent *agent, const char *dir, const char *id)
{
	SBX_CLEANUP_FREE char *name = put_id(agent->resume->kept_as, id);

	pattern = name;
	return nftw(dir, is_it, 16, FTW_PHYS) > 0;
}

/* ---- a run ---- */

void session_warn_plain(const struct sbx_agent *agent)
{
	cli_warn(
		"%s RUNS WITHOUT A SANDBOX, as this session was recorded: with your rights, "
		"on all of your files; its permission prompts stay on",
		agent->name);
}

static int record_begin(const struct session *row, struct sbx_error *e)
{
	struct session_store *store;
	int r = session_store_open(&store, SESSION_WRITE, e);

	if (r < 0)
		return r;
	r = session_store_begin(store, row->id, row->conversation, e);
	session_store_close(store);
	return r;
}

/* The agent has ended as it has; that this cannot be recorded does not change it. */
static void record_end(const struct session *row, int status)
{
	struct session_store *store;
	struct sbx_error e = { 0 };
	int r = session_store_open(&store, SESSION_WRITE, &e);

	if (r == 0) {
		r = session_store_end(store, row->id, status, &e);
		session_store_close(store);
	}
	if (r < 0)
		cli_warn("the end of session %s is not recorded: %s", row->id, e.message);
	sbx_error_done(&e);
}

int session_run(const struct session_options *s, struct session *row,
	const struct sbx_strv *words, struct run_end *ret)
{
	struct options o = s->o;
	struct sbx_strv args = { 0 };
	struct sbx_error e = { 0 };
	int status;

	for (size_t i = 0; i < words->n; i++)
		sbx_strv_add(&args, words->v[i]);
	for (char **a = o.args; a && *a; a++)
		sbx_strv_add(&args, *a);
	o.args = args.v;
	*ret = (struct run_end){ 0 };
	if (record_begin(row, &e) < 0) {
		sbx_strv_done(&args);
		return run_fail(&o, &e);
	}
	if (!o.sandbox)
		session_warn_plain(s->agent);
	status = o.sandbox ? run_sandboxed(&o, s->agent, ret)
			   : run_plain(&o, s->agent, ret);
	record_end(row, status);
	sbx_strv_done(&args);
	return status;
}

const char *session_time(long long t, char buf[32])
{
	time_t at = (time_t)t;
	struct tm tm;

	if (localtime_r(&at, &tm) == NULL ||
		strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(buf, 32, "%lld", t);
	return buf;
}
