/* sbx doctor: every precondition of a launch, proved by doing it. */
#include "doctor.h"
#include "identity.h"
#include "inside.h"
#include "subprocess.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VERSION_MS 5000
#define INSIDE_MS 10000
#define CGROUP_MS 5000

struct doctor {
	const struct options *o;
	struct options tried; /* o, with a work dir that is accepted */
	struct checks checks;
	char *scratch; /* a throw-away work dir, or NULL; owned */
	bool sandbox; /* it can be had */
};

/* ---- the machine ---- */

static bool check_user(struct doctor *d)
{
	struct sbx_error e = { 0 };
	struct identity id = { 0 };

	if (identity_assume(&id, d->o, NULL, &e) < 0) {
		checks_add_error(&d->checks, CHECK_FAIL, NULL, "user", &e);
		return false;
	}
	if (id.uid == 0)
		checks_add(&d->checks, CHECK_WARN, NULL, "user",
			"uid 0, by --allow-root: inside it is uid 0 of the host; what file modes "
			"refuse others, only mounts, the filter and missing capabilities refuse "
			"it");
	else
		checks_add(&d->checks, CHECK_OK, NULL, "user", "%s (uid %u)%s", id.name,
			(unsigned)id.uid, id.assumed ? ", started by root" : "");
	identity_done(&id);
	return true;
}

/* The rest is tried in a directory of our own when this one is refused. */
static bool check_workdir(struct doctor *d, struct prepared *ret)
{
	const struct sbx_agent *generic = sbx_agent_find("generic");
	struct sbx_error e = { 0 };

	if (prepare(ret, &d->tried, generic, &e) == 0) {
		checks_add(&d->checks, CHECK_OK, NULL, "work dir", "%s",
			ret->host.workdir.real);
		return true;
	}
	if (e.code == SBX_E_NOT_INSTALLED) { /* --bwrap; no other directory helps */
		checks_add_error(&d->checks, CHECK_FAIL, NULL, "bwrap", &e);
		return false;
	}
	checks_add_error(&d->checks, CHECK_FAIL, NULL, "work dir", &e);
	d->scratch = sbx_xstrdup("/var/tmp/sbx-doctor-XXXXXX");
	if (mkdtemp(d->scratch) == NULL) {
		free(SBX_TAKE_PTR(d->scratch));
		return false;
	}
	d->tried.policy.workdir = d->scratch;
	d->tried.policy.n_binds = 0;
	if (prepare(ret, &d->tried, generic, &e) == 0)
		return true;
	checks_add_error(&d->checks, CHECK_FAIL, NULL, "any dir", &e);
	return false;
}

/* Before root becomes somebody else, as 'sbx run' does it. */
static void check_cgroup(struct doctor *d)
{
	const struct sbx_policy wanted = { .memory = 1ULL << 40, .pids = 1 << 20 };
	struct sbx_cgroup group = SBX_CGROUP_NONE;
	struct sbx_plan plan = { 0 };
	struct sbx_error e = { 0 };

	sbx_cgroup_add(&plan, &wanted);
	if (sbx_cgroup_make(&group, &plan, &e) < 0)
		checks_add_error(&d->checks, CHECK_WARN, NULL, "cgroup", &e);
	else
		checks_add(&d->checks, CHECK_OK, NULL, "cgroup",
			"--memory and --pids-limit can be had: %s was made and removed",
			group.path);
	sbx_cgroup_end(&group, CGROUP_MS);
	sbx_plan_done(&plan);
}

static void check_bwrap(struct doctor *d, const struct prepared *p)
{
	const struct sbx_bwrap *b = &p->host.bwrap;
	SBX_CLEANUP_FREE char *version = NULL;
	struct check *c;

	if (b->path == NULL) {
		c = checks_add(&d->checks, CHECK_FAIL, NULL, "bwrap",
			"bubblewrap was not found in PATH");
		c->code = sbx_error_code_name(SBX_E_NOT_INSTALLED);
		c->remedy = sbx_xstrdup("install it: apt-get install bubblewrap");
		return;
	}
	/* Not asked for its options: the launch refuses it, and says why. */
	if (b->options.n == 0)
		return;
	if (sbx_subprocess_output((char *const[]){ b->path, (char *)"--version", NULL },
		    VERSION_MS, 128, &version) != 0) {
		c = checks_add(&d->checks, CHECK_FAIL, NULL, "bwrap",
			"%s does not tell its version", b->path);
		c->code = sbx_error_code_name(SBX_E_NOTHING_RAN);
		c->remedy = sbx_xasprintf(
			"check that it is the real bubblewrap: %s --version", b->path);
		return;
	}
	version[strcspn(version, "\n")] = '\0';
	c = checks_add(&d->checks, b->uid == 0 ? CHECK_OK : CHECK_WARN, NULL, "bwrap",
		"%s (%s), mode %04o, owner uid %u, %zu options", b->path, version,
		(unsigned)b->mode & 07777, (unsigned)b->uid, b->options.n);
	if (b->uid != 0)
		c->remedy =
			sbx_xstrdup("a bwrap of root's cannot be changed by what runs as "
				    "you: apt-get install bubblewrap");
}

/* The value after "Name:\t" in a status file, as a number in the given base; -1: not there. */
static long long status_value(const char *status, const char *name, int base)
{
	SBX_CLEANUP_FREE char *key = sbx_xasprintf("\n%s:\t", name);
	const char *line = strstr(status, key);

	return line ? strtoll(line + strlen(key), NULL, base) : -1;
}

static void check_landlock(struct doctor *d, int abi)
{
	struct check *c;

	if (abi > 0) {
		checks_add(&d->checks, CHECK_OK, NULL, "landlock",
			"in force inside, ABI %d: no signal and no abstract socket leaves",
			abi);
		return;
	}
	c = checks_add(&d->checks, CHECK_WARN, NULL, "landlock",
		"this kernel has no landlock scopes: with the network on, abstract sockets of "
		"the host (D-Bus, X11) can be reached from inside");
	c->remedy = sbx_xstrdup("--net off, or Linux 6.12");
}

/* What the kernel says about a process inside. */
static void check_inside(struct doctor *d, const struct prepared *p)
{
	static const struct {
		const char *name, *key;
		int base;
		long long want;
		const char *good;
	} rows[] = {
		{ "seccomp", "Seccomp", 10, 2, "the filter is in force inside" },
		{ "privileges", "NoNewPrivs", 10, 1,
			"none can be gained inside by executing a setuid file" },
		{ "capabilities", "CapEff", 16, 0, "none inside" },
	};
	char *const cmd[] = { (char *)"/bin/cat", (char *)"/proc/self/status", NULL };
	char status[INSIDE_MAX];
	struct sbx_error e = { 0 };
	struct sbx_exit x = { 0 };

	if (inside_run(p, &d->tried, cmd, INSIDE_MS, status, &x, &e) < 0) {
		checks_add_error(&d->checks, CHECK_FAIL, NULL, "inside", &e);
		return;
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		long long v = status_value(status, rows[i].key, rows[i].base);

		if (v == rows[i].want)
			checks_add(&d->checks, CHECK_OK, NULL, rows[i].name, "%s",
				rows[i].good);
		else
			checks_add(&d->checks, CHECK_FAIL, NULL, rows[i].name,
				"not in force: %s of a process inside is %lld, not %lld",
				rows[i].key, v, rows[i].want);
	}
	check_landlock(d, x.landlock);
}

static void check_sandbox(struct doctor *d, const struct prepared *p)
{
	struct sbx_launch_opts lo = prepare_launch_opts(&d->tried);
	struct sbx_error e = { 0 };

	if (sbx_avail_check(&p->plan, &p->host, &lo, &e) < 0) {
		checks_add_error(&d->checks, CHECK_FAIL, NULL, "sandbox", &e);
		checks_add(&d->checks, CHECK_SKIP, NULL, "inside",
			"seccomp, capabilities and landlock are not tried without a sandbox");
		return;
	}
	d->sandbox = true;
	checks_add(&d->checks, CHECK_OK, NULL, "sandbox",
		"made as 'sbx run' makes it (profile %s, fs %s, net %s), and a command ran in "
		"it",
		sbx_profile_name(p->policy.profile), sbx_fs_name(p->policy.fs),
		sbx_net_name(sbx_policy_net(&p->policy)));
	check_inside(d, p);
}

/* ---- agents ---- */

/* By name only: whether it is there, never what is in it. */
static void check_state(struct doctor *d, const struct prepared *p)
{
	const struct sbx_agent *a = p->agent;
	SBX_CLEANUP_FREE char *config = NULL, *login = NULL;
	struct check *c;

	for (const struct sbx_agent_path *row = a->paths; row->path; row++) {
		SBX_CLEANUP_FREE char *path = sbx_path_join(
			row->path[0] == '/' ? "/" : p->host.home, row->path);

		if (sbx_host_fact(&p->host, path)->target == SBX_FT_ABSENT)
			continue;
		checks_list(
			row->mode == SBX_PATH_CREDENTIAL ? &login : &config, row->path);
	}
	for (size_t i = 0; a->env[i]; i++)
		if (sbx_env_get(p->host.environ.v, a->env[i]))
			checks_list(&login, a->env[i]);
	checks_add(&d->checks, CHECK_OK, a->name, "config", "%s",
		config ? config : "none yet");
	if (p->policy.profile == SBX_PROFILE_STRICT) {
		checks_add(&d->checks, CHECK_OK, a->name, "login",
			"never shown in the profile strict");
	} else if (login) {
		checks_add(&d->checks, CHECK_OK, a->name, "login", "found: %s", login);
	} else {
		c = checks_add(&d->checks, CHECK_WARN, a->name, "login",
			"neither a login nor a key was found");
		c->remedy = sbx_xasprintf("log in once without sbx: %s%s%s", a->command,
			a->env[0] ? "; or set " : "", a->env[0] ? a->env[0] : "");
	}
}

/* Is what was found outside there inside, and may it be executed? */
static void check_program_inside(struct doctor *d, const struct prepared *p)
{
	char *const cmd[] = { (char *)"/bin/sh", (char *)"-c",
		(char *)"command -v -- \"$0\" && test -x \"$(command -v -- \"$0\")\"",
		p->command.v[0], NULL };
	char out[INSIDE_MAX];
	struct sbx_error e = { 0 };
	struct sbx_exit x;

	if (!d->sandbox) {
		checks_add(&d->checks, CHECK_SKIP, p->agent->name, "inside",
			"not tried without a sandbox");
	} else if (inside_run(p, &d->tried, cmd, INSIDE_MS, out, &x, &e) < 0) {
		checks_add_error(&d->checks, CHECK_FAIL, p->agent->name, "inside", &e);
	} else {
		out[strcspn(out, "\n")] = '\0';
		checks_add(&d->checks, x.code == 0 ? CHECK_OK : CHECK_FAIL,
			p->agent->name, "inside",
			x.code == 0 ? "%s is there and may be executed"
				    : "%s is not there, or may not be executed",
			x.code == 0 ? out : p->command.v[0]);
	}
}

static void check_program(struct doctor *d, const struct prepared *p)
{
	SBX_CLEANUP_FREE char *trees = NULL;

	for (size_t i = 0; i < p->host.n_needs; i++)
		if (p->host.needs[i].link == NULL)
			checks_list(&trees, p->host.needs[i].path);
	checks_add(&d->checks, CHECK_OK, p->agent->name, "program", "%s%s%s",
		p->command.v[0], trees ? "; shown for it: " : "", trees ? trees : "");
	if (!p->agent->verified)
		checks_add(&d->checks, CHECK_WARN, p->agent->name, "row",
			"unverified: from public documentation, never run by us");
	check_program_inside(d, p);
	check_state(d, p);
}

static void check_agent(struct doctor *d, const struct sbx_agent *agent, bool named)
{
	struct sbx_error e = { 0 };
	struct prepared p;

	if (agent->command == NULL)
		return;
	if (prepare(&p, &d->tried, agent, &e) < 0) {
		/* Not to have all of them is normal. */
		if (named || e.code != SBX_E_PROGRAM_MISSING || e.err != ENOENT)
			checks_add_error(
				&d->checks, CHECK_FAIL, agent->name, "program", &e);
		sbx_error_done(&e);
		return;
	}
	check_program(d, &p);
	prepared_done(&p);
}

static void check_agents(struct doctor *d)
{
	size_t n, before = d->checks.n;
	const struct sbx_agent *agents = sbx_agents(&n);

	for (int i = 0; i < d->o->n_words; i++)
		check_agent(d, sbx_agent_find(d->o->words[i]), true);
	for (size_t i = 0; d->o->n_words == 0 && i < n; i++)
		check_agent(d, &agents[i], false);
	if (d->o->n_words == 0 && d->checks.n == before)
		checks_add(&d->checks, CHECK_WARN, NULL, "agents",
			"none of the known agents is in PATH");
}

/* ---- the command ---- */

static void examine(struct doctor *d)
{
	struct prepared p;

	check_cgroup(d);
	if (!check_user(d))
		return;
	if (check_workdir(d, &p)) {
		check_bwrap(d, &p);
		check_sandbox(d, &p);
		prepared_done(&p);
		check_agents(d);
	}
	if (d->scratch)
		rmdir(d->scratch);
}

int cmd_doctor(const struct options *o)
{
	struct doctor d = { .o = o, .tried = *o };
	struct sbx_error e = { 0 };
	int status;

	if (checks_words(o, &e) < 0)
		return cli_complain(&e);
	examine(&d);
	if (o->format == FORMAT_JSON)
		checks_print_json(&d.checks);
	else
		checks_print_text(&d.checks);
	status = checks_failed(&d.checks) ? EXIT_MISSING : EXIT_FINE;
	checks_done(&d.checks);
	free(d.scratch);
	return cli_finish_output() == EXIT_FINE ? status : EXIT_OWN;
}
