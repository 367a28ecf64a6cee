/* sbx-verify: options, order of the steps, exit status. */
#include "files.h"
#include "identity.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
	size_t shown = 0;

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
		printf("%-26s %2zu cells  %-12s %-20s %-26s [%s] %s\n", r->id, cells,
			r->op, r->role, want, r->cite, r->why);
		shown++;
	}
	if (fflush(stdout))
		return EXIT_UNVERIFIED;
	fprintf(stderr, "%zu rules\n", shown);
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
		if (!role_exists(t->rules[i].role))
			return t->rules[i].role;
	return NULL;
}

static FILE *open_output(const struct options *o)
{
	return o->output ? fopen(o->output, "we") : stdout;
}

static int write_report(const struct report *r, const struct options *o, FILE *f)
{
	int rc;

	switch (o->format) {
	case FORMAT_JSON:
		rc = report_json(r, f);
		break;
	case FORMAT_JUNIT:
		rc = report_junit(r, f);
		break;
	default:
		rc = report_text(r, f, isatty(fileno(f)) && getenv("NO_COLOR") == NULL);
	}
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

static int verify(const struct options *o, const struct files *files,
	const struct table *table, const char *note, FILE *out)
{
	SBX_CLEANUP_FREE char *bwrap = resolved_bwrap(o);
	/* HOME of the scene lies below it, and a HOME is absolute. */
	SBX_CLEANUP_FREE char *base = realpath(o->scene_dir, NULL);
	struct run_options ro = {
		.table = table,
		.images = &files->images,
		.select = { .rule_glob = o->rule },
		.cells = o->cells,
		.scene_base = base ? base : o->scene_dir,
		.bwrap = bwrap ? bwrap : "", /* looked for, and not found */
		.uid = geteuid() == 0 ? UID_ROOT : UID_USER,
		.jobs = o->jobs,
		.timeout_ms = o->timeout_s * 1000,
		.no_sandbox = o->no_sandbox,
		.other_table = o->expect != NULL,
		.progress = show_progress ? progress : NULL,
	};
	struct facts facts;
	struct summary s;
	struct run run;
	int rc;

	run_matrix(&run, &ro);
	facts_read(&facts, bwrap, files->images.probe.data, files->images.probe.len);
	struct report report = {
		.run = &run, .options = &ro, .facts = &facts, .note = note
	};

	report_summarise(&report, &s);
	rc = write_report(&report, o, out);
	if (rc < 0) {
		fprintf(stderr, "sbx-verify: the report could not be written: %s\n",
			strerror(-rc));
		s.status = s.status == EXIT_HOLDS ? EXIT_UNVERIFIED : s.status;
	} else if (o->output || o->format != FORMAT_TEXT) {
		fprintf(stderr, "%s\n", s.sentence);
	}
	facts_done(&facts);
	run_done(&run);
	return s.status;
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

static int run_as_told(
	const struct options *o, const struct files *files, const struct table *table)
{
	const struct selection sel = { .rule_glob = o->rule };
	const char *note = NULL, *role = unknown_role(table);
	char error[256];
	FILE *out;

	if (role) {
		snprintf(error, sizeof(error), "%.120s: the scene has no role %.60s",
			files->table_name, role);
		return complain(error);
	}
	if (!any_rule(table, &sel))
		return complain("--rule: no rule has such an id; --list shows them all");
	if (o->list)
		return list_rules(table, o, &sel);
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
	return verify(o, files, table, note, out);
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
	struct options o;
	int status;

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
	if (files_read(&files, o.expect, o.probe_dir, error) < 0)
		return complain(error);
	if (table_parse(&table, files.table, files.table_name, error) < 0) {
		files_done(&files);
		return complain(error);
	}
	status = run_as_told(&o, &files, &table);
	table_done(&table);
	files_done(&files);
	return status;
}
