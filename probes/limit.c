/* Going beyond a limit. Each act gets the limit that is to hold, and says ok when it was passed. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* RESOURCE VALUE: soft and hard are that? */
ACT(act_is)
{
	unsigned long want = probe_number(a[1]);
	struct rlimit lim;

	(void)c;
	if (getrlimit((int)probe_number(a[0]), &lim) < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r,
			lim.rlim_cur == want && lim.rlim_max == want ? "that" : "other");
}

/* RESOURCE VALUE: one more than that. */
ACT(act_raise)
{
	struct rlimit lim = { probe_number(a[1]) + 1, probe_number(a[1]) + 1 };
	int resource = (int)probe_number(a[0]);
	long ret = setrlimit(resource, &lim);

	(void)c;
	/* And by the way that names a process. */
	if (ret < 0)
		ret = syscall(SYS_prlimit64, getpid(), resource, &lim, NULL);
	probe_sysresult(r, ret);
}

/* PATH VALUE: a file that is longer. */
ACT(act_fsize)
{
	off_t max = (off_t)probe_number(a[1]);
	int fd = open(a[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)c;
	signal(SIGXFSZ, SIG_IGN);
	probe_sysresult(r, fd < 0 ? -1 : pwrite(fd, "x", 1, max));
	unlink(a[0]);
}

/* VALUE: more open descriptors. */
ACT(act_nofile)
{
	unsigned long max = probe_number(a[0]), n = 0;
	int fd = 0;

	(void)c;
	while (fd >= 0 && n++ <= max)
		fd = dup(STDERR_FILENO);
	probe_sysresult(r, fd);
	if (fd >= 0)
		r->err = 0;
}

/* VALUE PROT: a mapping as large as all may be together. */
ACT(act_map)
{
	void *p = mmap(NULL, probe_number(a[0]), (int)probe_number(a[1]),
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)c;
	probe_sysresult(r, p == MAP_FAILED ? -1 : 0);
}

/* VALUE: a page more. */
ACT(act_lock)
{
	size_t len = probe_number(a[0]) + (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(
		NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)c;
	if (p == MAP_FAILED)
		probe_broken(r, "mmap failed");
	else
		probe_sysresult(r, mlock(p, len));
}

/* VALUE: as many children at once. They end with this process. */
ACT(act_fork)
{
	unsigned long max = probe_number(a[0]), n = 0;
	pid_t pid = 1, parent = getpid();
	int err = 0;

	(void)c;
	while (n < max && (pid = fork()) > 0)
		n++;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	err = errno;
	if (n == 0)
		probe_broken(r, "not even one");
	else if (pid < 0)
		probe_errno(r, err);
	else
		probe_sysresult(r, 0);
}

const struct probe_op probe_limit[] = {
	{ "limit_is", PROBE_INPROC, 2, act_is, "soft and hard" },
	{ "limit_raise", PROBE_FORK, 2, act_raise, "setrlimit, prlimit" },
	{ "limit_fsize", PROBE_FORK, 2, act_fsize, "a longer file" },
	{ "limit_nofile", PROBE_FORK, 1, act_nofile, "more descriptors" },
	{ "limit_map", PROBE_FORK, 2, act_map, "more memory" },
	{ "limit_lock", PROBE_FORK, 1, act_lock, "more memory that stays" },
	{ "limit_fork", PROBE_FORK, 1, act_fork, "more processes" },
	{ 0 },
};
