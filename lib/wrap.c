/* sbx_wrap(): the one-call form. Declared in launch.h. */
#include "init.h"
#include "launch.h"
#include "resources.h"

#include <errno.h>
#include <string.h>

static void take_fds(struct sbx_wrapped *w, struct sbx_resources *res)
{
	w->fds = sbx_xcalloc(res->n, sizeof(int));
	for (size_t i = 0; i < res->n; i++)
		if (res->fds[i] >= 0)
			w->fds[w->n_fds++] = SBX_TAKE_FD(res->fds[i]);
}

static int wrap_plan(struct sbx_wrapped *w, char *const cmd[],
	const struct sbx_plan *plan, const struct sbx_host *h, struct sbx_error *e)
{
	struct sbx_resources res = { 0 };
	struct sbx_argv a = { 0 };
	SBX_CLEANUP_FD int image = sbx_init_memfd();
	int r;

	if (image < 0)
		return sbx_error_set(
			e, SBX_E_SYSTEM, -image, "memfd: %s", strerror(-image));
	r = sbx_resources_open(&res, plan, h, false, NULL, e);
	if (r < 0)
		return r;
	r = sbx_argv_render(&a, plan, res.fds, e);
	if (r == 0) {
		sbx_strv_add(&w->argv, h->bwrap.path ? h->bwrap.path : "bwrap");
		for (size_t i = 0; i < a.args.n; i++)
			sbx_strv_add(&w->argv, a.args.v[i]);
		sbx_strv_add(&w->argv, "--");
		sbx_init_words(&w->argv,
			&(struct sbx_init_fds){ .image = image,
				.control = -1,
				.status = -1,
				.keeper = -1 },
			plan, 0);
		for (size_t i = 0; cmd[i]; i++)
			sbx_strv_add(&w->argv, cmd[i]);
		w->env = a.env;
		a.env = (struct sbx_strv){ 0 };
		take_fds(w, &res);
		w->fds = sbx_xrealloc(w->fds, w->n_fds + 1, sizeof(int));
		w->fds[w->n_fds++] = SBX_TAKE_FD(image);
	}
	sbx_argv_done(&a);
	sbx_resources_done(&res);
	return r;
}

/* Nobody would make what is to stand there, nor remove it: said instead. */
static void take_reserved(struct sbx_wrapped *w, struct sbx_plan *plan)
{
	for (size_t i = plan->n; i-- > 0;) {
		if (plan->ops[i].reserve == SBX_RESERVE_NONE)
			continue;
		sbx_strv_add(&w->unreserved, plan->ops[i].dst);
		sbx_plan_remove(plan, i);
	}
}

/* Nobody would make the group, and the limit would silently be none. */
static int refuse_cgroup(const struct sbx_policy *p, struct sbx_error *e)
{
	if (p->memory == 0 && p->pids == 0)
		return 0;
	return sbx_error_set(e, SBX_E_CGROUP, ENOTSUP,
		"a command line cannot carry a limit by cgroup (memory, pids): a launch can");
}

int sbx_wrap(struct sbx_wrapped *ret, char *const cmd[], const struct sbx_policy *p,
	const struct sbx_host_opts *opts, struct sbx_error *e)
{
	struct sbx_wrapped w = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_host h;
	int r = refuse_cgroup(p, e);

	if (r < 0)
		return r;
	r = sbx_host_read(&h, p, opts, e);
	if (r < 0)
		return r;
	r = sbx_plan_build(&plan, p, &h, e);
	if (r == 0)
		take_reserved(&w, &plan);
	if (r == 0)
		r = wrap_plan(&w, cmd, &plan, &h, e);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
	if (r == 0)
		*ret = w;
	else
		sbx_wrapped_done(&w);
	return r;
}

void sbx_wrapped_done(struct sbx_wrapped *w)
{
	sbx_strv_done(&w->argv);
	sbx_strv_done(&w->env);
	sbx_strv_done(&w->unreserved);
	for (size_t i = 0; i < w->n_fds; i++)
		sbx_close_fd(&w->fds[i]);
	free(w->fds);
	*w = (struct sbx_wrapped){ 0 };
}
