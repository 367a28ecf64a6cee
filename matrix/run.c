#include "run.h"

#include "slot.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

volatile int run_stop;

bool cell_passed(const struct cell_result *c)
{
	if (!c->done || c->trouble || c->n == 0)
		return false;
	for (int v = 0; v < _VERDICT_MAX; v++)
		if (c->count[v] && !verdict_passes((enum verdict)v))
			return false;
	return true;
}

static bool any_rule(const struct run_options *o, const struct cell *c)
{
	const struct table *t = o->table;

	for (size_t i = 0; i < t->n_rules; i++)
		if (table_runs(t, &t->rules[i], c) &&
			selection_has(&o->select, &t->rules[i]))
			return true;
	return false;
}

void run_make_cells(struct run *r, const struct run_options *o)
{
	r->cells = sbx_xcalloc(cell_count(), sizeof(*r->cells));
	for (size_t i = 0; i < cell_count(); i++) {
		struct cell c = cell_at(i, o->uid);

		c.value[AXIS_LANDLOCK] = o->landlock;
		if (o->cells[i] && any_rule(o, &c))
			r->cells[r->n++].cell = c;
	}
}

/* The most demanding plan there is: without network, strict. */
int run_check_available(
	const struct scene *s, const struct run_options *o, struct sbx_error *e)
{
	struct sbx_policy p = {
		.profile = SBX_PROFILE_STRICT, .net = SBX_NET_OFF, .workdir = s->tree.work
	};
	struct sbx_host_opts ho = {
		.home = s->tree.home, .environ = s->env.v, .bwrap = o->bwrap
	};
	struct sbx_launch_opts launch = SBX_LAUNCH_INHERIT;
	struct sbx_plan plan = { 0 };
	struct sbx_host h;
	int r = sbx_host_read(&h, &p, &ho, e);

	launch.allow_root = o->uid == UID_ROOT;
	if (r < 0)
		return r;
	r = sbx_plan_build(&plan, &p, &h, e);
	if (r == 0)
		r = sbx_avail_check(&plan, &h, &launch, e);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
	return r;
}

struct pool {
	struct slot *v;
	int n;
	const struct run_options *o;
	struct run *run;
	size_t next, done;
};

static void report(struct pool *p, const struct cell_result *last)
{
	if (p->o->progress)
		p->o->progress(p->done, p->run->n, last);
}

/* Gives every slot that wants one a cell. False when nothing is left to do. */
static bool feed(struct pool *p)
{
	bool any = false;

	for (int i = 0; i < p->n; i++) {
		if (slot_wants(&p->v[i]) && p->next < p->run->n && !run_stop)
			slot_take(&p->v[i], &p->run->cells[p->next++]);
		any |= !slot_idle(&p->v[i]);
	}
	return any;
}

static void wait_for_news(const struct pool *p)
{
	struct pollfd fds[3 * 64];
	nfds_t n = 0;

	for (int i = 0; i < p->n; i++) {
		int want[3];

		if (p->v[i].running == NULL || !p->v[i].running->launched)
			return; /* it can be moved on at once */
		flight_poll_fds(p->v[i].running, want);
		for (int k = 0; k < 3; k++)
			fds[n++] = (struct pollfd){ .fd = want[k], .events = POLLIN };
	}
	poll(fds, n, 250); /* wakes for deadlines and for signals */
}

static void run_cells(struct pool *p)
{
	report(p, NULL);
	while (feed(p)) {
		wait_for_news(p);
		for (int i = 0; i < p->n; i++) {
			struct cell_result *c =
				slot_idle(&p->v[i]) ? NULL : slot_turn(&p->v[i], p->o);

			if (c == NULL)
				continue;
			p->done++;
			if (p->o->landed)
				p->o->landed(c, p->o);
			report(p, c);
		}
	}
}

static int open_slots(struct pool *p, struct sbx_error *e)
{
	int want = p->o->jobs < (int)p->run->n ? p->o->jobs : (int)p->run->n, r = 0;

	p->v = sbx_xcalloc((size_t)want, sizeof(*p->v));
	for (; r == 0 && p->n < want && !run_stop; p->n++) {
		r = slot_open(&p->v[p->n], p->o, e);
		if (r < 0)
			return r;
	}
	return run_stop ? sbx_error_set(e, SBX_E_SYSTEM, EINTR, "interrupted") : r;
}

int run_matrix(struct run *ret, const struct run_options *o)
{
	struct pool p = { .o = o, .run = ret };
	int r;

	*ret = (struct run){ 0 };
	run_make_cells(ret, o);
	if (ret->n == 0)
		return sbx_error_set(&ret->error, SBX_E_SYSTEM, EINVAL,
			"no selected rule is in force in the selected cells");
	r = open_slots(&p, &ret->error);
	if (r == 0 && !o->no_sandbox)
		r = run_check_available(&p.v[0].scene, o, &ret->error);
	if (r == 0 && o->expand)
		r = o->expand(ret, &p.v[0].scene, o, &ret->error);
	if (r == 0 && !o->plan_only)
		run_cells(&p);
	for (int i = 0; i < p.n; i++)
		slot_close(&p.v[i]);
	free(p.v);
	ret->interrupted = run_stop;
	return r;
}

void cell_result_done(struct cell_result *c)
{
	free(c->v);
	free(c->trouble);
	sbx_strv_done(&c->argv);
	c->v = NULL;
	c->trouble = NULL;
	c->n = 0;
}

void run_done(struct run *r)
{
	for (size_t i = 0; i < r->n; i++)
		cell_result_done(&r->cells[i]);
	free(r->cells);
	sbx_error_done(&r->error);
	*r = (struct run){ 0 };
}
