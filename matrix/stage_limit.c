/* Scenarios about the limits that a policy sets. */
#include "stage_play.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

/* Narrow, but wide enough for the probe. */
#define NPROC 20
#define OTHERS 40 /* of the same user outside; more than may be inside */

static const struct narrow {
	enum sbx_limit_kind which;
	const char *value;
	const char *act, *first,
		*last; /* what must fail, with arguments before and after value */
	const char *fails; /* how */
} narrow[] = {
	{ SBX_LIMIT_AS, "268435456", "limit_map", NULL, "0", "ENOMEM" },
	{ SBX_LIMIT_CPU, "3600", NULL, NULL, NULL, NULL },
	{ SBX_LIMIT_DATA, "67108864", "limit_map", NULL, NUMBER(PROT_WRITE), "ENOMEM" },
	{ SBX_LIMIT_FSIZE, "4096", "limit_fsize", "/tmp/long", NULL, "EFBIG" },
	{ SBX_LIMIT_MEMLOCK, "16384", "limit_lock", NULL, NULL, "ENOMEM" },
	{ SBX_LIMIT_NOFILE, "24", "limit_nofile", NULL, NULL, "EMFILE" },
	{ SBX_LIMIT_NPROC, NUMBER(NPROC), NULL, NULL, NULL, NULL }, /* limits_nproc */
	{ SBX_LIMIT_STACK, "1048576", NULL, NULL, NULL, NULL },
};

/* The plan of t, with narrow limits in the place of the wide ones that it has. */
static int plan_narrow(struct try *t, struct play *p)
{
	int r = try_plan(t, p, NULL);

	for (size_t i = 0; r == 0 && i < t->prepared.plan.n; i++) {
		struct sbx_op *op = &t->prepared.plan.ops[i];

		for (size_t k = 0; k < SBX_ARRAY_SIZE(narrow); k++)
			if (op->kind == SBX_OP_LIMIT &&
				strcmp(op->dst, sbx_limit_name(narrow[k].which)) == 0) {
				free(op->src);
				op->src = sbx_xstrdup(narrow[k].value);
			}
	}
	return r;
}

static bool run_narrow(struct try *t, struct play *p)
{
	if (plan_narrow(t, p) < 0 || try_start(t, p, NULL) < 0) {
		play_fail(p, "start");
		return false;
	}
	try_go(t, p);
	try_end(t);
	if (*try_result(t, t->n_acts - 1) == '\0') {
		play_fail(p, "payload");
		return false;
	}
	return true;
}

static char *resource_of(const struct narrow *row)
{
	return sbx_xasprintf("%d", sbx_limit_resource(row->which));
}

static void say_names(
	struct play *p, const char *none, const bool is[SBX_ARRAY_SIZE(narrow)])
{
	struct found list[SBX_ARRAY_SIZE(narrow) + 1] = { 0 };
	size_t n = 0;

	for (size_t k = 0; k < SBX_ARRAY_SIZE(narrow); k++) {
		list[k] = (struct found){ sbx_limit_name(narrow[k].which), is[k] };
		n += is[k];
	}
	if (n == SBX_ARRAY_SIZE(narrow)) /* more than a result holds */
		play_say(p, "all");
	else
		play_list(p, none, list);
}

/* Each has the value that it was given, and what goes beyond it fails. */
void stage_limits_held(struct play *p)
{
	bool passed[SBX_ARRAY_SIZE(narrow)];
	struct try t = TRY_INIT;

	for (size_t k = 0; k < SBX_ARRAY_SIZE(narrow); k++) {
		SBX_CLEANUP_FREE char *resource = resource_of(&narrow[k]);
		const char *words[5] = { narrow[k].act ? narrow[k].act : "limit_is" };
		size_t n = 1;

		try_act(&t, "limit_is", resource, narrow[k].value);
		if (narrow[k].act == NULL)
			words[n++] = resource;
		if (narrow[k].first)
			words[n++] = narrow[k].first;
		words[n++] = narrow[k].value;
		words[n] = narrow[k].last;
		try_add_act(&t, words);
	}
	if (run_narrow(&t, p)) {
		for (size_t k = 0; k < SBX_ARRAY_SIZE(narrow); k++) {
			passed[k] = strcmp(try_result(&t, 2 * k), "value:that") != 0;
			passed[k] |= strcmp(try_result(&t, 2 * k + 1),
					     narrow[k].fails ? narrow[k].fails
							     : "value:that") != 0;
		}
		say_names(p, "held", passed);
	}
	try_done(&t);
}

void stage_limits_raised(struct play *p)
{
	bool raised[SBX_ARRAY_SIZE(narrow)];
	struct try t = TRY_INIT;

	for (size_t k = 0; k < SBX_ARRAY_SIZE(narrow); k++) {
		SBX_CLEANUP_FREE char *resource = resource_of(&narrow[k]);

		try_act(&t, "limit_raise", resource, narrow[k].value);
	}
	if (run_narrow(&t, p)) {
		for (size_t k = 0; k < SBX_ARRAY_SIZE(narrow); k++)
			raised[k] = strcmp(try_result(&t, k), "EPERM") != 0;
		say_names(p, "none", raised);
	}
	try_done(&t);
}

/* The user is at work outside too, with more processes than the sandbox may have: those inside are
 * counted alone. */
void stage_limits_nproc(struct play *p)
{
	pid_t others[OTHERS] = { 0 }, parent = getpid();
	struct try t = TRY_INIT;
	bool all = true;

	for (size_t i = 0; i < OTHERS; i++) {
		others[i] = fork();
		if (others[i] == 0) {
			play_leash(parent);
			for (;;)
				pause();
		}
		all &= others[i] > 0;
	}
	try_act(&t, "limit_fork", NUMBER(NPROC));
	if (!all)
		play_fail(p, "others");
	else if (run_narrow(&t, p))
		play_pass(p, try_result(&t, 0));
	for (size_t i = 0; i < OTHERS; i++)
		play_end_process(others[i]);
	try_done(&t);
}

/* Whoever plays this has been given a cgroup to make others in. */
static bool has_cgroup(const struct sbx_policy *wanted)
{
	struct sbx_cgroup group = SBX_CGROUP_NONE;
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	bool has;

	sbx_cgroup_add(&plan, wanted);
	has = sbx_cgroup_make(&group, &plan, &e) == 0;
	sbx_cgroup_end(&group, PLAY_PATIENCE);
	sbx_plan_done(&plan);
	sbx_error_done(&e);
	return has;
}

/* The cells themselves have no cgroup, since few machines give one: it is added here. */
void stage_limits_cgroup(struct play *p)
{
	const struct sbx_policy wanted = { .pids = NPROC };
	struct try t = TRY_INIT;

	if (!has_cgroup(&wanted)) {
		play_say(p, "none");
		return;
	}
	try_act(&t, "limit_fork", NUMBER(NPROC));
	if (try_plan(&t, p, NULL) == 0 && !p->outside)
		sbx_cgroup_add(&t.prepared.plan, &wanted);
	if (!t.is_prepared || try_start(&t, p, NULL) < 0) {
		play_fail(p, "start");
	} else {
		try_go(&t, p);
		try_end(&t);
		if (*try_result(&t, 0) == '\0')
			play_fail(p, "payload");
		play_say(p, strcmp(try_result(&t, 0), "EAGAIN") == 0 ? "held" : "passed");
	}
	try_done(&t);
}
