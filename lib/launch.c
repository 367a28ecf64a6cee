#include "launch.h"

#include "child.h"
#include "clone.h"
#include "filter.h"
#include "init.h"
#include "mountns.h"
#include "reserved.h"
#include "resources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The last process inside dies a millisecond after the monitor; more than this is a leak. */
#define GRACE_MS 3000
#define KILL_MS 5000

static int fork_child(struct sbx_launch *l, struct sbx_child *c, struct sbx_error *e)
{
	bool outside = false;
	sigset_t mask;
	int r = 0;

	/* cppcheck-suppress autoVariables ; the child is done with it before we return */
	c->failed = &r;
	/* cppcheck-suppress autoVariables ; likewise */
	c->outside = &outside;
	/* cppcheck-suppress autoVariables ; likewise */
	c->mask = &mask;
	c->private_mounts = &l->private_mounts;
	c->parent = getpid();
	l->pid = sbx_clone(sbx_child_main, c, &mask);
	if (l->pid < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, errno, "clone: %m");
	if (outside) {
		waitpid(l->pid, NULL, 0);
		return sbx_error_set(e, SBX_E_CGROUP, -r,
			"cgroup: %s cannot be entered: %s", c->cgroup->path,
			strerror(-r));
	}
	if (r < 0) {
		waitpid(l->pid, NULL, 0);
		return sbx_error_set(e, r == -ENOENT ? SBX_E_NOT_INSTALLED : SBX_E_SYSTEM,
			-r, "%s: cannot be started: %s", c->bwrap, strerror(-r));
	}
	l->pidfd = sbx_fd_high(pidfd_open(l->pid, 0));
	if (l->pidfd < 0) {
		r = errno;
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
		return sbx_error_set(e, SBX_E_SYSTEM, r, "pidfd_open: %s", strerror(r));
	}
	return 0;
}

/* The pipes between the runner, bwrap and pid 1; [0] to read, [1] to write. */
struct wires {
	int status[2]; /* bwrap's report */
	int said[2]; /* pid 1's */
	int control[2]; /* to pid 1; a socket, for MSG_NOSIGNAL */
	int keeper; /* for pid 1 to the keeper, or -1 */
};

static void close_wires(struct wires *w)
{
	for (int i = 0; i < 2; i++) {
		sbx_close_fd(&w->status[i]);
		sbx_close_fd(&w->said[i]);
		sbx_close_fd(&w->control[i]);
	}
}

static int open_wires(struct wires *w, struct sbx_error *e)
{
	int r = sbx_pipe(w->status);

	if (r == 0)
		r = sbx_pipe(w->said);
	if (r == 0)
		r = sbx_socketpair(w->control);
	if (r == 0 && (fcntl(w->status[0], F_SETFL, O_NONBLOCK) < 0 ||
			      fcntl(w->said[0], F_SETFL, O_NONBLOCK) < 0))
		r = -errno;
	return r < 0 ? sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r)) : 0;
}

static void command_line(struct sbx_strv *argv, const char *bwrap, int args_fd,
	int image_fd, const struct wires *w, const struct sbx_plan *plan,
	char *const cmd[], const struct sbx_launch_opts *opts)
{
	unsigned skip = opts->skip_steps;

	sbx_strv_add(argv, bwrap);
	sbx_strv_add(argv, "--args");
	sbx_strv_addf(argv, "%d", args_fd);
	if (!(skip & SBX_STEP_SEPARATOR))
		sbx_strv_add(argv, "--");
	if (!(skip & SBX_STEP_INIT))
		sbx_init_words(argv,
			&(struct sbx_init_fds){ .image = image_fd,
				.control = w->control[0],
				.status = w->said[1],
				.keeper = w->keeper,
				.command = { opts->command[0], opts->command[1],
					opts->command[2] } },
			plan, skip / SBX_STEP_INIT_HIDE);
	for (; *cmd; cmd++)
		sbx_strv_add(argv, *cmd);
}

/* bubblewrap.c, MAX_ARGS: of its command line and of what --args names together. */
#define BWRAP_WORDS_MAX 9000

static int check_words(size_t words, size_t options, struct sbx_error *e)
{
	int r;

	if (words + options <= BWRAP_WORDS_MAX)
		return 0;
	r = sbx_error_set(e, SBX_E_USAGE, E2BIG,
		"the command has %zu words too many: bubblewrap takes %d, its own options "
		"included",
		words + options - BWRAP_WORDS_MAX, BWRAP_WORDS_MAX);
	sbx_error_remedy(
		e, "give it them in a file or on standard input, or in parts (xargs -n)");
	return r;
}

static int start_wired(struct sbx_launch *l, struct sbx_argv *a,
	const struct sbx_resources *res, const struct sbx_plan *plan,
	const struct sbx_host *h, char *const cmd[], const struct sbx_launch_opts *opts,
	const struct wires *w, struct sbx_error *e)
{
	SBX_CLEANUP_FD int args_fd = -1, image_fd = sbx_init_memfd();
	SBX_CLEANUP_FREE char *packed = NULL;
	struct sbx_strv argv = { 0 };
	size_t len;
	int r;

	sbx_strv_add(&a->args, "--json-status-fd");
	sbx_strv_addf(&a->args, "%d", w->status[1]);
	packed = sbx_argv_pack(a, &len);
	args_fd = sbx_memfd("sbx-args", packed, len);
	if (args_fd < 0 || image_fd < 0) {
		r = args_fd < 0 ? -args_fd : -image_fd;
		return sbx_error_set(e, SBX_E_SYSTEM, r, "memfd: %s", strerror(r));
	}
	command_line(&argv, h->bwrap.path, args_fd, image_fd, w, plan, cmd, opts);
	r = check_words(argv.n, a->args.n, e);
	if (r < 0) {
		sbx_strv_done(&argv);
		return r;
	}
	r = fork_child(l,
		&(struct sbx_child){
			.opts = opts,
			.bwrap = h->bwrap.path,
			.argv = argv.v,
			.envp = opts->skip_steps & SBX_STEP_ENV ? h->environ.v : a->env.v,
			.res = res,
			.cgroup = l->in ? l->in : &l->cgroup,
			.own_mounts = !(opts->skip_steps & SBX_STEP_MOUNTS) &&
				      sbx_mountns_available(),
			.fds = (const int[]){ args_fd, image_fd, w->status[1], w->said[1],
				w->control[0], w->keeper, -1 },
		},
		e);
	sbx_strv_done(&argv);
	return r;
}

static int start_rendered(struct sbx_launch *l, struct sbx_argv *a,
	const struct sbx_resources *res, const struct sbx_plan *plan,
	const struct sbx_host *h, char *const cmd[], const struct sbx_launch_opts *opts,
	struct sbx_error *e)
{
	struct wires w = { { -1, -1 }, { -1, -1 }, { -1, -1 }, l->keeper.sandbox };
	int r = open_wires(&w, e);

	if (r == 0)
		r = start_wired(l, a, res, plan, h, cmd, opts, &w, e);
	if (r == 0) {
		l->status_fd = SBX_TAKE_FD(w.status[0]);
		l->init_fd = SBX_TAKE_FD(w.said[0]);
		l->control_fd = SBX_TAKE_FD(w.control[1]);
	}
	close_wires(&w);
	return r;
}

/* A bwrap that the payload can write to is the payload's the next time; one that lies in the
 * work dir came with the project. */
static int check_not_writable(const struct sbx_host *h, struct sbx_error *e)
{
	const char *real = h->bwrap.real ? h->bwrap.real : h->bwrap.path;
	SBX_CLEANUP_FREE char *in = sbx_host_bwrap_exposed(h);
	int r;

	if (in) {
		r = sbx_error_set(e, SBX_E_BWRAP_WRITABLE, EPERM,
			"%s lies in %s, which agents write to: it may be one of theirs",
			real, in);
		sbx_error_remedy(e, "use the system's: apt-get install bubblewrap, and "
				    "/usr/bin early in PATH");
		return r;
	}
	if ((h->bwrap.mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	r = sbx_error_set(e, SBX_E_BWRAP_WRITABLE, EPERM,
		"%s may be changed by its group or by anybody (mode %04o)", real,
		(unsigned)h->bwrap.mode & 07777);
	sbx_error_remedy(e, "chmod go-w %s, after a look at what it is", real);
	return r;
}

static int check_allowed(
	const struct sbx_host *h, const struct sbx_launch_opts *opts, struct sbx_error *e)
{
	int r = 0;

	if (h->bwrap.path == NULL) {
		r = sbx_error_set(
			e, SBX_E_NOT_INSTALLED, ENOENT, "bwrap was not found in PATH");
		sbx_error_remedy(e, "install it: apt-get install bubblewrap");
	} else if (h->bwrap.mode & (S_ISUID | S_ISGID)) {
		r = sbx_error_set(e, SBX_E_SETUID_BWRAP, EPERM,
			"%s is setuid or setgid: its bugs would run with privileges",
			h->bwrap.path);
		sbx_error_remedy(e, "chmod ug-s %s; user namespaces make it unnecessary",
			h->bwrap.path);
	} else if (geteuid() == 0 && !opts->allow_root) {
		r = sbx_error_set(e, SBX_E_ROOT, EPERM,
			"refused as root: uid 0 inside is uid 0 of the host, and keeps too much");
		sbx_error_remedy(e, "run it as an ordinary user");
	} else {
		r = check_not_writable(h, e);
	}
	return r;
}

int sbx_launch_start(struct sbx_launch *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, char *const cmd[], const struct sbx_launch_opts *opts,
	struct sbx_error *e)
{
	struct sbx_launch l = SBX_LAUNCH_NONE;
	struct sbx_resources res = { 0 };
	struct sbx_argv a = { 0 };
	int r = check_allowed(h, opts, e);

	if (r == 0 && opts->cgroup == NULL)
		r = sbx_cgroup_make(&l.cgroup, plan, e);
	if (r < 0)
		return r;
	l.in = opts->cgroup;
	r = sbx_keeper_start(&l.keeper, plan, h, e);
	if (r < 0) {
		sbx_cgroup_end(&l.cgroup, KILL_MS);
		return r;
	}
	r = sbx_reserved_check(plan, h, e);
	if (r == 0)
		r = sbx_resources_open(&res, plan, h, sbx_host_has_option(h, "--bind-fd"),
			opts->skip_filter, e);
	if (r == 0)
		r = sbx_argv_render(&a, plan, res.fds, e);
	if (r == 0)
		r = start_rendered(&l, &a, &res, plan, h, cmd, opts, e);
	sbx_argv_done(&a);
	sbx_resources_done(&res);
	/* Without a pid 1 of ours nobody else speaks to the keeper. */
	if (r == 0 && !(opts->skip_steps & SBX_STEP_INIT))
		sbx_keeper_leave(&l.keeper);
	if (r < 0) {
		sbx_keeper_end(&l.keeper, GRACE_MS);
		sbx_cgroup_end(&l.cgroup, KILL_MS);
	} else {
		*ret = l;
	}
	return r;
}

/* ---- following it ---- */

/* The number after key. -1: it is not there, or not to its end. */
static long long number_after(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	char *end;
	long long v;

	if (p == NULL)
		return -1;
	p += strlen(key);
	errno = 0;
	v = strtoll(p, &end, 10);
	/* A number at the very end may go on in the next read. */
	return end == p || *end == '\0' || errno ? -1 : v;
}

static bool monitor_running(const struct sbx_launch *l)
{
	struct pollfd p = { .fd = l->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static void find_child(struct sbx_launch *l)
{
	long long pid = number_after(l->report, "\"child-pid\":");

	if (l->child || pid <= 0)
		return;
	l->child = (pid_t)pid;
	l->child_pidfd = sbx_fd_high(pidfd_open(l->child, 0));
	/* While the monitor lives it has not been reaped, so the number still means it. */
	if (l->child_pidfd >= 0 && !monitor_running(l)) {
		close(l->child_pidfd);
		l->child_pidfd = -1;
	}
}

/* One piece of what fd holds; false when there is no more now. Keeps the first max - 1 bytes as
 * a string; the rest is read and forgotten. */
static bool drain(int *fd, char *buf, size_t max, size_t *len)
{
	size_t room = max - 1 - *len;
	char spill[256];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, room ? buf + *len : spill, room ? room : sizeof(spill));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0) {
		close(*fd);
		*fd = -1;
		return false;
	}
	if (room) {
		*len += (size_t)n;
		buf[*len] = '\0';
	}
	return true;
}

/* What may happen often must not fill the room of what happens once. */
static void take_stops(struct sbx_launch *l)
{
	long long sig = number_after(l->said, "stopped ");

	for (; sig >= 0; sig = number_after(l->said, "stopped ")) {
		char *at = strstr(l->said, "stopped ");
		const char *rest = at + strcspn(at, "\n");

		l->stopped = (int)sig;
		rest += *rest == '\n';
		memmove(at, rest, strlen(rest) + 1);
		l->said_len = strlen(l->said);
	}
}

void sbx_launch_pump(struct sbx_launch *l)
{
	while (drain(&l->status_fd, l->report, sizeof(l->report), &l->report_len))
		;
	while (drain(&l->init_fd, l->said, sizeof(l->said), &l->said_len))
		take_stops(l);
	find_child(l);
}

int sbx_launch_signal(struct sbx_launch *l, int sig)
{
	unsigned char byte = (unsigned char)sig;

	/* A pid 1 that is gone must not end the runner by SIGPIPE. */
	return send(l->control_fd, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* The namespace's first process takes all others with it; the monitor alone may not. */
void sbx_launch_kill(struct sbx_launch *l)
{
	long long deadline = sbx_now_ms() + GRACE_MS;

	sbx_launch_pump(l);
	/* Killed too early the monitor leaves a half-made sandbox: first learn its child. */
	while (l->child == 0 && l->status_fd >= 0 && monitor_running(l)) {
		struct pollfd p = { .fd = l->status_fd, .events = POLLIN };
		long long left = deadline - sbx_now_ms();

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			break;
		sbx_launch_pump(l);
	}
	if (l->child_pidfd >= 0)
		pidfd_send_signal(l->child_pidfd, SIGKILL, NULL, 0);
	if (l->pidfd >= 0)
		pidfd_send_signal(l->pidfd, SIGKILL, NULL, 0);
}

static bool await_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long long deadline = sbx_now_ms() + timeout_ms;
	int r;

	do {
		long long left = timeout_ms < 0 ? -1 : deadline - sbx_now_ms();

		if (timeout_ms >= 0 && left < 0)
			left = 0;
		r = poll(&p, 1, (int)left);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

/* Waits for the monitor while following its report. False at the deadline. */
static bool follow(struct sbx_launch *l, int timeout_ms)
{
	long long deadline = sbx_now_ms() + timeout_ms;

	for (;;) {
		struct pollfd p[3] = { { .fd = l->pidfd, .events = POLLIN },
			{ .fd = l->status_fd, .events = POLLIN },
			{ .fd = l->init_fd, .events = POLLIN } };
		long long left = timeout_ms < 0 ? -1 : deadline - sbx_now_ms();

		if (timeout_ms >= 0 && left <= 0)
			return false;
		if (poll(p, 3, (int)left) < 0 && errno != EINTR)
			return false;
		sbx_launch_pump(l);
		if (p[0].revents)
			return true;
	}
}

/* Judged by the sandbox's own pid 1, which ends last; not by the monitor's word. */
static bool reap_survivors(struct sbx_launch *l)
{
	if (l->child_pidfd < 0 || await_readable(l->child_pidfd, GRACE_MS))
		return false;
	pidfd_send_signal(l->child_pidfd, SIGKILL, NULL, 0);
	await_readable(l->child_pidfd, KILL_MS);
	return true;
}

/* Pid 1's word, which nothing inside can forge; bwrap's own status is not asked. */
static void read_exit(
	struct sbx_launch *l, int status, bool timed_out, struct sbx_exit *x)
{
	long long code = number_after(l->said, "exit "),
		  sig = number_after(l->said, "signal "),
		  err = number_after(l->said, "noexec "),
		  unheld = number_after(l->said, "unheld "),
		  unset = number_after(l->said, "unset ");

	x->landlock = (int)number_after(l->said, "ready ");
	if (timed_out) {
		x->how = SBX_HOW_TIMEOUT;
	} else if (unheld >= 0) {
		x->how = SBX_HOW_UNHELD;
		x->code = (int)unheld;
	} else if (unset >= 0) {
		x->how = SBX_HOW_UNLIMITED;
		x->code = (int)unset;
	} else if (err >= 0) {
		x->how = SBX_HOW_NOT_EXECUTED;
		x->code = (int)err;
		x->landlock = -1;
	} else if (code >= 0 || sig >= 0) {
		x->how = SBX_HOW_EXITED;
		x->code = code >= 0 ? (int)code : 128 + (int)sig;
		x->signal = code >= 0 ? 0 : (int)sig;
	} else if (x->starved && x->landlock >= 0) { /* all of it, pid 1 and bwrap too */
		x->how = SBX_HOW_EXITED;
		x->signal = SIGKILL;
		x->code = 128 + SIGKILL;
	} else if (WIFSIGNALED(status)) {
		x->how = SBX_HOW_KILLED;
		x->code = WTERMSIG(status);
	} else {
		x->how = SBX_HOW_NOT_STARTED;
		x->code = WEXITSTATUS(status);
	}
}

int sbx_launch_wait(struct sbx_launch *l, int timeout_ms, struct sbx_exit *ret)
{
	bool timed_out = !follow(l, timeout_ms);
	struct sbx_exit x = { 0 };
	int status = 0;

	if (timed_out)
		sbx_launch_kill(l);
	/* ECHILD: the caller ignores SIGCHLD; the report has the status all the same. */
	while (waitpid(l->pid, &status, 0) < 0 && errno != ECHILD)
		if (errno != EINTR)
			return -errno;
	l->pid = 0;
	sbx_launch_pump(l);
	x.survivors = reap_survivors(l);
	sbx_keeper_end(&l->keeper, GRACE_MS);
	x.starved = sbx_cgroup_starved(l->in ? l->in : &l->cgroup);
	sbx_cgroup_end(&l->cgroup, KILL_MS);
	read_exit(l, status, timed_out, &x);
	*ret = x;
	return 0;
}

void sbx_launch_done(struct sbx_launch *l)
{
	struct sbx_exit x;

	if (l->pid > 0) {
		sbx_launch_kill(l);
		sbx_launch_wait(l, KILL_MS, &x);
	}
	sbx_keeper_end(&l->keeper, GRACE_MS);
	sbx_cgroup_end(&l->cgroup, KILL_MS);
	sbx_close_fd(&l->pidfd);
	sbx_close_fd(&l->status_fd);
	sbx_close_fd(&l->init_fd);
	sbx_close_fd(&l->control_fd);
	sbx_close_fd(&l->child_pidfd);
	*l = SBX_LAUNCH_NONE;
}
