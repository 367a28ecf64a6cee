#include "avail.h"

#include "argv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define ANSWER_MS 10000

struct cause {
	const char *words; /* part of what bwrap prints */
	enum sbx_code code;
};

/* First match wins. The words are bwrap's, from 0.4 to 0.12. */
static const struct cause causes[] = {
	{ "Unknown option", SBX_E_TOO_OLD },
	{ "Can't mount proc", SBX_E_PROC_MOUNT },
	{ "mount proc on", SBX_E_PROC_MOUNT },
	{ "max_*_namespaces exceeded", SBX_E_USERNS_DISABLED },
	{ "RTM_NEWADDR", SBX_E_USERNS_RESTRICTED },
	{ "setting up uid map", SBX_E_USERNS_RESTRICTED },
	{ "Failed to make / slave", SBX_E_USERNS_RESTRICTED },
	{ "No permissions to create", SBX_E_USERNS_DISABLED },
	{ "Creating new namespace failed", SBX_E_USERNS_DISABLED },
};

static int read_int(const char *path)
{
	SBX_CLEANUP_FREE char *text = NULL;

	if (sbx_read_file(path, 64, &text, NULL) < 0)
		return -1;
	return (int)strtol(text, NULL, 10);
}

void sbx_avail_read_sysctls(struct sbx_sysctls *ret)
{
	SBX_CLEANUP_FREE char *status = NULL;
	const char *line = NULL;

	*ret = (struct sbx_sysctls){
		.max_user_namespaces = read_int("/proc/sys/user/max_user_namespaces"),
		.unprivileged_userns =
			read_int("/proc/sys/kernel/unprivileged_userns_clone"),
		.apparmor_restrict = read_int(
			"/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		.seccomp_mode = -1,
	};
	if (sbx_read_file("/proc/self/status", 16384, &status, NULL) == 0)
		line = strstr(status, "\nSeccomp:");
	if (line)
		ret->seccomp_mode = (int)strtol(line + strlen("\nSeccomp:"), NULL, 10);
}

/* Which of the three ways to be without user namespaces it is. */
static enum sbx_code refine(enum sbx_code code, const struct sbx_sysctls *s)
{
	if (code != SBX_E_USERNS_DISABLED && code != SBX_E_USERNS_RESTRICTED)
		return code;
	if (s->max_user_namespaces == 0 || s->unprivileged_userns == 0)
		return SBX_E_USERNS_DISABLED;
	if (s->apparmor_restrict == 1)
		return SBX_E_USERNS_RESTRICTED;
	return s->seccomp_mode > 0 ? SBX_E_OUTER_SECCOMP : code;
}

static void add_remedy(
	enum sbx_code code, const struct sbx_sysctls *s, struct sbx_error *e)
{
	switch (code) {
	case SBX_E_TOO_OLD:
		sbx_error_remedy(
			e, "install bubblewrap 0.8.0 or newer (Debian 12 has it)");
		break;
	case SBX_E_USERNS_DISABLED:
		if (s->unprivileged_userns == 0)
			sbx_error_remedy(e,
				"as root: sysctl -w kernel.unprivileged_userns_clone=1");
		else if (s->max_user_namespaces == 0)
			sbx_error_remedy(
				e, "as root: sysctl -w user.max_user_namespaces=15000");
		else
			sbx_error_remedy(e,
				"user namespaces are used up or switched off here; "
				"in a container, ask its owner to allow nesting");
		break;
	case SBX_E_USERNS_RESTRICTED:
		sbx_error_remedy(e,
			"allow user namespaces for bwrap alone: as root, an AppArmor "
			"profile for its path with the rule 'userns,' (Ubuntu: "
			"apparmor-profiles, bwrap-userns-restrict)");
		break;
	case SBX_E_PROC_MOUNT:
		sbx_error_remedy(e,
			"this looks like a nested container whose /proc is masked; "
			"run it outside, or start the container with an unmasked /proc");
		break;
	case SBX_E_OUTER_SECCOMP:
		sbx_error_remedy(e,
			"the seccomp filter of the surrounding container forbids "
			"namespaces; run it outside, or relax that filter");
		break;
	default:
		sbx_error_remedy(e, "run the command of the report by hand to see more");
	}
}

enum sbx_code sbx_avail_classify(
	const char *words, const struct sbx_sysctls *s, struct sbx_error *e)
{
	enum sbx_code code = SBX_E_BWRAP_FAILED;
	int len = (int)strcspn(words, "\n");

	for (size_t i = 0; i < SBX_ARRAY_SIZE(causes); i++)
		if (strstr(words, causes[i].words)) {
			code = causes[i].code;
			break;
		}
	code = refine(code, s);
	sbx_error_set(e, code, EPERM, "bwrap cannot make the sandbox: %.*s",
		len ? len : (int)strlen("(it said nothing)"),
		len ? words : "(it said nothing)");
	add_remedy(code, s, e);
	return code;
}

/* An option that the plan uses and --help does not list. */
static int check_options(
	const struct sbx_plan *plan, const struct sbx_host *h, struct sbx_error *e)
{
	static const char *const needed[] = { "--args", "--json-status-fd", "--seccomp",
		"--bind", "--ro-bind", "--tmpfs", "--symlink", "--proc", "--dev",
		"--file", "--perms", "--chdir", "--remount-ro" };
	const char *missing = NULL;

	if (h->bwrap.options.n == 0)
		return 0; /* it would not say; running it decides */
	for (size_t i = 0; i < SBX_ARRAY_SIZE(needed); i++)
		if (!sbx_host_has_option(h, needed[i]))
			missing = needed[i];
	for (size_t i = 0; i < plan->n; i++)
		if ((plan->ops[i].kind == SBX_OP_FLAG ||
			    plan->ops[i].kind == SBX_OP_OPTION) &&
			!sbx_host_has_option(h, plan->ops[i].dst))
			missing = plan->ops[i].dst;
	if (missing == NULL)
		return 0;
	sbx_error_set(e, SBX_E_TOO_OLD, ENOSYS, "%s does not know the option %s",
		h->bwrap.path, missing);
	sbx_error_remedy(e, "install bubblewrap 0.8.0 or newer (Debian 12 has it)");
	return -ENOSYS;
}

/* Reads both pipes until both ends (true) or the deadline (false). */
static bool gather(const int fds[2], char bufs[2][1024])
{
	long long deadline = sbx_now_ms() + ANSWER_MS;
	struct pollfd p[2] = { { .fd = fds[0], .events = POLLIN },
		{ .fd = fds[1], .events = POLLIN } };
	size_t len[2] = { 0, 0 };

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		long long left = deadline - sbx_now_ms();

		if (left <= 0 || poll(p, 2, (int)left) <= 0)
			break;
		for (int i = 0; i < 2; i++) {
			char spill[256];
			size_t room = sizeof(bufs[i]) - 1 - len[i];
			ssize_t n;

			if (p[i].fd < 0 || p[i].revents == 0)
				continue;
			n = read(p[i].fd, room ? bufs[i] + len[i] : spill,
				room ? room : sizeof(spill));
			if (n <= 0)
				p[i].fd = -1;
			else if (room)
				len[i] += (size_t)n;
		}
	}
	for (int i = 0; i < 2; i++)
		bufs[i][len[i]] = '\0';
	return p[0].fd < 0 && p[1].fd < 0;
}

static int explain(const struct sbx_exit *x, const char *said, const struct sbx_host *h,
	struct sbx_error *e)
{
	struct sbx_sysctls s;

	if (x->how == SBX_HOW_TIMEOUT) {
		sbx_error_set(e, SBX_E_TIMEOUT, ETIMEDOUT,
			"%s did not answer within %d s", h->bwrap.path, ANSWER_MS / 1000);
		sbx_error_remedy(e, "check that it is the real bubblewrap: %s --version",
			h->bwrap.path);
		return -ETIMEDOUT;
	}
	if (x->how == SBX_HOW_KILLED) {
		sbx_error_set(e, SBX_E_BWRAP_FAILED, EIO, "%s was killed by signal %d",
			h->bwrap.path, x->code);
		sbx_error_remedy(e,
			"look in the system log for who killed it (memory, a security "
			"module)");
		return -EIO;
	}
	if (x->how == SBX_HOW_NOT_EXECUTED) {
		sbx_error_set(e, SBX_E_NOTHING_RAN, x->code,
			"the sandbox can be made, but /bin/sh cannot be executed inside: %s",
			strerror(x->code));
		sbx_error_remedy(
			e, "check that /usr holds a whole system: ls -l /bin/sh");
		return -EIO;
	}
	if (x->how == SBX_HOW_UNHELD) {
		sbx_error_set(e, SBX_E_NOTHING_RAN, x->code,
			"the kernel has landlock, but refuses the domain: %s",
			strerror(x->code));
		sbx_error_remedy(e,
			"look for a seccomp filter around this program (a container's) that "
			"forbids landlock_add_rule or landlock_restrict_self");
		return -EPERM;
	}
	if (x->how == SBX_HOW_UNLIMITED) {
		sbx_error_set(e, SBX_E_LIMIT, x->code,
			"a limit cannot be set inside the sandbox, so that nothing ran in it: %s",
			strerror(x->code));
		sbx_error_remedy(e,
			"leave out one --limit after the other; look for a security module or "
			"a seccomp filter around this program that forbids setrlimit");
		return -EPERM;
	}
	if (x->how == SBX_HOW_EXITED || x->code == 0) {
		sbx_error_set(e, SBX_E_NOTHING_RAN, EIO,
			"%s reported success, but the command inside did not run",
			h->bwrap.path);
		sbx_error_remedy(e, "check that it is the real bubblewrap: %s --version",
			h->bwrap.path);
		return -EIO;
	}
	sbx_avail_read_sysctls(&s);
	sbx_avail_classify(said, &s, e);
	return -EPERM;
}

static int try_it(const struct sbx_plan *plan, const struct sbx_host *h,
	const struct sbx_launch_opts *given, struct sbx_error *e)
{
	char *const cmd[] = { (char *)"/bin/sh", (char *)"-c",
		(char *)"read x && echo \"$x\"", NULL };
	SBX_CLEANUP_FD int in = -1, out = -1, err = -1;
	char bufs[2][1024], nonce[64];
	struct sbx_launch_opts opts = *given;
	struct sbx_launch l;
	struct sbx_exit x;
	unsigned long long rnd;
	int po[2], pe[2], r;
	bool ended;

	if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd))
		return sbx_error_set(e, SBX_E_SYSTEM, errno, "getrandom: %m");
	snprintf(nonce, sizeof(nonce), "sbx-%016llx\n", rnd);
	in = sbx_memfd("sbx-nonce", nonce, strlen(nonce));
	r = in < 0 ? in : sbx_pipe(po);
	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r));
	out = po[0];
	r = sbx_pipe(pe);
	if (r < 0) {
		close(po[1]);
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r));
	}
	err = pe[0];
	opts.in = in;
	opts.out = po[1];
	opts.err = pe[1];
	r = sbx_launch_start(&l, plan, h, cmd, &opts, e);
	close(po[1]);
	close(pe[1]);
	if (r < 0)
		return r;
	ended = gather((int[2]){ out, err }, bufs);
	r = sbx_launch_wait(&l, ended ? ANSWER_MS : 1, &x);
	sbx_launch_done(&l);
	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "wait: %s", strerror(-r));
	if (x.how == SBX_HOW_EXITED && x.code == 0 && strcmp(bufs[0], nonce) == 0)
		return 0;
	return explain(&x, bufs[1], h, e);
}

int sbx_avail_check(const struct sbx_plan *plan, const struct sbx_host *h,
	const struct sbx_launch_opts *opts, struct sbx_error *e)
{
	static struct sbx_strv known; /* program and options of each success */
	struct sbx_argv a = { 0 };
	SBX_CLEANUP_FREE char *key = NULL;
	int r = h->bwrap.path ? check_options(plan, h, e) : 0;

	if (r < 0)
		return r;
	r = sbx_argv_render(&a, plan, NULL, e);
	if (r < 0)
		return r;
	key = sbx_xstrdup(h->bwrap.path ? h->bwrap.path : "");
	for (size_t i = 0; i < a.args.n; i++) {
		char *longer = sbx_xasprintf("%s\n%s", key, a.args.v[i]);

		free(key);
		key = longer;
	}
	sbx_argv_done(&a);
	if (sbx_strv_contains(&known, key))
		return 0;
	r = try_it(plan, h, opts, e);
	if (r == 0)
		sbx_strv_add(&known, key);
	return r;
}
