/* sbx-verify: options, order of the steps, exit status. */
#include "files.h"
#include "here.h"
#include "identity.h"
#include "options.h"
#include "report_mutate.h"
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static bool show_progress, on_terminal;

static int complain(const char *text)
{
	fprintf(stderr, "sbx-verify: %s\n", text);
	fputs("Try 'sbx-verify --help'.\n", stderr);
	return EXIT_USAGE;
}

static void on_signal(int sig)
{
	(void)sig;
	run_stop = 1;
}

static void catch_signals(void)
{
	/* The second one ends the program at once; the guardian then cleans up. */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGQUIT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* Ignored, it would take the word of every child that is waited for. */
	signal(SIGCHLD, SIG_DFL);
}

static void progress(size_t done, size_t total, const struct cell_result *last)
{
	char name[CELL_NAME_MAX] = "";

	if (last)
		cell_name(&last->cell, name);
	if (on_terminal)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s%s", done, total, name,
			done == total ? "\r\033[K" : "");
	else if (last)
		fprintf(stderr, "[%zu/%zu] %s: %s, %zu observations, %lld ms\n", done,
			total, name, cell_passed(last) ? "ok" : "NOT OK", last->n,
			last->ms);
	fflush(stderr);
}

static int list_rules(
	const struct table *t, const struct options *o, const struct selection *sel)
{
	const int uid = identity_wants_root(o->uid) ? UID_ROOT : UID_USER;
	size_t shown = 0, staged = 0, starts = 0;

	for (size_t i = 0; i < t->n_rules; i++) {
		const struct rule *r = &t->rules[i];
		char want[160];
		size_t cells = 0;

		for (size_t c = 0; c < cell_count(); c++) {
			struct cell cell = cell_at(c, uid);

			cells += o->cells[c] && table_runs(t, r, &cell);
		}
		if (cells == 0 || !selection_has(sel, r))
			continue;
		expectation_text(&r->expect, want, sizeof(want));
		printf("%-26s %2zu cells  %-12s %-20s %-26s [%s] %s%s\n", r->id, cells,
			r->op, r->role, want, r->cite, r->why,
			act_is_staged(r->op) ? " (needs a start of its own)" : "");
		shown++;
		if (act_is_staged(r->op)) {
			staged++;
			starts += stage_starts(r->role, false) * cells +
				  stage_starts(r->role, true);
		}
	}
	if (fflush(stdout))
		return EXIT_UNVERIFIED;
	fprintf(stderr, "%zu rules; %zu of them staged, with %zu extra starts\n", shown,
		staged, starts);
	return EXIT_HOLDS;
}

static bool any_rule(const struct table *t, const struct selection *sel)
{
	for (size_t i = 0; i < t->n_rules; i++)
		if (selection_has(sel, &t->rules[i]))
			return true;
	return false;
}

/* A role of the table that the scene does not know. */
static const char *unknown_role(const struct table *t)
{
	for (size_t i = 0; i < t->n_rules; i++)
		if (!role_exists(t->rules[i].role) ||
			(act_is_staged(t->rules[i].op) &&
				!stage_exists(t->rules[i].role)))
			return t->rules[i].role;
	return NULL;
}

static FILE *open_output(const struct options *o)
{
	return o->output ? fopen(o->output, "we") : stdout;
}

static int write_report(const struct report *r, const struct mutation *m,
	const struct options *o, FILE *f)
{
	bool colour = isatty(fileno(f)) && getenv("NO_COLOR") == NULL;
	int rc;

	if (o->format == FORMAT_JUNIT)
		rc = report_junit(r, f);
	else if (o->format == FORMAT_JSON)
		rc = m ? report_mutate_json(m, r, f) : report_json(r, f);
	else
		rc = m ? report_mutate_text(m, r, f, colour) : report_text(r, f, colour);
	/* A full disk shows at the latest here. */
	if (fclose(f) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* The path that a search will find, for the facts; the library searches by itself. */
static char *resolved_bwrap(const struct options *o)
{
	SBX_CLEANUP_FREE char *path = o->bwrap ? realpath(o->bwrap, NULL) : NULL;

	return o->bwrap ? sbx_xstrdup(path ? path : o->bwrap)
			: sbx_host_find_bwrap(getenv("PATH"));
}

/* What is told after the run: its sentence, and the exit status. */
struct outcome {
	int status;
	const char *sentence;
};

static struct outcome list_mutants(struct mutation *m, FILE *out, int *ret_write_error)
{
	const struct sbx_error *e = &m->run.error;

	*ret_write_error = report_mutate_list(m, out);
	if (e->code)
		fprintf(stderr, "sbx-verify: %s\n", e->message);
	fprintf(stderr, "%zu mutants\n", m->n - m->n_sets);
	return (struct outcome){ e->code ? EXIT_UNVERIFIED : EXIT_HOLDS, NULL };
}

static struct outcome mutate(const struct options *o, const struct run_options *ro,
	struct equivalents *eq, const struct report *head, FILE *out,
	int *ret_write_error)
{
	struct report report = *head;
	struct mutation_summary s;
	struct mutation m = { 0 };
	struct outcome x;

	mutation_run(&m, ro, eq, o->mutant);
	report.run = &m.run;
	if (o->list) {
		x = list_mutants(&m, out, ret_write_error);
	} else {
		mutation_summarise(&m, &s);
		x = (struct outcome){ s.status, s.sentence };
		*ret_write_error = write_report(&report, &m, o, out);
	}
	mutation_done(&m);
	return x;
}

/* head: what the report says but for the run itself. */
static struct outcome run_and_report(const struct options *o,
	const struct run_options *ro, struct equivalents *eq, const struct report *head,
	FILE *out, int *ret_write_error)
{
	struct report report = *head;
	struct outcome x;
	struct summary s;
	struct run run;

	if (o->mutate)
		return mutate(o, ro, eq, head, out, ret_write_error);
	run_matrix(&run, ro);
	report.run = &run;
	report_summarise(&report, &s);
	x = (struct outcome){ (int)s.status, s.sentence };
	*ret_write_error = write_report(&report, NULL, o, out);
	run_done(&run);
	return x;
}

/* Whose world it is; NULL: he has none. */
static const char *own_home(const struct options *o)
{
	const struct passwd *pw = o->uid ? getpwuid(geteuid()) : NULL;
	const char *home = o->uid ? (pw ? pw->pw_dir : NULL) : getenv("HOME");

	return home && home[0] == '/' ? home : NULL;
}

static struct outcome look_here(const struct options *o, const struct run_options *ro,
	struct here *h, const struct report *head, FILE *out, int *ret_write_error)
{
	struct report report = *head;
	struct run_options in_force = *ro;
	struct summary s;
	struct run run;

	if (o->dry_run) {
		*ret_write_error = here_list(h, ro->cells, ro->uid, out);
		return (struct outcome){ EXIT_HOLDS, NULL };
	}
	in_force.here = h;
	in_force.table = &h->table;
	here_run(&run, h, &in_force);
	report.run = &run;
	report.options = &in_force;
	report_summarise(&report, &s);
	*ret_write_error = write_report(&report, NULL, o, out);
	if (h->more)
		fprintf(stderr,
			"sbx-verify: of directories with many entries only the first ones were "
			"looked at; %zu were left out\n",
			h->more);
	run_done(&run);
	return (struct outcome){ (int)s.status, s.sentence };
}

/* As run_and_report(), in the user's own world. */
static struct outcome open_here(const struct options *o, const struct run_options *ro,
	const struct report *head, FILE *out, int *ret_write_error)
{
	struct run_options own = *ro;
	const char *home = own_home(o);
	bool cells[CELL_MAX];
	struct sbx_error e = { 0 };
	struct outcome x;
	struct here h;

	*ret_write_error = 0;
	if (home == NULL)
		return (struct outcome){ complain("--here: HOME is not set"), NULL };
	memcpy(cells, ro->cells, sizeof(cells));
	own.cells = cells;
	if (o->any_agent)
		here_agents_found(cells, home);
	if (here_open(&h, ro->table, &own, home, o->dry_run, &e) < 0) {
		fprintf(stderr, "sbx-verify: --here: %s\n", e.message);
		if (e.remedy)
			fprintf(stderr, "to mend it: %s\n", e.remedy);
		sbx_error_done(&e);
		return (struct outcome){ EXIT_UNVERIFIED, NULL };
	}
	x = look_here(o, &own, &h, head, out, ret_write_error);
	here_done(&h);
	return x;
}

static int verify(const struct options *o, const struct files *files,
	const struct table *table, struct equivalents *eq, const char *note, FILE *out)
{
	SBX_CLEANUP_FREE char *bwrap = resolved_bwrap(o);
	/* HOME of the scene lies below it, and a HOME is absolute. */
	SBX_CLEANUP_FREE char *base = realpath(o->scene_dir, NULL);
	struct run_options ro = {
		.table = table,
		.images = &files->images,
		.select = { .rule_glob = o->rule, .quick = o->quick },
		.cells = o->cells,
		.scene_base = base ? base : o->scene_dir,
		.bwrap = bwrap ? bwrap : "", /* looked for, and not found */
		.uid = geteuid() == 0 ? UID_ROOT : UID_USER,
		/* Scopes for abstract sockets and signals came with version 6. */
		.landlock = facts_landlock_abi() >= 6 ? LANDLOCK_SCOPED : LANDLOCK_NONE,
		.jobs = o->jobs,
		.timeout_ms = o->timeout_s * 1000,
		.no_sandbox = o->no_sandbox,
		.plan_only = o->list,
		.other_table = o->expect != NULL,
		.progress = show_progress ? progress : NULL,
	};
	struct facts facts;
	struct report report = { .options = &ro, .facts = &facts, .note = note };
	struct outcome x;
	int rc;

	facts_read(&facts, bwrap, files->images.probe.data, files->images.probe.len);
	x = o->here ? open_here(o, &ro, &report, out, &rc)
		    : run_and_report(o, &ro, eq, &report, out, &rc);
	if (rc < 0) {
		fprintf(stderr, "sbx-verify: the report could not be written: %s\n",
			strerror(-rc));
		x.status = x.status == EXIT_HOLDS ? EXIT_UNVERIFIED : x.status;
	} else if (x.sentence && (o->output || o->format != FORMAT_TEXT)) {
		fprintf(stderr, "%s\n", x.sentence);
	}
	facts_done(&facts);
	return x.status;
}

/* What an ordinary program would have, so that the launch has something to change. */
static void loosen_limits(void)
{
	struct rlimit core;

	if (getrlimit(RLIMIT_CORE, &core) == 0) {
		core.rlim_cur = core.rlim_max;
		setrlimit(RLIMIT_CORE, &core);
	}
}

static int run_as_told(const struct options *o, const struct files *files,
	const struct table *table, struct equivalents *eq)
{
	const struct selection sel = { .rule_glob = o->rule, .quick = o->quick };
	const char *note = NULL, *role = unknown_role(table);
	char error[256];
	FILE *out;

	if (role && !o->here) {
		snprintf(error, sizeof(error), "%.120s: the scene has no role %.60s",
			files->table_name, role);
		return complain(error);
	}
	if (!any_rule(table, &sel))
		return complain("--rule: no rule has such an id; --list shows them all");
	if (o->list && !o->mutate)
		return list_rules(table, o, &sel);
	if (o->here && geteuid() == 0 && o->uid == NULL)
		return complain(
			"--here looks at a user's own home: run it as that user, or name "
			"him with --uid");
	out = open_output(o);
	if (out == NULL) {
		snprintf(error, sizeof(error), "--output: %.180s: %s", o->output,
			strerror(errno));
		return complain(error);
	}
	if (identity_assume(o->uid, &note, error) < 0)
		return complain(error);
	loosen_limits();
	catch_signals();
	return verify(o, files, table, eq, note, out);
}

/* A descriptor left closed would be taken by a file of ours. Returns false when there was no
 * standard output. */
static bool fill_stdio(void)
{
	bool out = fcntl(STDOUT_FILENO, F_GETFD) >= 0;

	for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = dup(fd))
		if (fd > STDERR_FILENO) {
			close(fd);
			break;
		}
	return out;
}

int main(int argc, char **argv)
{
	const bool has_stdout = fill_stdio();
	char error[EXPECT_ERROR_MAX] = "";
	struct files files = { 0 };
	struct table table = { 0 };
	struct equivalents eq = { 0 };
	struct options o;
	int status = EXIT_USAGE;

	if (options_parse(&o, argc, argv, error) < 0)
		return complain(error);
	if (o.help || o.version) {
		if (o.help)
			options_help(stdout);
		else
			printf("sbx-verify %s\n", sbx_version());
		return fflush(stdout) ? EXIT_USAGE : EXIT_HOLDS;
	}
	if (!has_stdout && o.output == NULL)
		return complain("standard output is closed; use --output FILE");
	show_progress = !o.quiet;
	on_terminal = isatty(STDERR_FILENO);
	if (files_read(&files, o.expect, o.here, o.probe_dir, error) < 0 ||
		table_parse(&table, files.table, files.table_name, error) < 0 ||
		(o.mutate && (files_read_equivalent(&files, o.equivalent, error) < 0 ||
				     equivalents_parse(&eq, files.equivalent,
					     files.equivalent_name, error) < 0)))
		complain(error);
	else
		status = run_as_told(&o, &files, &table, &eq);
	equivalents_done(&eq);
	table_done(&table);
	files_done(&files);
	return status;
}
