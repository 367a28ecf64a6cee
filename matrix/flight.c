#include "flight.h"

#include "here.h"
#include "native.h"
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static void trouble(struct cell_result *c, const char *text)
{
	if (c->trouble == NULL)
		c->trouble = sbx_xstrdup(text);
}

static void reset(struct flight *f)
{
	char *output = f->output;

	if (f->planned)
		prepared_done(&f->prepared);
	acts_done(&f->acts);
	sbx_close_fd(&f->ops);
	sbx_close_fd(&f->out);
	sbx_close_fd(&f->err);
	*f = (struct flight){ .output = output,
		.ops = -1,
		.out = -1,
		.err = -1,
		.launch = SBX_LAUNCH_NONE };
	f->output[0] = '\0';
}

void flight_init(struct flight *f)
{
	*f = (struct flight){ .ops = -1, .out = -1, .err = -1 };
	f->output = sbx_xcalloc(1, FLIGHT_OUTPUT_MAX + 1);
	reset(f);
}

void flight_done(struct flight *f)
{
	if (f->output == NULL)
		return;
	if (f->launched)
		sbx_launch_done(&f->launch);
	reset(f);
	free(f->output);
	f->output = NULL;
}

/* ---- plan ---- */

static int plan(struct flight *f, const struct scene *s, const struct run_options *o,
	struct sbx_error *e)
{
	struct sbx_argv argv = { 0 };
	int r = prepare(
		&f->prepared, &f->target->cell, s, o->bwrap, f->target->variant, e);

	if (r < 0)
		return r;
	r = sbx_argv_render(&argv, &f->prepared.plan, NULL, e);
	if (r < 0) {
		prepared_done(&f->prepared);
		return r;
	}
	f->planned = true;
	f->target->argv = argv.args;
	argv.args = (struct sbx_strv){ 0 };
	sbx_argv_done(&argv);
	return 0;
}

void flight_plan(struct flight *f, const struct scene *s, const struct run_options *o,
	struct cell_result *target)
{
	struct sbx_error e = { 0 };

	f->target = target;
	if (!o->no_sandbox && plan(f, s, o, &e) < 0)
		trouble(target, e.message);
	sbx_error_done(&e);
}

/* ---- launch ---- */

static int open_pipes(struct flight *f, int child[3])
{
	int p[3][2];

	for (int i = 0; i < 3; i++) {
		int r = sbx_pipe(p[i]);

		if (r < 0) {
			while (i-- > 0) {
				close(p[i][0]);
				close(p[i][1]);
			}
			return r;
		}
	}
	f->ops = p[0][1];
	f->out = p[1][0];
	f->err = p[2][0];
	fcntl(f->ops, F_SETFL, O_NONBLOCK);
	fcntl(f->out, F_SETFL, O_NONBLOCK);
	fcntl(f->err, F_SETFL, O_NONBLOCK);
	child[0] = p[0][0];
	child[1] = p[1][1];
	child[2] = p[2][1];
	return 0;
}

static int launch(struct flight *f, const struct scene *s, struct sbx_error *e)
{
	char *const cmd[] = { s->probe, NULL };
	struct sbx_launch_opts opts = launch_opts(&f->target->cell, f->target->variant);
	int child[3] = { -1, -1, -1 }, r = open_pipes(f, child);

	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r));
	opts.in = child[0];
	opts.out = child[1];
	opts.err = child[2];
	r = sbx_launch_start(
		&f->launch, &f->prepared.plan, &f->prepared.host, cmd, &opts, e);
	for (int i = 0; i < 3; i++)
		close(child[i]);
	return r;
}

void flight_launch(struct flight *f, const struct scene *s)
{
	struct sbx_error e = { 0 };

	if (!f->planned)
		return;
	if (launch(f, s, &e) < 0)
		trouble(f->target, e.message);
	else
		f->launched = true;
	sbx_error_done(&e);
}

void flight_abort(struct flight *f)
{
	struct cell_result *c = f->target;

	if (f->launched)
		sbx_launch_done(&f->launch);
	reset(f);
	sbx_strv_done(&c->argv);
	free(c->trouble);
	c->trouble = NULL;
}

/* ---- go ---- */

static void give_acts(struct flight *f, const struct scene *s)
{
	SBX_CLEANUP_FREE char *input = acts_input(&f->acts, s);
	size_t len = strlen(input);

	/* Larger than a pipe holds by itself; one that is full would never be read. */
	if (len > 60000)
		fcntl(f->ops, F_SETPIPE_SZ, 1 << 20);
	/* A sandbox that did not come about has closed its end; why, is told at the end. */
	if (write(f->ops, input, len) != (ssize_t)len && errno != EPIPE)
		trouble(f->target, "the acts cannot be given to the probe");
	close(f->ops);
	f->ops = -1;
}

static int make_acts(struct flight *f, struct scene *s, const struct run_options *o)
{
	const struct cell *c = &f->target->cell;

	return o->here ? here_acts(o->here, c, &o->select, &f->acts)
		       : acts_for_cell(&f->acts, o->table, c, s, &o->select);
}

void flight_go(struct flight *f, struct scene *s, const struct run_options *o)
{
	f->started = sbx_now_ms();
	f->deadline = f->started + o->timeout_ms;
	if (make_acts(f, s, o) < 0)
		trouble(f->target,
			"the material for the acts cannot be made in the work dir");
	if (f->launched)
		give_acts(f, s);
}

void flight_native(struct flight *f, struct scene *s, const struct run_options *o)
{
	SBX_CLEANUP_FREE char *input = NULL;
	struct native_result n = { 0 };

	f->started = sbx_now_ms();
	if (make_acts(f, s, o) < 0) {
		trouble(f->target,
			"the material for the acts cannot be made in the work dir");
		return;
	}
	input = acts_input(&f->acts, s);
	if (native_run(&n, s, input, o->timeout_ms) < 0)
		trouble(f->target, "the probe cannot be run");
	else
		snprintf(f->output, FLIGHT_OUTPUT_MAX, "%s", n.output);
	f->acts.survivors = n.survivors;
	free(n.output);
}

/* ---- in the air ---- */

static void drain(int *fd, char *buf, size_t max, size_t *len)
{
	while (*fd >= 0) {
		char spill[4096];
		size_t room = max - *len;
		ssize_t n =
			read(*fd, room ? buf + *len : spill, room ? room : sizeof(spill));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			close(*fd);
			*fd = -1;
		} else if (room) {
			*len += (size_t)n;
			buf[*len] = '\0';
		}
	}
}

static void drain_both(struct flight *f)
{
	drain(&f->out, f->output, FLIGHT_OUTPUT_MAX, &f->output_len);
	drain(&f->err, f->said, sizeof(f->said) - 1, &f->said_len);
}

void flight_poll_fds(const struct flight *f, int ret[3])
{
	ret[0] = f->launch.pidfd;
	ret[1] = f->out;
	ret[2] = f->err;
}

bool flight_ended(struct flight *f)
{
	struct pollfd p = { .fd = f->launch.pidfd, .events = POLLIN };

	if (!f->launched)
		return true;
	drain_both(f);
	sbx_launch_pump(&f->launch);
	return sbx_now_ms() >= f->deadline || run_stop || poll(&p, 1, 0) > 0;
}

/* ---- land ---- */

/* The output pipe is held by everything inside: open after the end means somebody lives. */
static bool held(struct flight *f)
{
	struct pollfd p = { .fd = f->out, .events = POLLIN };
	long long until = sbx_now_ms() + 2000;

	while (f->out >= 0 && sbx_now_ms() < until) {
		poll(&p, 1, 50);
		drain(&f->out, f->output, FLIGHT_OUTPUT_MAX, &f->output_len);
	}
	return f->out >= 0;
}

static void describe(struct flight *f, const struct sbx_exit *x)
{
	SBX_CLEANUP_FREE char *text = NULL;

	f->said[strcspn(f->said, "\n")] = '\0';
	if (x->how == SBX_HOW_EXITED && x->code == 0)
		return;
	if (x->how == SBX_HOW_TIMEOUT)
		text = sbx_xstrdup("the cell did not end in time and was killed");
	else if (x->how == SBX_HOW_KILLED)
		text = sbx_xasprintf("bwrap was killed by signal %d", x->code);
	else if (x->how == SBX_HOW_NOT_EXECUTED)
		text = sbx_xasprintf(
			"the probe cannot be executed inside: %s", strerror(x->code));
	else if (x->how == SBX_HOW_UNHELD)
		text = sbx_xasprintf("the kernel's landlock refused the domain: %s",
			strerror(x->code));
	else if (x->how == SBX_HOW_UNLIMITED)
		text = sbx_xasprintf("a limit cannot be set: %s", strerror(x->code));
	else if (x->how == SBX_HOW_EXITED)
		text = sbx_xasprintf("the probe ended with status %d", x->code);
	else
		text = sbx_xasprintf(
			"bwrap ended with status %d and ran nothing", x->code);
	free(f->target->trouble);
	f->target->trouble =
		sbx_xasprintf("%s%s%.200s", text, f->said_len ? ": " : "", f->said);
}

static void end_process(struct flight *f)
{
	bool late = sbx_now_ms() >= f->deadline || run_stop;
	struct sbx_exit x = { 0 };

	if (sbx_launch_wait(&f->launch, late ? 1 : 5000, &x) < 0)
		trouble(f->target, "bwrap cannot be waited for");
	drain(&f->err, f->said, sizeof(f->said) - 1, &f->said_len);
	f->acts.survivors = held(f) || x.survivors;
	describe(f, &x);
	sbx_launch_done(&f->launch);
}

static void judge(struct flight *f, const struct controls *k, const struct table *t)
{
	struct cell_result *c = f->target;

	c->v = sbx_xcalloc(f->acts.n, sizeof(*c->v));
	for (; c->n < f->acts.n; c->n++) {
		const struct act *a = &f->acts.v[c->n];
		struct result *r = &c->v[c->n];

		*r = (struct result){
			.rule = a->rule,
			.known = table_known(t, a->rule, &c->cell),
			.inside = a->obs,
			.outside = *controls_find(k, a->rule, &c->cell),
		};
		r->verdict = verdict_judge(r->rule, r->known, &r->inside, &r->outside);
		c->count[r->verdict]++;
	}
}

/* Did an act that needed no start of its own notice the mutant? */
static bool noticed(
	const struct flight *f, const struct controls *k, const struct table *t)
{
	const struct cell *c = &f->target->cell;

	for (size_t i = 0; i < f->acts.n; i++) {
		const struct act *a = &f->acts.v[i];

		if (!act_is_staged(a->rule->op) &&
			verdict_fails(verdict_judge(a->rule, table_known(t, a->rule, c),
				&a->obs, controls_find(k, a->rule, c))))
			return true;
	}
	return false;
}

/* One after the other, as the table has them; each with its control. A mutant is played until
 * somebody notices. */
static void staged(struct flight *f, struct scene *s, struct controls *k,
	const struct run_options *o)
{
	const struct cell *cell = &f->target->cell;
	const struct variant *v = f->target->variant;
	/* One that bwrap refuses would be refused every time. */
	bool enough = v && (f->target->trouble || noticed(f, k, o->table));

	for (size_t i = 0; i < f->acts.n && !run_stop && !enough; i++) {
		struct act *a = &f->acts.v[i];

		if (!act_is_staged(a->rule->op))
			continue;
		controls_stage(k, a->rule, s, cell, o);
		stage_run(a->rule->role, s, cell, o, v, o->no_sandbox, &a->obs);
		enough = v && verdict_fails(verdict_judge(a->rule,
				      table_known(o->table, a->rule, cell), &a->obs,
				      controls_find(k, a->rule, cell)));
	}
}

bool flight_land(struct flight *f, struct scene *s, struct controls *k,
	const struct run_options *o)
{
	struct cell_result *c = f->target;
	const char *wrong, *blind = NULL;
	bool spoiled;

	if (f->launched)
		end_process(f);
	/* Ends whoever is left on the leash. */
	sbx_close_fd(&f->out);
	f->out = -1;
	wrong = acts_parse(&f->acts, f->output);
	if (o->here)
		here_evidence(&f->acts);
	else
		blind = acts_evidence(&f->acts, s);
	if (wrong)
		trouble(c, wrong);
	if (blind)
		trouble(c, blind);
	staged(f, s, k, o);
	judge(f, k, o->table);
	c->ms = sbx_now_ms() - f->started;
	c->done = true;
	spoiled = f->acts.spoiled;
	reset(f);
	return spoiled;
}
