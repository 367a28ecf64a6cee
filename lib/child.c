#include "child.h"

#include "mountns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void reset_signals(const struct sbx_child *c)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&none);
	if (c->opts->skip_steps & SBX_STEP_SIGNALS) {
		sigprocmask(SIG_SETMASK, c->mask, NULL);
		return;
	}
	/* KILL and STOP refuse; there is nothing to do about it. */
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int place_stdio(const struct sbx_child *c)
{
	int want[3] = { c->opts->in, c->opts->out, c->opts->err };

	/* Without pid 1 nobody else hands them over. */
	for (int i = 0; i < 3 && (c->opts->skip_steps & SBX_STEP_INIT); i++)
		if (c->opts->command[i] > 2)
			want[i] = c->opts->command[i];
	for (int i = 0; i < 3; i++)
		if (want[i] >= 0 && dup2(want[i], i) < 0)
			return -errno;
	for (int i = 0; i < 3 && !(c->opts->skip_steps & SBX_STEP_STDIO); i++) {
		int flags = fcntl(i, F_GETFD);

		/* One that closes on exec is as good as closed. */
		if (flags >= 0 && (flags & FD_CLOEXEC))
			close(i);
		if ((flags < 0 || (flags & FD_CLOEXEC)) && open("/dev/null", O_RDWR) != i)
			return -EBADF;
	}
	return 0;
}

static int inherit(int fd)
{
	if (fd < 0)
		return 0;
	return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
}

/* Leaves open only 0-2, and what bwrap is told about. */
static int close_others(const struct sbx_child *c)
{
	int r = 0;

	if (!(c->opts->skip_steps & SBX_STEP_CLOSE) &&
		syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < c->res->n; i++)
		r = inherit(c->res->fds[i]);
	for (const int *fd = c->fds; r == 0 && *fd >= 0; fd++)
		r = inherit(*fd);
	for (int i = 0; r == 0 && i < 3; i++)
		r = inherit(c->opts->command[i] > 2 ? c->opts->command[i] : -1);
	return r;
}

/* What root's runner may have and the payload must not keep: it would outlive others when memory is
 * short, and starve them. */
static int give_up_precedence(void)
{
	char text[16] = "";
	int fd, r = 0;

	if (sched_getscheduler(0) != SCHED_OTHER &&
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }) < 0)
		return -errno;
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return -errno;
	fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (fd < 0) /* no /proc: nothing to take back */
		return 0;
	if (read(fd, text, sizeof(text) - 1) > 0 && text[0] == '-')
		r = sbx_write_all(fd, "0", 1);
	close(fd);
	return r;
}

static int harden(const struct sbx_child *c)
{
	unsigned skip = c->opts->skip_steps;

	if (!(skip & SBX_STEP_DEATHSIG)) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			return -errno;
		if (getppid() != c->parent) /* it died before the line above */
			return -ESRCH;
	}
	if (!(skip & SBX_STEP_SESSION) && setsid() < 0)
		return -errno;
	reset_signals(c);
	if (!(skip & SBX_STEP_CORE) &&
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }) < 0)
		return -errno;
	if (!(skip & SBX_STEP_PRIORITY)) {
		int r = give_up_precedence();

		if (r < 0)
			return r;
	}
	/* ENOSYS: the kernel has none. EPERM: a filter around us forbids them, also inside. */
	if (!(skip & SBX_STEP_KEYRING) &&
		syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
		errno != ENOSYS && errno != EPERM)
		return -errno;
	/* The bare call: libc's would tell the other threads. */
	if (!(skip & SBX_STEP_GROUPS) && syscall(SYS_setgroups, 0, NULL) < 0 &&
		errno != EPERM)
		return -errno;
	return 0;
}

int sbx_child_main(void *arg)
{
	const struct sbx_child *c = arg;
	int r = c->cgroup->procs < 0 ? 0 : sbx_cgroup_enter(c->cgroup);

	*c->outside = r < 0;
	if (r == 0)
		r = harden(c);
	if (r == 0)
		r = place_stdio(c);
	if (r == 0 && c->own_mounts) {
		r = sbx_mountns_enter(geteuid(), getegid());
		*c->private_mounts = r == 0;
		r = r > 0 ? 0 : r;
	}
	if (r == 0)
		r = close_others(c);
	if (r == 0) {
		execve(c->bwrap, c->argv, c->envp);
		r = -errno;
	}
	*c->failed = r;
	_exit(127);
}
