/* sbx plan: what sbx run would run, with the reasons. Nothing runs. */
#include "cli.h"
#include "identity.h"
#include "init.h"
#include "plan.h"
#include "prepare.h"
#include "quote.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

/* Descriptors of a pasted command line; below are the shell's. */
#define FIRST_FD 10

/* The command line in words. */
struct rendered {
	struct sbx_argv argv; /* bwrap's options, and the environment */
	struct sbx_strv fds; /* "10=filter": for sbx fds */
	struct sbx_strv words; /* everything from bwrap on */
};

static void rendered_done(struct rendered *r)
{
	sbx_argv_done(&r->argv);
	sbx_strv_done(&r->fds);
	sbx_strv_done(&r->words);
}

/* The descriptor that an operation needs, as a word for sbx fds; NULL: none. Owned. */
static char *fd_word(const struct sbx_op *op, int fd)
{
	switch (op->kind) {
	case SBX_OP_SECCOMP:
		return sbx_xasprintf("%d=filter", fd);
	case SBX_OP_COPY:
		return sbx_xasprintf("%d=copy:%s", fd, op->src);
	case SBX_OP_TEXT:
		return sbx_xasprintf("%d=text:%s", fd, op->src);
	default:
		return NULL;
	}
}

static int render(struct rendered *ret, const struct prepared *p,
	const struct sbx_plan *plan, struct sbx_error *e)
{
	SBX_CLEANUP_FREE int *fds = sbx_xcalloc(plan->n, sizeof(int));
	struct rendered r = { 0 };
	int fd = FIRST_FD;

	for (size_t i = 0; i < plan->n; i++) {
		char *word = fd_word(&plan->ops[i], fd);

		fds[i] = word ? fd++ : -1;
		if (word)
			sbx_strv_take(&r.fds, word);
	}
	sbx_strv_addf(&r.fds, "%d=init", fd);
	if (sbx_argv_render(&r.argv, plan, fds, e) < 0) {
		rendered_done(&r);
		return -1;
	}
	sbx_strv_add(&r.words, p->host.bwrap.path ? p->host.bwrap.path : "bwrap");
	for (size_t i = 0; i < r.argv.args.n; i++)
		sbx_strv_add(&r.words, r.argv.args.v[i]);
	sbx_strv_add(&r.words, "--");
	sbx_init_words(&r.words,
		&(struct sbx_init_fds){
			.image = fd, .control = -1, .status = -1, .keeper = -1 },
		plan, 0);
	for (size_t i = 0; i < p->command.n; i++)
		sbx_strv_add(&r.words, p->command.v[i]);
	*ret = r;
	return 0;
}

/* ---- text ---- */

static void print_words(const char *title, const struct sbx_strv *words)
{
	printf("%-10s", title);
	for (size_t i = 0; i < words->n; i++) {
		SBX_CLEANUP_FREE char *q = quote_sh(words->v[i]);
		SBX_CLEANUP_FREE char *plain = quote_plain(q);

		printf(" %s", plain);
	}
	putchar('\n');
}

static char *describe(const struct prepared *p, const struct sbx_op *op)
{
	bool moved = op->src && strcmp(op->src, op->dst) != 0;

	switch (op->kind) {
	case SBX_OP_OPTION:
		return sbx_xasprintf("%s %s", op->dst, op->src);
	case SBX_OP_BIND:
	case SBX_OP_RO_BIND:
	case SBX_OP_COPY:
		return moved ? sbx_xasprintf("%s (from %s)", op->dst, op->src)
			     : sbx_xstrdup(op->dst);
	case SBX_OP_CGROUP:
	case SBX_OP_LIMIT:
		return sbx_xasprintf("%s=%s", op->dst, op->src);
	case SBX_OP_SYMLINK:
		return sbx_xasprintf("%s -> %s", op->dst, op->src);
	case SBX_OP_ENV:
		return prepare_is_passed(p, op)
			       ? sbx_xasprintf("%s (as it is)", op->dst)
			       : sbx_xasprintf("%s=%s", op->dst, op->src);
	default:
		return sbx_xstrdup(op->dst);
	}
}

static void print_ops(const struct prepared *p, const char *title, bool (*wanted)(int))
{
	printf("\n%s\n", title);
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct sbx_op *op = &p->plan.ops[i];
		SBX_CLEANUP_FREE char *what = describe(p, op);
		SBX_CLEANUP_FREE char *plain = quote_plain(what);

		if (wanted((int)op->kind))
			printf("  %-10s %-42s %s%s\n", sbx_op_kind_name(op->kind), plain,
				op->reserve ? "absent, and reserved: " : "", op->why);
	}
}

static bool is_flag(int kind)
{
	return kind == SBX_OP_FLAG || kind == SBX_OP_OPTION || kind == SBX_OP_SECCOMP;
}

static bool is_env(int kind)
{
	return kind == SBX_OP_ENV;
}

static bool is_limit(int kind)
{
	return kind == SBX_OP_LIMIT || kind == SBX_OP_CGROUP;
}

static bool is_tree(int kind)
{
	return !is_flag(kind) && !is_env(kind) && !is_limit(kind);
}

static int print_text(const struct prepared *p, const struct options *o)
{
	struct sbx_strv withheld = { 0 };
	SBX_CLEANUP_FREE char *work = quote_plain(p->host.workdir.real);

	printf("%-10s %s: profile %s, fs %s, net %s\n", "agent", p->agent->name,
		sbx_profile_name(p->policy.profile), sbx_fs_name(p->policy.fs),
		sbx_net_name(sbx_policy_net(&p->policy)));
	printf("%-10s %s\n%-10s %s\n", "work dir", work, "bwrap",
		p->host.bwrap.path ? p->host.bwrap.path : "not found");
	print_words("command", &p->command);
	print_ops(p, "namespaces and privileges", is_flag);
	print_ops(p, "what is where, parents first", is_tree);
	print_ops(p, "environment", is_env);
	if (p->policy.n_limits > 0 || p->policy.memory || p->policy.pids)
		print_ops(p, "limits", is_limit);
	prepare_withheld(&withheld, p);
	printf("\n%zu variables are withheld%s", withheld.n,
		o->verbose ? ":" : " (-v names them)\n");
	for (size_t i = 0; o->verbose && i < withheld.n; i++)
		printf(" %s", withheld.v[i]);
	if (o->verbose)
		putchar('\n');
	sbx_strv_done(&withheld);
	return 0;
}

/* ---- argv ---- */

static void print_quoted(const char *word, const char *end)
{
	SBX_CLEANUP_FREE char *q = quote_sh(word);

	printf("%s%s", q, end);
}

/* A passed value stays out of sight: the shell puts it in. */
static void print_environment(const struct prepared *p)
{
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct sbx_op *op = &p->plan.ops[i];

		if (op->kind != SBX_OP_ENV)
			continue;
		fputs("  ", stdout);
		if (prepare_is_passed(p, op)) {
			printf("%s=\"$%s\" \\\n", op->dst, op->dst);
		} else {
			SBX_CLEANUP_FREE char *set =
				sbx_xasprintf("%s=%s", op->dst, op->src);

			print_quoted(set, " \\\n");
		}
	}
}

static int check_pasteable(const struct sbx_strv *words, struct sbx_error *e)
{
	for (size_t i = 0; i < words->n; i++)
		if (!quote_is_pasteable(words->v[i])) {
			SBX_CLEANUP_FREE char *plain = quote_plain(words->v[i]);

			sbx_error_set(e, SBX_E_PATH_INVALID, EINVAL,
				"'%s' has control characters, which cannot be pasted",
				plain);
			sbx_error_remedy(e, "use --format json");
			return -1;
		}
	return 0;
}

/* Nobody would make what has to stand there, nor remove it. */
static void without_reserved(struct sbx_plan *ret, const struct sbx_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct sbx_op *op = &plan->ops[i];

		if (op->reserve == SBX_RESERVE_NONE)
			sbx_plan_add(ret, op->kind, op->src, op->dst, op->why)->sealed =
				op->sealed;
	}
}

/* Nobody would make the group. */
static int check_no_cgroup(const struct prepared *p, struct sbx_error *e)
{
	if (p->policy.memory == 0 && p->policy.pids == 0)
		return 0;
	sbx_error_set(e, SBX_E_CGROUP, ENOTSUP,
		"a pasted command line cannot keep --memory and --pids-limit");
	sbx_error_remedy(e, "leave them out, or use 'sbx run'; --format json shows them");
	return -1;
}

static int print_argv(const struct prepared *p, struct sbx_error *e)
{
	struct sbx_plan plan = { 0 };
	struct rendered r;
	char self[PATH_MAX];
	int rc;

	if (check_no_cgroup(p, e) < 0)
		return -1;
	without_reserved(&plan, &p->plan);
	rc = render(&r, p, &plan, e);
	sbx_plan_done(&plan);
	if (rc < 0)
		return -1;
	rc = check_pasteable(&r.words, e);
	if (rc == 0)
		rc = check_pasteable(&r.fds, e);
	if (rc == 0 && realpath("/proc/self/exe", self) == NULL) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "/proc/self/exe: %m");
		rc = -1;
	}
	if (rc == 0) {
		puts("# Paste into sh. 'sbx fds' opens what bwrap reads from descriptors: the\n"
		     "# filter, files made up or copied, and pid 1. Unlike 'sbx run' it inherits\n"
		     "# every other descriptor, passes no signal on, and ends with its terminal; and\n"
		     "# protected paths that are absent can be made: 'sbx run' reserves them.\n"
		     "env -i \\");
		print_environment(p);
		printf("  ");
		print_quoted(self, " fds \\\n");
		for (size_t i = 0; i < r.fds.n; i++) {
			printf("  ");
			print_quoted(r.fds.v[i], " \\\n");
		}
		printf("  --");
		for (size_t i = 0; i < r.words.n; i++) {
			bool option = strncmp(r.words.v[i], "--", 2) == 0;

			fputs(i == 0 || (option && i < r.argv.args.n + 2) ? " \\\n  "
									  : " ",
				stdout);
			print_quoted(r.words.v[i], "");
		}
		putchar('\n');
	}
	rendered_done(&r);
	return rc;
}

/* ---- json ---- */

static json_t *strings(const struct sbx_strv *sv)
{
	json_t *j = json_array();

	/* A file name need not be UTF-8; JSON must be. */
	for (size_t i = 0; i < sv->n; i++) {
		json_t *s = json_string(sv->v[i]);

		json_array_append_new(j, s ? s : json_null());
	}
	return j;
}

static json_t *operation(const struct prepared *p, const struct sbx_op *op)
{
	bool hide = op->kind == SBX_OP_ENV && prepare_is_passed(p, op);
	json_t *j = json_object();

	json_object_set_new(j, "kind", json_string(sbx_op_kind_name(op->kind)));
	json_object_set_new(j, "dst", json_string(op->dst));
	json_object_set_new(
		j, "src", op->src && !hide ? json_string(op->src) : json_null());
	if (op->kind == SBX_OP_ENV)
		json_object_set_new(j, "passed", json_boolean(hide));
	json_object_set_new(j, "reserved", json_boolean(op->reserve != SBX_RESERVE_NONE));
	json_object_set_new(j, "sealed", json_boolean(op->sealed));
	json_object_set_new(j, "why", json_string(op->why));
	return j;
}

static int print_json(const struct prepared *p, struct sbx_error *e)
{
	struct sbx_strv withheld = { 0 };
	json_t *j = json_object(), *ops = json_array();
	struct rendered r;
	int rc;

	if (render(&r, p, &p->plan, e) < 0) {
		json_decref(j);
		json_decref(ops);
		return -1;
	}
	for (size_t i = 0; i < p->plan.n; i++)
		json_array_append_new(ops, operation(p, &p->plan.ops[i]));
	prepare_withheld(&withheld, p);
	json_object_set_new(j, "sbx", json_string(sbx_version()));
	json_object_set_new(j, "sandbox", json_string("bwrap"));
	json_object_set_new(j, "agent", json_string(p->agent->name));
	json_object_set_new(
		j, "profile", json_string(sbx_profile_name(p->policy.profile)));
	json_object_set_new(j, "fs", json_string(sbx_fs_name(p->policy.fs)));
	json_object_set_new(
		j, "net", json_string(sbx_net_name(sbx_policy_net(&p->policy))));
	json_object_set_new(j, "workdir", json_string(p->host.workdir.real));
	json_object_set_new(j, "command", strings(&p->command));
	json_object_set_new(j, "operations", ops);
	json_object_set_new(j, "withheld", strings(&withheld));
	json_object_set_new(j, "descriptors", strings(&r.fds));
	json_object_set_new(j, "argv", strings(&r.words));
	rc = json_dumpf(j, stdout, JSON_INDENT(2)) < 0 ? -1 : 0;
	putchar('\n');
	if (rc < 0)
		sbx_error_set(e, SBX_E_SYSTEM, errno, "standard output: %m");
	json_decref(j);
	sbx_strv_done(&withheld);
	rendered_done(&r);
	return rc;
}

/* ---- the command ---- */

static int plan_unsandboxed(const struct options *o, const struct sbx_agent *agent)
{
	struct sbx_strv command = { 0 };

	prepare_command(&command, agent, o->args, false);
	if (o->format == FORMAT_JSON) {
		json_t *j = json_pack("{s:s, s:s, s:o}", "sandbox", "none", "agent",
			agent->name, "command", strings(&command));

		json_dumpf(j, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(j);
	} else {
		if (o->format == FORMAT_TEXT)
			puts("no sandbox: with all rights of the user, on all of his files");
		for (size_t i = 0; i < command.n; i++)
			print_quoted(command.v[i], i + 1 < command.n ? " " : "\n");
	}
	sbx_strv_done(&command);
	return cli_finish_output();
}

static int print_prepared(const struct prepared *p, const struct options *o)
{
	struct sbx_error e = { 0 };
	int rc;

	if (o->format == FORMAT_JSON)
		rc = print_json(p, &e);
	else if (o->format == FORMAT_ARGV)
		rc = print_argv(p, &e);
	else
		rc = print_text(p, o);
	return rc < 0 ? cli_complain(&e) : cli_finish_output();
}

int cmd_plan(const struct options *o)
{
	const struct sbx_agent *agent;
	struct sbx_error e = { 0 };
	struct identity id = { 0 };
	struct prepared p;
	int status;

	agent = prepare_agent(o, &e);
	if (agent == NULL)
		return cli_complain(&e);
	if (!o->sandbox)
		return plan_unsandboxed(o, agent);
	if (identity_assume(&id, o, agent, &e) < 0)
		return cli_complain(&e);
	identity_done(&id);
	if (prepare(&p, o, agent, &e) < 0)
		return cli_complain(&e);
	status = print_prepared(&p, o);
	prepared_done(&p);
	return status;
}
