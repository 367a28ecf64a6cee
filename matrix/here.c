#include "here.h"

#include "evidence.h"
#include "flight.h"
#include "native.h"
#include "path.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* As many as the probe takes in one go. */
#define RULES_MAX 1000

bool here_is_harmless(const char *op)
{
	static const char *const looks[] = { "open_read", "stat", "identity", "mntflags",
		"names", "env", "namespace", "status", "create" };

	for (size_t i = 0; i < SBX_ARRAY_SIZE(looks); i++)
		if (strcmp(looks[i], op) == 0)
			return true;
	return false;
}

/* ---- the world ---- */

static void take_environment(struct scene *s, const char *home)
{
	sbx_strv_addf(&s->env, "HOME=%s", home);
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "HOME=", 5) != 0)
			sbx_strv_add(&s->env, *e);
}

static int name_world(struct scene *s, const char *home, struct sbx_error *e)
{
	char *work = realpath(".", NULL);
	uint64_t rnd;

	if (work == NULL) {
		sbx_error_set(e, SBX_E_PATH_INVALID, errno,
			"the current directory cannot be resolved: %m");
		return -EINVAL;
	}
	s->tree.work = work;
	s->tree.home = sbx_xstrdup(home);
	if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd)) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "getrandom: %m");
		return -EIO;
	}
	snprintf(s->nonce, sizeof(s->nonce), "sbx%016llx", (unsigned long long)rnd);
	s->root = sbx_xasprintf("%s/.%s", work, s->nonce);
	s->probe = sbx_xasprintf("%s/sbx-probe", s->root);
	s->own_world = true;
	take_environment(s, home);
	return 0;
}

static int place_probe(
	const struct scene *s, const struct probe_image *image, struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd = -1;
	int r;

	if (mkdir(s->root, 0700) < 0) {
		r = sbx_error_set(e, SBX_E_PATH_INVALID, errno,
			"no directory for the probe can be made in '%s': %m",
			s->tree.work);
		sbx_error_remedy(e, "change to a project that you may write to");
		return r;
	}
	fd = open(s->probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	r = fd < 0 ? -errno : sbx_write_all(fd, image->data, image->len);
	return r < 0 ? sbx_error_set(
			       e, SBX_E_SYSTEM, -r, "'%s': %s", s->probe, strerror(-r))
		     : 0;
}

static int make_world(
	struct scene *s, const struct probe_image *image, struct sbx_error *e)
{
	int r = guardian_start(&s->guardian, s->root, s->nonce);

	if (r < 0)
		return sbx_error_set(
			e, SBX_E_SYSTEM, -r, "the guardian: %s", strerror(-r));
	return place_probe(s, image, e);
}

/* ---- the rules ---- */

static void add_rules(
	struct here *h, const struct rule *template, struct here_targets *take_targets)
{
	for (size_t i = 0; i < take_targets->n; i++) {
		size_t n = h->table.n_rules++;
		struct rule *r;

		h->table.rules =
			sbx_xrealloc(h->table.rules, n + 1, sizeof(*h->table.rules));
		h->targets = sbx_xrealloc(h->targets, n + 1, sizeof(*h->targets));
		h->targets[n] = take_targets->v[i];
		r = &h->table.rules[n];
		*r = *template;
		r->role = h->targets[n].name;
	}
	h->more += take_targets->more;
	free(take_targets->v);
}

/* Another table may name anything; only our own directory is written to. */
static bool stays_ours(const struct here *h, const char *op, const struct here_targets *t)
{
	for (size_t i = 0; i < t->n && strcmp(op, "create") == 0; i++)
		if (t->v[i].args[0] == NULL ||
			!sbx_path_is_beneath(t->v[i].args[0], h->scene.root))
			return false;
	return true;
}

static int make_rules(struct here *h, const struct table *t, const struct selection *sel,
	struct sbx_error *e)
{
	const struct cell any = cell_at(0, UID_USER);
	const struct role_use use = { .scene = &h->scene, .cell = &any, .token = "" };

	for (size_t i = 0; i < t->n_rules; i++) {
		struct here_targets targets;

		if (!here_is_harmless(t->rules[i].op))
			return sbx_error_set(e, SBX_E_USAGE, EINVAL,
				"%s: '%s' is no act for a world that is not ours",
				t->rules[i].id, t->rules[i].op);
		if (here_targets_find(&targets, t->rules[i].role, &use) < 0)
			return sbx_error_set(e, SBX_E_USAGE, EINVAL, "%s: no role %s",
				t->rules[i].id, t->rules[i].role);
		if (!stays_ours(h, t->rules[i].op, &targets)) {
			here_targets_done(&targets);
			return sbx_error_set(e, SBX_E_USAGE, EINVAL,
				"%s: '%s' is no act for a world that is not ours",
				t->rules[i].id, t->rules[i].op);
		}
		if (selection_has(sel, &t->rules[i]))
			add_rules(h, &t->rules[i], &targets);
		else
			here_targets_done(&targets);
	}
	if (h->table.n_rules == 0 || h->table.n_rules > RULES_MAX)
		return sbx_error_set(e, SBX_E_USAGE, EINVAL, "%zu things to look at: %s",
			h->table.n_rules,
			h->table.n_rules ? "too many at once, choose some with --rule"
					 : "nothing is left of the selection");
	return 0;
}

/* ---- acts ---- */

static void add_act(const struct here *h, struct acts *a, size_t rule)
{
	struct act *act = &a->v[a->n++];

	*act = (struct act){ .rule = &h->table.rules[rule], .args.listener = -1 };
	for (int i = 0; i < ROLE_ARGS && h->targets[rule].args[i]; i++)
		act->args.v[i] = sbx_xstrdup(h->targets[rule].args[i]);
}

/* The number of the act that does the same already, or a->n. */
static size_t same_act(const struct here *h, const struct acts *a, size_t rule)
{
	size_t i = 0;

	while (i < a->n &&
		(strcmp(a->v[i].rule->op, h->table.rules[rule].op) != 0 ||
			strcmp(a->v[i].rule->role, h->table.rules[rule].role) != 0))
		i++;
	return i;
}

/* cell NULL: the controls, each once. */
static void make_acts(const struct here *h, const struct cell *c,
	const struct selection *sel, struct acts *ret)
{
	*ret = (struct acts){ .v = sbx_xcalloc(h->table.n_rules, sizeof(*ret->v)),
		.outside = c == NULL };
	snprintf(ret->token, sizeof(ret->token), "%s.%u", h->scene.nonce, h->serial);
	for (size_t i = 0; i < h->table.n_rules; i++) {
		const struct rule *r = &h->table.rules[i];

		if (c ? table_runs(&h->table, r, c) && selection_has(sel, r)
		      : r->control.kind != CONTROL_NONE && same_act(h, ret, i) == ret->n)
			add_act(h, ret, i);
	}
}

int here_acts(const struct here *h, const struct cell *c, const struct selection *sel,
	struct acts *ret)
{
	make_acts(h, c, sel, ret);
	return 0;
}

void here_evidence(struct acts *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct act *act = &a->v[i];

		act->obs.host = evidence_effect(act->rule->op, act->args.v, a->token);
	}
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].rule->op, "create") == 0 && a->v[i].obs.host > 0)
			unlink(a->v[i].args.v[0]);
}

static int run_controls(struct here *h, const struct run_options *o, struct sbx_error *e)
{
	struct native_result n = { 0 };
	struct acts a;
	SBX_CLEANUP_FREE char *input = NULL;
	struct observation *row;
	const char *wrong = NULL;

	make_acts(h, NULL, &o->select, &a);
	input = acts_input(&a, &h->scene);
	h->controls.table = &h->table;
	row = sbx_xcalloc(h->table.n_rules, sizeof(*row));
	h->controls.by_agent[CONTROLS_AGENTS] = row;
	if (a.n > 0 && (native_run(&n, &h->scene, input, o->timeout_ms) < 0 ||
			       (wrong = acts_parse(&a, n.output)) != NULL))
		sbx_error_set(e, SBX_E_SYSTEM, EIO, "the controls cannot be done: %s",
			wrong ? wrong : "the probe cannot be run");
	here_evidence(&a);
	for (size_t i = 0; i < h->table.n_rules; i++) {
		size_t k = same_act(h, &a, i);

		if (k < a.n)
			row[i] = a.v[k].obs;
	}
	acts_done(&a);
	free(n.output);
	return e->code ? -EIO : 0;
}

/* ---- outside of this file ---- */

int here_open(struct here *ret, const struct table *template, const struct run_options *o,
	const char *home, bool dry, struct sbx_error *e)
{
	struct here h = { .scene = { .listeners.ctl = -1,
				  .guardian.fd = -1,
				  .objects = OBJECTS_NONE } };
	int r = name_world(&h.scene, home, e);

	if (r == 0)
		r = make_rules(&h, template, &o->select, e);
	if (r == 0 && !dry)
		r = make_world(&h.scene, &o->images->probe, e);
	if (r == 0 && !dry)
		r = run_controls(&h, o, e);
	if (r < 0)
		here_done(&h);
	else
		*ret = h;
	/* The rows point at the table, which has a new place. */
	if (r == 0)
		ret->controls.table = &ret->table;
	return r;
}

void here_done(struct here *h)
{
	for (size_t i = 0; i < h->table.n_rules; i++) {
		free(h->targets[i].name);
		for (int k = 0; k < ROLE_ARGS; k++)
			free(h->targets[i].args[k]);
	}
	free(h->targets);
	free(h->table.rules);
	controls_done(&h->controls);
	scene_destroy(&h->scene);
	*h = (struct here){ 0 };
}

static bool is_there(const char *home, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", home, rel);

	return access(path, F_OK) == 0;
}

static bool in_path(const char *name)
{
	SBX_CLEANUP_FREE char *path = sbx_xstrdup(getenv("PATH") ? getenv("PATH") : "");
	char *save = NULL;

	for (char *d = strtok_r(path, ":", &save); d; d = strtok_r(NULL, ":", &save))
		if (is_there(d, name))
			return true;
	return false;
}

void here_agents_found(bool *cells, const char *home)
{
	for (size_t i = 0; i < cell_count(); i++) {
		struct cell c = cell_at(i, UID_USER);
		const struct sbx_agent *a = sbx_agent_find(cell_value(&c, AXIS_AGENT));
		bool found = a->command == NULL || in_path(a->command);

		for (size_t k = 0; a->roots[k] && !found; k++)
			found = is_there(home, a->roots[k]);
		cells[i] &= found;
	}
}

int here_list(const struct here *h, const bool *cells, int uid, FILE *f)
{
	size_t shown = 0;

	fprintf(f,
		"made and removed again: %s/ with the probe and one file\n"
		"done outside, then inside every selected cell:\n\n",
		h->scene.root);
	for (size_t i = 0; i < h->table.n_rules; i++) {
		const struct rule *r = &h->table.rules[i];
		char want[160];
		bool runs = false;

		for (size_t c = 0; c < cell_count() && !runs; c++) {
			struct cell cell = cell_at(c, uid);

			runs = cells[c] && table_runs(&h->table, r, &cell);
		}
		if (!runs)
			continue;
		expectation_text(&r->expect, want, sizeof(want));
		fprintf(f, "%-28s %-10s %-44s %s\n", r->id, r->op, r->role, want);
		shown++;
	}
	fprintf(f, "\n%zu things to look at\n", shown);
	return ferror(f) ? -EIO : 0;
}

static void fly(struct flight *f, struct here *h, const struct run_options *o,
	struct cell_result *c)
{
	flight_plan(f, &h->scene, o, c);
	h->serial++;
	if (o->no_sandbox) {
		flight_native(f, &h->scene, o);
	} else {
		flight_launch(f, &h->scene);
		flight_go(f, &h->scene, o);
		while (!flight_ended(f)) {
			struct pollfd p[3];
			int want[3];

			flight_poll_fds(f, want);
			for (int i = 0; i < 3; i++)
				p[i] = (struct pollfd){ .fd = want[i], .events = POLLIN };
			poll(p, 3, 250);
		}
	}
	flight_land(f, &h->scene, &h->controls, o);
}

int here_run(struct run *ret, struct here *h, const struct run_options *options)
{
	struct run_options o = *options;
	struct run run = { 0 };
	struct flight f;

	o.here = h;
	o.table = &h->table;
	run_make_cells(&run, &o);
	if (o.no_sandbox || run_check_available(&h->scene, &o, &run.error) == 0) {
		flight_init(&f);
		for (size_t i = 0; i < run.n && !run_stop; i++) {
			if (o.progress)
				o.progress(i, run.n, i ? &run.cells[i - 1] : NULL);
			fly(&f, h, &o, &run.cells[i]);
		}
		if (o.progress && run.n)
			o.progress(run.n, run.n, &run.cells[run.n - 1]);
		flight_done(&f);
	}
	run.interrupted = run_stop;
	*ret = run;
	return run.error.code ? -1 : 0;
}
