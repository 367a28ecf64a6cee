#include "cgroup.h"

#include "cgroup_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PREFIX "sbx-"
/* What was killed is gone within milliseconds; this is for a machine without memory. */
#define PATIENCE_MS 10000

void sbx_cgroup_add(struct sbx_plan *plan, const struct sbx_policy *p)
{
	char value[24];

	if (p->memory) {
		snprintf(value, sizeof(value), "%llu", p->memory);
		sbx_plan_add(plan, SBX_OP_CGROUP, value, "memory.max",
			"all memory of the sandbox together, its private /tmp and HOME included");
		sbx_plan_add(plan, SBX_OP_CGROUP, "0", "memory.swap.max",
			"what does not fit is not swapped out instead");
		sbx_plan_add(plan, SBX_OP_CGROUP, "1", "memory.oom.group",
			"when it does not fit the sandbox ends as a whole");
	}
	if (p->pids) {
		snprintf(value, sizeof(value), "%llu", p->pids);
		sbx_plan_add(plan, SBX_OP_CGROUP, value, "pids.max",
			"processes and threads of the sandbox, pid 1 and bwrap included");
	}
}

/* "memory pids"; "": nothing is asked for. Owned. */
static char *controllers_of(const struct sbx_plan *plan)
{
	char *words = sbx_xstrdup("");

	for (size_t i = 0; i < plan->n; i++) {
		SBX_CLEANUP_FREE char *word = NULL;
		char *longer;

		if (plan->ops[i].kind != SBX_OP_CGROUP)
			continue;
		word = sbx_xasprintf(
			"%.*s", (int)strcspn(plan->ops[i].dst, "."), plan->ops[i].dst);
		if (sbx_cgroup_has(words, word))
			continue;
		longer = sbx_xasprintf("%s%s%s", words, *words ? " " : "", word);
		free(words);
		words = longer;
	}
	return words;
}

static int cannot(struct sbx_error *e, enum sbx_cgroup_why why, const char *wanted)
{
	static const char *const words[] = {
		[SBX_CGROUP_NO_MOUNT] = "no cgroup v2 that this process is in is mounted",
		[SBX_CGROUP_NO_CONTROLLER] =
			"the cgroup of this process does not have these controllers",
		[SBX_CGROUP_NO_RIGHT] =
			"this user may change no cgroup at or above this process's own",
		[SBX_CGROUP_BUSY] =
			"they cannot be enabled in the cgroup of this process",
	};
	struct sbx_cgroup_machine m;
	int r = sbx_error_set(e, SBX_E_CGROUP, EPERM, "no limit by cgroup (%s): %s",
		wanted, words[why]);

	sbx_cgroup_look(&m, wanted);
	sbx_error_remedy(e, "%s", sbx_cgroup_remedy(why, &m));
	return r;
}

/* ---- the helper that removes it ---- */

/* Its descriptors 0, 1 and 2: the leash, the group above, the group. Only system calls: it comes
 * from a process that may have threads. */
static _Noreturn void keep(const int fds[3], const char *name)
{
	struct pollfd p = { .events = POLLPRI };
	char text[256];
	sigset_t all;
	int kill_fd;
	ssize_t n;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid(); /* what ends the runner's job is not for it */
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			_exit(1);
	syscall(SYS_close_range, 3U, ~0U, 0U);
	if (chdir("/") < 0)
		_exit(1);
	do
		n = read(0, text, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	kill_fd = openat(2, "cgroup.kill", O_WRONLY | O_CLOEXEC); /* Linux 5.14 */
	if (kill_fd >= 0 && write(kill_fd, "1", 1) < 0)
		_exit(1);
	p.fd = openat(2, "cgroup.events", O_RDONLY | O_CLOEXEC);
	/* Reading arms the poll: what changes between the two ends it at once. */
	while (pread(p.fd, text, sizeof(text), 0) > 0 &&
		unlinkat(1, name, AT_REMOVEDIR) < 0 && errno == EBUSY)
		poll(&p, 1, PATIENCE_MS);
	_exit(0);
}

static int start_keeper(
	struct sbx_cgroup *g, int above, int dir, const char *name, struct sbx_error *e)
{
	int leash[2], r = sbx_pipe(leash);

	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r));
	g->keeper = fork();
	if (g->keeper == 0)
		keep((const int[3]){ leash[0], above, dir }, name);
	r = errno;
	close(leash[0]);
	g->leash = leash[1];
	if (g->keeper < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, r, "fork: %s", strerror(r));
	return 0;
}

/* ---- making it ---- */

/* Where a runner and its helper have been killed, an empty one stays; nobody enters it any more. */
static void sweep(int above)
{
	int copy = fcntl(above, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (d == NULL) {
		sbx_close_fd(&copy);
		return;
	}
	while ((entry = readdir(d))) {
		char *end;
		long pid;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		pid = strtol(entry->d_name + strlen(PREFIX), &end, 10);
		if (pid > 0 && *end == '-' && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			unlinkat(above, entry->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

/* Without swap there may be no file about it. */
static bool may_lack(const char *name)
{
	SBX_CLEANUP_FREE char *swaps = NULL;

	return strcmp(name, "memory.swap.max") == 0 &&
	       (sbx_read_file("/proc/swaps", 65536, &swaps, NULL) < 0 ||
		       strchr(swaps, '\n') == NULL || strchr(swaps, '\n')[1] == '\0');
}

static int write_value(int dir, const struct sbx_op *op, struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd = openat(dir, op->dst, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sbx_write_all(fd, op->src, strlen(op->src));

	if (r == 0 || (r == -ENOENT && may_lack(op->dst)))
		return 0;
	return sbx_error_set(e, SBX_E_CGROUP, -r, "cgroup: %s cannot be set to %s: %s",
		op->dst, op->src, strerror(-r));
}

static int fill(
	struct sbx_cgroup *g, int dir, const struct sbx_plan *plan, struct sbx_error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n; i++)
		if (plan->ops[i].kind == SBX_OP_CGROUP)
			r = write_value(dir, &plan->ops[i], e);
	if (r < 0)
		return r;
	g->events = sbx_fd_high(openat(dir, "memory.events", O_RDONLY | O_CLOEXEC));
	g->procs = sbx_fd_high(openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC));
	if (g->procs < 0)
		return sbx_error_set(
			e, SBX_E_CGROUP, errno, "cgroup: %s/cgroup.procs: %m", g->path);
	return 0;
}

static int make_in(struct sbx_cgroup *g, const char *parent, const struct sbx_plan *plan,
	struct sbx_error *e)
{
	SBX_CLEANUP_FD int above = sbx_fd_high(
		open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	SBX_CLEANUP_FREE char *name = NULL;
	SBX_CLEANUP_FD int dir = -1;
	unsigned nonce = 0;
	int r;

	if (above < 0 || getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return sbx_error_set(e, SBX_E_CGROUP, errno, "cgroup: %s: %m", parent);
	sweep(above);
	name = sbx_xasprintf(PREFIX "%d-%08x", (int)getpid(), nonce);
	g->path = sbx_xasprintf("%s/%s", parent, name);
	if (mkdirat(above, name, 0755) < 0)
		return sbx_error_set(e, SBX_E_CGROUP, errno, "cgroup: %s: %m", g->path);
	dir = sbx_fd_high(
		openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	r = dir < 0 ? sbx_error_set(e, SBX_E_CGROUP, errno, "cgroup: %s: %m", g->path)
		    : start_keeper(g, above, dir, name, e);
	if (r < 0)
		unlinkat(above, name, AT_REMOVEDIR);
	return r < 0 ? r : fill(g, dir, plan, e);
}

int sbx_cgroup_make(
	struct sbx_cgroup *ret, const struct sbx_plan *plan, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *wanted = controllers_of(plan), *parent = NULL;
	struct sbx_cgroup g = SBX_CGROUP_NONE;
	enum sbx_cgroup_why why;
	int r = 0;

	if (*wanted) {
		why = sbx_cgroup_find(&parent, wanted);
		r = why == SBX_CGROUP_FOUND ? make_in(&g, parent, plan, e)
					    : cannot(e, why, wanted);
	}
	if (r < 0)
		sbx_cgroup_end(&g, PATIENCE_MS);
	else
		*ret = g;
	return r;
}

int sbx_cgroup_enter(const struct sbx_cgroup *g)
{
	return write(g->procs, "0", 1) == 1 ? 0 : -errno;
}

bool sbx_cgroup_starved(const struct sbx_cgroup *g)
{
	char text[512];
	ssize_t n = g->events < 0 ? -1 : pread(g->events, text, sizeof(text) - 1, 0);
	const char *line;

	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "\noom_kill ");
	return line && strtoll(line + strlen("\noom_kill "), NULL, 10) > 0;
}

void sbx_cgroup_end(struct sbx_cgroup *g, int timeout_ms)
{
	sbx_close_fd(&g->procs);
	sbx_close_fd(&g->events);
	sbx_close_fd(&g->leash);
	if (g->keeper > 0) {
		SBX_CLEANUP_FD int fd = pidfd_open(g->keeper, 0);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		/* ECHILD: the caller ignores SIGCHLD. */
		if (fd >= 0 && poll(&p, 1, timeout_ms) > 0)
			waitpid(g->keeper, NULL, 0);
	}
	free(g->path);
	*g = SBX_CGROUP_NONE;
}
