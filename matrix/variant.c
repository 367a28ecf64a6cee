#include "variant.h"

#include "program.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Every cell has all of them, so that each has its mutant: so wide that no act comes near. The
 * scenarios about limits make them narrow. */
static const struct sbx_limit wide[] = {
	{ SBX_LIMIT_AS, 1ULL << 46 },
	{ SBX_LIMIT_CPU, 86400 },
	{ SBX_LIMIT_DATA, 1ULL << 45 },
	{ SBX_LIMIT_FSIZE, 1ULL << 42 },
	{ SBX_LIMIT_MEMLOCK, 32768 },
	{ SBX_LIMIT_NOFILE, 4000 },
	{ SBX_LIMIT_NPROC, 10000 },
	{ SBX_LIMIT_STACK, 64 << 20 },
};

/* No more than whoever runs the cells has. */
static void add_limits(struct sbx_policy *p)
{
	static struct sbx_limit limits[SBX_ARRAY_SIZE(wide)];
	struct rlimit lim;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(wide); i++) {
		int resource = sbx_limit_resource(wide[i].which);

		limits[i] = wide[i];
		if (getrlimit((__rlimit_resource_t)resource, &lim) == 0 &&
			lim.rlim_max <= limits[i].value)
			limits[i].value = lim.rlim_max / 2;
	}
	p->limits = limits;
	p->n_limits = SBX_ARRAY_SIZE(limits);
}

static struct sbx_policy policy_of(const struct cell *c, const struct scene *s)
{
	struct sbx_policy p = { .agent = cell_value(c, AXIS_AGENT),
		.workdir = s->tree.work };

	/* The labels are the library's own words; a new one would fail here. */
	if (sbx_profile_from_string(cell_value(c, AXIS_PROFILE), &p.profile) < 0 ||
		sbx_fs_from_string(cell_value(c, AXIS_FS), &p.fs) < 0 ||
		sbx_net_from_string(cell_value(c, AXIS_NET), &p.net) < 0)
		abort();
	add_limits(&p);
	return p;
}

/* A word of the variant in this scene; owned, or NULL. */
static char *expand(const char *word, const struct scene *s)
{
	if (word == NULL)
		return NULL;
	if (word[0] == '~')
		return sbx_xasprintf("%s%s", s->tree.home, word + 1);
	if (strncmp(word, "@root", 5) == 0)
		return sbx_xasprintf("%s%s", s->root, word + 5);
	if (strncmp(word, "@env:", 5) == 0)
		return sbx_xstrdup(scene_env(s, word + 5));
	return sbx_xstrdup(word);
}

static void take_source(struct sbx_op *op, char *take_src)
{
	free(op->src);
	op->src = take_src;
	op->pin = SBX_PIN_NONE;
}

static void insert(struct sbx_plan *plan, const struct variant *v, const struct scene *s)
{
	SBX_CLEANUP_FREE char *src = expand(v->src, s);
	SBX_CLEANUP_FREE char *dst = expand(v->dst, s);
	struct sbx_op op;

	sbx_plan_add(plan, v->kind, src, dst, "a mutant");
	op = plan->ops[plan->n - 1];
	memmove(&plan->ops[v->at + 1], &plan->ops[v->at],
		(plan->n - 1 - v->at) * sizeof(op));
	plan->ops[v->at] = op;
}

static void edit(struct sbx_plan *plan, const struct variant *v, const struct scene *s)
{
	struct sbx_op *op = &plan->ops[v->at], other;

	switch (v->edit) {
	case EDIT_DROP:
		sbx_plan_remove(plan, v->at);
		break;
	case EDIT_KIND:
		op->kind = v->kind;
		if (v->src)
			take_source(op, expand(v->src, s));
		break;
	case EDIT_SOURCE:
		take_source(op, expand(v->src, s));
		break;
	case EDIT_SWAP:
		other = *op;
		*op = plan->ops[v->with];
		plan->ops[v->with] = other;
		break;
	default:
		insert(plan, v, s);
	}
}

static void drop_by_name(struct sbx_plan *plan, const char *dst)
{
	for (size_t i = 0; dst && i < plan->n; i++)
		if (strcmp(plan->ops[i].dst, dst) == 0)
			sbx_plan_remove(plan, i--);
}

static int apply(struct sbx_plan *plan, const struct variant *v, const struct scene *s,
	struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *dst = expand(v->dst_at, s);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(v->drop); i++)
		drop_by_name(plan, v->drop[i]);
	if (v->edit == EDIT_NONE)
		return 0;
	if (v->at >= plan->n + (v->edit == EDIT_INSERT) || v->with >= plan->n ||
		(dst && strcmp(plan->ops[v->at].dst, dst) != 0))
		return sbx_error_set(e, SBX_E_SYSTEM, EINVAL,
			"the plan is not the one that the variant was made for");
	edit(plan, v, s);
	return 0;
}

/* As 'sbx run' would: what the agent's program needs is there too. One that is not installed
 * needs nothing. */
static void find_program(struct sbx_host *h, const char *agent)
{
	const char *command = sbx_agent_find(agent)->command;
	SBX_CLEANUP_FREE char *word = command ? sbx_xstrdup(command) : NULL;
	struct sbx_error e = { 0 };

	if (word && sbx_program_find(h, &word, &e) < 0)
		sbx_error_done(&e);
}

int prepare(struct prepared *ret, const struct cell *c, const struct scene *s,
	const char *bwrap, const struct variant *v, struct sbx_error *e)
{
	struct sbx_policy p = policy_of(c, s);
	struct sbx_host_opts ho = {
		.home = s->tree.home, .environ = s->env.v, .bwrap = bwrap
	};
	struct prepared pr = { 0 };
	int r = sbx_host_read(&pr.host, &p, &ho, e);

	if (r < 0)
		return r;
	if (s->own_world)
		find_program(&pr.host, p.agent);
	r = sbx_plan_build(&pr.plan, &p, &pr.host, e);
	if (r == 0 && v)
		r = apply(&pr.plan, v, s, e);
	if (r < 0)
		prepared_done(&pr);
	else
		*ret = pr;
	return r;
}

void prepared_done(struct prepared *p)
{
	sbx_plan_done(&p->plan);
	sbx_host_done(&p->host);
}

struct sbx_launch_opts launch_opts(const struct cell *c, const struct variant *v)
{
	struct sbx_launch_opts o = SBX_LAUNCH_INHERIT;

	o.allow_root = c->value[AXIS_UID] == UID_ROOT;
	if (v) {
		o.skip_steps = v->skip_steps;
		o.skip_filter = v->skip_filter;
	}
	return o;
}
