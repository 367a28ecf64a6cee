#include "mutants.h"
#include "t.h"

#include "filter.h"

struct fixture {
	struct sbx_host host;
	struct sbx_plan plan;
	struct scene scene;
	struct mutants m;
};

static void make(struct fixture *f, const char *agent, enum sbx_net net)
{
	struct sbx_policy p = { .agent = agent, .net = net, .workdir = "/s/home/p/app" };
	struct sbx_error e = { 0 };
	struct cell c = cell_at(0, UID_USER);

	c.value[AXIS_AGENT] = axis_value_find(AXIS_AGENT, agent);
	memset(f, 0, sizeof(*f));
	t_host_debian(&f->host, "/s/home/p/app");
	free(f->host.home);
	free(f->host.home_real);
	f->host.home = sbx_xstrdup("/s/home");
	f->host.home_real = sbx_xstrdup("/s/home");
	t_host_dir(&f->host, "/s/home/p/app/.git");
	t_host_dir(&f->host, "/s/home/p/app/.git/hooks");
	t_host_file(&f->host, "/s/home/.claude/settings.json");
	t_host_file(&f->host, "/s/home/.claude.json");
	assert_int_equal(sbx_plan_build(&f->plan, &p, &f->host, &e), 0);
	f->scene.root = (char *)"/s";
	f->scene.tree.home = (char *)"/s/home";
	mutants_make(&f->m, &f->plan, &f->scene, &c);
}

static void end(struct fixture *f)
{
	mutants_done(&f->m);
	sbx_plan_done(&f->plan);
	sbx_host_done(&f->host);
}

static const struct mutant *find(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->m.n; i++)
		if (strcmp(f->m.v[i].name, name) == 0)
			return &f->m.v[i];
	return NULL;
}

static void must_have(const struct fixture *f, const char *name)
{
	if (find(f, name) == NULL)
		fail_msg("there is no mutant %s", name);
}

static void every_operation_can_be_dropped(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, "claude", SBX_NET_OFF);
	for (size_t i = 0; i < f.plan.n; i++) {
		size_t dropped = 0;

		for (size_t k = 0; k < f.m.n; k++)
			dropped += f.m.v[k].variant.edit == EDIT_DROP &&
				   f.m.v[k].variant.at == i;
		if (dropped != 1)
			fail_msg("%s: %zu mutants drop it", f.plan.ops[i].dst, dropped);
	}
	end(&f);
}

static void every_read_only_bind_can_be_made_writable(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, "claude", SBX_NET_ON);
	for (size_t i = 0; i < f.plan.n; i++) {
		size_t n = 0;

		for (size_t k = 0; k < f.m.n; k++)
			n += f.m.v[k].variant.edit == EDIT_KIND &&
			     f.m.v[k].variant.at == i &&
			     f.m.v[k].variant.kind == SBX_OP_BIND;
		if (f.plan.ops[i].kind == SBX_OP_RO_BIND && n != 1)
			fail_msg("%s stays read-only", f.plan.ops[i].dst);
	}
	end(&f);
}

static void every_row_and_every_step_is_left_out_once(void **state)
{
	struct fixture f;
	size_t n_rows, rows = 0;
	unsigned steps = 0;

	(void)state;
	make(&f, "generic", SBX_NET_OFF);
	sbx_filter_rows(&n_rows);
	for (size_t k = 0; k < f.m.n; k++) {
		const struct variant *v = &f.m.v[k].variant;
		size_t skipped = 0;

		if (strncmp(f.m.v[k].name, "walls:", 6) == 0)
			continue;
		for (size_t i = 0; v->skip_filter && i < n_rows; i++)
			skipped += v->skip_filter[i];
		assert_true(skipped <= 1);
		rows += skipped;
		assert_int_equal(steps & v->skip_steps, 0);
		steps |= v->skip_steps;
	}
	assert_int_equal(rows, n_rows);
	assert_int_equal(steps, SBX_STEP_ALL);
	end(&f);
}

static void names_are_unique_and_speak_of_no_scene(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, "claude", SBX_NET_OFF);
	for (size_t i = 0; i < f.m.n; i++) {
		if (strstr(f.m.v[i].name, "/s/home"))
			fail_msg("%s names this scene", f.m.v[i].name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(f.m.v[i].name, f.m.v[k].name) == 0)
				fail_msg("%s twice", f.m.v[i].name);
	}
	end(&f);
}

static void what_the_issue_names_is_there(void **state)
{
	static const char *const names[] = { "drop:flag:--unshare-net",
		"drop:seccomp:deny-list", "drop:flag:--new-session", "drop:chdir:~/p/app",
		"drop:remount-ro:/", "drop:env:HOME", "rw:~/p/app/.git/hooks",
		"rw:~/.claude/settings.json", "host-rw:/tmp", "host-ro:~",
		"host-rw:/proc", "host-ro:/dev", "swap-with-parent:~/p/app",
		"swap-with-parent:~/.claude/settings.json", "extra-rw:~", "extra-ro:/run",
		"extra-ro:/var", "extra-rw:/sys", "extra:env:GITHUB_TOKEN", "value:PATH",
		"value:--hostname", "step:close" };
	struct fixture f;

	(void)state;
	make(&f, "claude", SBX_NET_OFF);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++)
		must_have(&f, names[i]);
	assert_null(find(&f, "filter:ioctl,1=0x5412"));
	end(&f);
	make(&f, "generic", SBX_NET_OFF);
	must_have(&f, "filter:ioctl,1=0x5412");
	end(&f);
}

/* An option that says what holds already would be a mutant that nobody can notice. */
static void no_mutant_repeats_the_plan(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, "claude", SBX_NET_OFF);
	assert_null(find(&f, "extra:flag:--unshare-net"));
	assert_non_null(find(&f, "extra:flag:--share-net"));
	end(&f);
	make(&f, "claude", SBX_NET_ON);
	assert_null(find(&f, "extra:flag:--share-net"));
	assert_non_null(find(&f, "extra:flag:--unshare-net"));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_can_be_dropped),
		cmocka_unit_test(every_read_only_bind_can_be_made_writable),
		cmocka_unit_test(every_row_and_every_step_is_left_out_once),
		cmocka_unit_test(names_are_unique_and_speak_of_no_scene),
		cmocka_unit_test(what_the_issue_names_is_there),
		cmocka_unit_test(no_mutant_repeats_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
