#include "mountsim.h"
#include "path.h"
#include "t.h"

#include <errno.h>

/* ---- a world of random hosts and policies ---- */

#define SEEDS 400

static uint64_t rng;

static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng % n);
}

static const char *const agents[] = { "claude", "codex", "gemini", "opencode", "agent",
	"kiro", "generic" };
static const char *const workdirs[] = { "/home/u/src/app", "/home/u/p", "/srv/app",
	"/tmp/build", "/usr/local/src/x", "/var/tmp/w/deep/er", "/home/u/a b\n--bind" };
static const char *const secrets[] = { "/home/u/.ssh/id_ed25519",
	"/home/u/.aws/credentials", "/home/u/.bashrc", "/home/u/.claude/daemon/dispatch",
	"/home/u/.codex/queue_1.sqlite", "/etc/shadow", "/etc/ssl/private",
	"/run/user/1000/bus", "/var/log/syslog", "/root/secret",
	"/home/u/.local/share/opencode/opencode.db", "/home/other/x", "/sys/kernel" };

struct trial {
	struct sbx_host h;
	struct sbx_policy p;
	struct sbx_plan plan;
	struct sbx_opened binds[3];
	size_t n_binds;
};

static void random_agent_files(struct sbx_host *h)
{
	for (size_t a = 0; a < SBX_ARRAY_SIZE(agents); a++)
		for (const struct sbx_agent_path *p = sbx_agent_find(agents[a])->paths;
			p->path; p++) {
			SBX_CLEANUP_FREE char *path =
				sbx_path_join(p->path[0] == '/' ? "/" : h->home, p->path);

			if (pick(3) == 0)
				continue;
			if (p->mode == SBX_PATH_STATE)
				t_host_dir(h, path);
			else
				t_host_file(h, path);
		}
}

static void random_project(struct sbx_host *h)
{
	const struct sbx_protected *prot;
	SBX_CLEANUP_FREE char *git = sbx_path_join(h->workdir.real, ".git");
	size_t n;

	if (pick(4) == 0)
		t_host_file(h, git); /* a worktree */
	else
		t_host_dir(h, git);
	prot = sbx_protected_paths(&n);
	for (size_t i = 0; i < n; i++) {
		SBX_CLEANUP_FREE char *path =
			sbx_path_join(h->workdir.real, prot[i].path);

		if (sbx_host_fact(h, git)->type == SBX_FT_FILE &&
			sbx_path_is_beneath(path, git))
			continue;
		if (pick(2))
			t_host_dir(h, path);
	}
}

static void random_binds(struct trial *t)
{
	static const char *const paths[] = { "/home/u/lib", "/srv/data",
		"/home/u/src/app/vendor", "/opt/tool" };

	t->n_binds = pick(3);
	for (size_t i = 0; i < t->n_binds; i++)
		t->binds[i] = (struct sbx_opened){
			.real = sbx_xstrdup(paths[pick(4)]), .fd = -1, .rw = pick(2)
		};
	t->h.binds = sbx_xcalloc(3, sizeof(*t->h.binds));
	memcpy(t->h.binds, t->binds, sizeof(t->binds));
	t->h.n_binds = t->n_binds;
}

static void make_trial(struct trial *t, uint64_t seed)
{
	struct sbx_error e = { 0 };

	memset(t, 0, sizeof(*t));
	rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	t_host_debian(&t->h, workdirs[pick(SBX_ARRAY_SIZE(workdirs))]);
	random_agent_files(&t->h);
	random_project(&t->h);
	random_binds(t);
	sbx_strv_add(&t->h.environ, "ANTHROPIC_API_KEY=k");
	sbx_strv_add(&t->h.environ, "SECRET=s");
	t->p = (struct sbx_policy){ .agent = agents[pick(SBX_ARRAY_SIZE(agents))],
		.profile = (enum sbx_profile)pick(2),
		.fs = (enum sbx_fs)pick(2),
		.net = (enum sbx_net)pick(3) };
	assert_int_equal(sbx_plan_build(&t->plan, &t->p, &t->h, &e), 0);
}

static void end_trial(struct trial *t)
{
	sbx_plan_done(&t->plan);
	sbx_host_done(&t->h);
}

/* ---- properties ---- */

static void the_work_dir_is_what_the_mode_says(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		SBX_CLEANUP_FREE char *file = NULL;

		make_trial(&t, s);
		file = sbx_path_join(t.h.workdir.real, "src/main.c");
		assert_int_equal(
			sim_access(&t.plan, file), t.p.fs == SBX_FS_RW ? SIM_RW : SIM_RO);
		end_trial(&t);
	}
}

static void no_secret_is_ever_the_hosts(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		make_trial(&t, s);
		for (size_t i = 0; i < SBX_ARRAY_SIZE(secrets); i++) {
			enum sim_access a = sim_access(&t.plan, secrets[i]);

			if (a == SIM_RO || a == SIM_RW)
				fail_msg("seed %lu: %s is visible", (unsigned long)s,
					secrets[i]);
		}
		end_trial(&t);
	}
}

static void protected_paths_are_read_only_and_stay_put(void **state)
{
	const struct sbx_protected *prot;
	struct trial t;
	size_t n;

	(void)state;
	prot = sbx_protected_paths(&n);
	for (uint64_t s = 0; s < SEEDS; s++) {
		make_trial(&t, s);
		for (size_t i = 0; i < n; i++) {
			SBX_CLEANUP_FREE char *path =
				sbx_path_join(t.h.workdir.real, prot[i].path);
			SBX_CLEANUP_FREE char *dir = sbx_path_parent(path);

			if (sbx_host_fact(&t.h, path)->type == SBX_FT_ABSENT)
				continue;
			assert_int_equal(sim_access(&t.plan, path), SIM_RO);
			assert_false(sim_can_move(&t.plan, path));
			if (strcmp(dir, t.h.workdir.real) != 0)
				assert_false(sim_can_move(&t.plan, dir));
		}
		end_trial(&t);
	}
}

static void agents_paths_follow_their_mode_and_profile(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		make_trial(&t, s);
		for (const struct sbx_agent_path *p = sbx_agent_find(t.p.agent)->paths;
			p->path; p++) {
			SBX_CLEANUP_FREE char *path = sbx_path_join(
				p->path[0] == '/' ? "/" : t.h.home, p->path);
			bool there = sbx_host_fact(&t.h, path)->type != SBX_FT_ABSENT;
			bool bound = there && (p->path[0] == '/' ||
						      t.p.profile == SBX_PROFILE_LENIENT);
			enum sim_access want = !bound || p->by             ? SIM_PRIVATE
					       : p->mode == SBX_PATH_STATE ? SIM_RW
					       : p->mode == SBX_PATH_COPY  ? SIM_PRIVATE
									   : SIM_RO;

			if (!bound && p->path[0] == '/')
				want = SIM_ABSENT;
			assert_int_equal(sim_access(&t.plan, path), want);
		}
		end_trial(&t);
	}
}

/* Of a directory of transcripts the project's own alone, made where it is missing. */
static void transcripts_are_this_projects(void **state)
{
	struct sbx_policy p = { .agent = "claude" };
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };
	struct sbx_host h;
	const struct sbx_op *op;

	(void)state;
	t_host_debian(&h, "/w/p");
	t_host_dir(&h, "/home/u/.claude/projects");
	h.state = (struct sbx_opened){ .real = sbx_xstrdup("/data/projects"), .fd = -1 };
	h.state_name = sbx_xstrdup("-w-p");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	op = t_find_op(&plan, "/home/u/.claude/projects/-w-p");
	assert_non_null(op);
	assert_int_equal(op->kind, SBX_OP_BIND);
	assert_int_equal(op->reserve, SBX_RESERVE_DIR);
	assert_string_equal(op->src, "/data/projects/-w-p");
	assert_null(t_find_op(&plan, "/home/u/.claude/projects"));
	sbx_plan_done(&plan);

	h.state_shown = sbx_xstrdup("inside");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	op = t_find_op(&plan, "/home/u/.claude/projects/inside");
	assert_string_equal(op->src, "/data/projects/-w-p");
	assert_int_equal(op->reserve, SBX_RESERVE_DIR);
	sbx_plan_done(&plan);
	free(SBX_TAKE_PTR(h.state_shown));

	t_host_dir(&h, "/data/projects/-w-p");
	h.state_marker = sbx_xstrdup("-w-p/mark");
	t_host_file(&h, "/data/projects/-w-p/mark");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	op = t_find_op(&plan, "/home/u/.claude/projects/-w-p/mark");
	assert_int_equal(op->kind, SBX_OP_RO_BIND);
	assert_int_equal(op->pin, SBX_PIN_STATE);
	sbx_plan_done(&plan);
	free(SBX_TAKE_PTR(h.state_marker));
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	op = t_find_op(&plan, "/home/u/.claude/projects/-w-p");
	assert_int_equal(op->reserve, SBX_RESERVE_NONE);
	sbx_plan_done(&plan);

	p.profile = SBX_PROFILE_STRICT;
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_null(t_find_op(&plan, "/home/u/.claude/projects/-w-p"));
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

static void another_agents_paths_are_never_there(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		make_trial(&t, s);
		for (size_t a = 0; a < SBX_ARRAY_SIZE(agents); a++) {
			if (strcmp(agents[a], t.p.agent) == 0)
				continue;
			for (const struct sbx_agent_path *p =
					sbx_agent_find(agents[a])->paths;
				p->path; p++) {
				SBX_CLEANUP_FREE char *path = sbx_path_join(
					p->path[0] == '/' ? "/" : t.h.home, p->path);
				enum sim_access x = sim_access(&t.plan, path);

				assert_true(x == SIM_PRIVATE || x == SIM_ABSENT);
			}
		}
		end_trial(&t);
	}
}

static void one_mount_a_destination_parents_first(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		make_trial(&t, s);
		for (size_t i = 0; i < t.plan.n; i++)
			for (size_t k = 0; k < i; k++) {
				const struct sbx_op *a = &t.plan.ops[k],
						    *b = &t.plan.ops[i];

				if (!sbx_op_is_mount(a->kind) ||
					!sbx_op_is_mount(b->kind))
					continue;
				/* a comes first: it is never the same as b, nor below it */
				assert_false(sbx_path_is_beneath(a->dst, b->dst));
			}
		end_trial(&t);
	}
}

/* A further read-only bind of a path takes nothing away from another path's protection, and
 * gives write access to nothing. */
static void a_denial_never_widens(void **state)
{
	static const char *const probes[] = { "/home/u/lib/x", "/srv/data/x",
		"/opt/tool/x", "/home/u/src/app/vendor/x", "/home/u/.ssh/id",
		"/home/u/src/app/x", "/etc/passwd" };
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		enum sim_access before[SBX_ARRAY_SIZE(probes)];
		struct sbx_plan after = { 0 };
		struct sbx_error e = { 0 };

		make_trial(&t, s);
		for (size_t i = 0; i < SBX_ARRAY_SIZE(probes); i++)
			before[i] = sim_access(&t.plan, probes[i]);
		t.h.binds[t.h.n_binds++] = (struct sbx_opened){
			.real = sbx_xstrdup("/home/u/src/app/vendor"),
			.fd = -1,
			.rw = false
		};
		assert_int_equal(sbx_plan_build(&after, &t.p, &t.h, &e), 0);
		for (size_t i = 0; i < SBX_ARRAY_SIZE(probes); i++)
			if (sim_access(&after, probes[i]) == SIM_RW)
				assert_int_equal(before[i], SIM_RW);
		assert_true(sim_access(&after, "/home/u/src/app/vendor/x") == SIM_RO);
		sbx_plan_done(&after);
		end_trial(&t);
	}
}

/* The order in which independent binds are given changes nothing. */
static void order_of_binds_does_not_matter(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		struct sbx_plan other = { 0 };
		struct sbx_error e = { 0 };

		make_trial(&t, s);
		if (t.h.n_binds == 2) {
			struct sbx_opened x = t.h.binds[0];

			t.h.binds[0] = t.h.binds[1];
			t.h.binds[1] = x;
		}
		assert_int_equal(sbx_plan_build(&other, &t.p, &t.h, &e), 0);
		assert_int_equal(other.n, t.plan.n);
		for (size_t i = 0; i < t.plan.n; i++)
			if (sbx_op_is_mount(t.plan.ops[i].kind))
				assert_int_equal(sim_access(&other, t.plan.ops[i].dst),
					sim_access(&t.plan, t.plan.ops[i].dst));
		sbx_plan_done(&other);
		end_trial(&t);
	}
}

static void the_environment_is_an_allowlist(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		bool key = false;

		make_trial(&t, s);
		for (size_t i = 0; i < t.plan.n; i++) {
			if (t.plan.ops[i].kind != SBX_OP_ENV)
				continue;
			assert_string_not_equal(t.plan.ops[i].dst, "SECRET");
			key |= strcmp(t.plan.ops[i].dst, "ANTHROPIC_API_KEY") == 0;
		}
		assert_int_equal(key, strcmp(t.p.agent, "claude") == 0 &&
					      t.p.profile == SBX_PROFILE_LENIENT);
		end_trial(&t);
	}
}

/* ---- single facts ---- */

static const char *const always[] = { "--unshare-user", "--unshare-pid", "--unshare-ipc",
	"--unshare-uts", "--unshare-cgroup", "--disable-userns", "--cap-drop",
	"--new-session", "--die-with-parent" };

static void the_flags_are_there_in_every_plan(void **state)
{
	struct trial t;

	(void)state;
	for (uint64_t s = 0; s < SEEDS; s++) {
		make_trial(&t, s);
		for (size_t i = 0; i < SBX_ARRAY_SIZE(always); i++)
			assert_non_null(t_find_op(&t.plan, always[i]));
		assert_int_equal(t_find_op(&t.plan, "--unshare-net") != NULL,
			sbx_policy_net(&t.p) == SBX_NET_OFF);
		assert_non_null(t_find_op(&t.plan, "deny-list"));
		for (size_t i = 0; i < t.plan.n; i++)
			assert_true(t.plan.ops[i].why && t.plan.ops[i].why[0]);
		end_trial(&t);
	}
}

static void a_planted_link_is_refused_but_not_in_ro(void **state)
{
	static const char *const planted[] = { "/srv/app/.git", "/srv/app/.git/hooks",
		"/srv/app/.claude", "/srv/app/.mcp.json" };

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(planted); i++) {
		struct sbx_policy p = { 0 };
		struct sbx_error e = { 0 };
		struct sbx_plan plan = { 0 };
		struct sbx_host h;

		t_host_debian(&h, "/srv/app");
		t_host_dir(&h, "/srv/app/.git");
		sbx_host_add_fact(
			&h, planted[i], SBX_FT_LINK, SBX_FT_DIR, "/oldroot/x", "/x");
		assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), -ELOOP);
		assert_int_equal(e.code, SBX_E_PATH_SYMLINK);
		assert_non_null(strstr(e.message, planted[i]));
		sbx_error_done(&e);
		p.fs = SBX_FS_RO;
		assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
		sbx_plan_done(&plan);
		sbx_host_done(&h);
	}
}

static void network_files_follow_the_network_not_the_profile(void **state)
{
	static const char *const files[] = { "/etc/resolv.conf", "/etc/ssl/certs",
		"/etc/nsswitch.conf" };

	(void)state;
	for (int profile = 0; profile < 2; profile++)
		for (int on = 0; on < 2; on++) {
			struct sbx_policy p = { .profile = (enum sbx_profile)profile,
				.net = on ? SBX_NET_ON : SBX_NET_OFF };
			struct sbx_error e = { 0 };
			struct sbx_plan plan = { 0 };
			struct sbx_host h;

			t_host_debian(&h, "/srv/app");
			assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
			for (size_t i = 0; i < SBX_ARRAY_SIZE(files); i++)
				assert_int_equal(t_find_op(&plan, files[i]) != NULL, on);
			assert_null(t_find_op(&plan, "/etc/ssl"));
			sbx_plan_done(&plan);
			sbx_host_done(&h);
		}
}

static void a_split_usr_is_bound_a_merged_one_linked(void **state)
{
	struct sbx_policy p = { 0 };
	struct sbx_error e = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_host h;

	(void)state;
	t_host_debian(&h, "/srv/app");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_int_equal(t_find_op(&plan, "/bin")->kind, SBX_OP_SYMLINK);
	assert_string_equal(t_find_op(&plan, "/bin")->src, "usr/bin");
	sbx_plan_done(&plan);
	t_host_dir(&h, "/bin");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_int_equal(t_find_op(&plan, "/bin")->kind, SBX_OP_RO_BIND);
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

static void a_linked_resolv_conf_is_bound_at_its_target(void **state)
{
	struct sbx_policy p = { .net = SBX_NET_ON };
	struct sbx_error e = { 0 };
	struct sbx_plan plan = { 0 };
	struct sbx_host h;

	(void)state;
	t_host_debian(&h, "/srv/app");
	sbx_host_add_fact(&h, "/etc/resolv.conf", SBX_FT_LINK, SBX_FT_FILE,
		"../run/systemd/resolve/stub-resolv.conf",
		"/run/systemd/resolve/stub-resolv.conf");
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_string_equal(t_find_op(&plan, "/etc/resolv.conf")->src,
		"/run/systemd/resolve/stub-resolv.conf");
	sbx_plan_done(&plan);
	/* a dangling one is left out */
	sbx_host_add_fact(
		&h, "/etc/resolv.conf", SBX_FT_LINK, SBX_FT_ABSENT, "/gone", NULL);
	assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
	assert_null(t_find_op(&plan, "/etc/resolv.conf"));
	sbx_plan_done(&plan);
	sbx_host_done(&h);
}

/* A variable that names a CA file shows that file, and is no way to anything else. */
static void ca_variables_show_ca_files_only(void **state)
{
	static const struct {
		const char *value;
		bool shown;
	} cases[] = {
		{ "/opt/ca/root.pem", true },
		{ "/home/u/ca.pem", true },
		{ "/home/u/.ssh/id_ed25519", false },
		{ "/etc/shadow", false },
		{ "/etc/ssl/certs/x.pem", false }, /* is there anyway */
		{ "/srv/app/ca.pem", false }, /* so is the work dir */
		{ "/run/secrets/x", false },
	};

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		struct sbx_policy p = { 0 };
		struct sbx_error e = { 0 };
		struct sbx_plan plan = { 0 };
		struct sbx_host h;

		t_host_debian(&h, "/srv/app");
		sbx_strv_addf(&h.environ, "NODE_EXTRA_CA_CERTS=%s", cases[i].value);
		t_host_file(&h, cases[i].value);
		assert_int_equal(sbx_plan_build(&plan, &p, &h, &e), 0);
		assert_int_equal(
			t_find_op(&plan, cases[i].value) != NULL, cases[i].shown);
		if (cases[i].shown)
			assert_int_equal(sim_access(&plan, cases[i].value), SIM_RO);
		sbx_plan_done(&plan);
		sbx_host_done(&h);
	}
}

static void every_kind_of_operation_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < _SBX_OP_MAX; i++)
		assert_string_not_equal(sbx_op_kind_name((enum sbx_op_kind)i), "?");
	assert_string_equal(sbx_op_kind_name(_SBX_OP_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_work_dir_is_what_the_mode_says),
		cmocka_unit_test(no_secret_is_ever_the_hosts),
		cmocka_unit_test(protected_paths_are_read_only_and_stay_put),
		cmocka_unit_test(agents_paths_follow_their_mode_and_profile),
		cmocka_unit_test(transcripts_are_this_projects),
		cmocka_unit_test(another_agents_paths_are_never_there),
		cmocka_unit_test(one_mount_a_destination_parents_first),
		cmocka_unit_test(a_denial_never_widens),
		cmocka_unit_test(order_of_binds_does_not_matter),
		cmocka_unit_test(the_environment_is_an_allowlist),
		cmocka_unit_test(the_flags_are_there_in_every_plan),
		cmocka_unit_test(a_planted_link_is_refused_but_not_in_ro),
		cmocka_unit_test(network_files_follow_the_network_not_the_profile),
		cmocka_unit_test(a_split_usr_is_bound_a_merged_one_linked),
		cmocka_unit_test(a_linked_resolv_conf_is_bound_at_its_target),
		cmocka_unit_test(ca_variables_show_ca_files_only),
		cmocka_unit_test(every_kind_of_operation_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
