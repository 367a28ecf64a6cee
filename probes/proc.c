/* Acts on processes of the host, and on the sandbox's own pid 1. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* Signal 0: a permission check, nothing is delivered. */
ACT(act_kill)
{
	(void)c;
	probe_sysresult(r, kill((pid_t)probe_number(a[0]), 0));
}

ACT(act_pidfd_open)
{
	long fd = syscall(SYS_pidfd_open, (pid_t)probe_number(a[0]), 0);

	(void)c;
	probe_sysresult(r, fd);
	if (fd >= 0)
		close((int)fd);
}

ACT(act_prlimit)
{
	struct rlimit lim;

	(void)c;
	probe_sysresult(r, syscall(SYS_prlimit64, (pid_t)probe_number(a[0]),
				   RLIMIT_NOFILE, NULL, &lim));
}

/* PID: its present limits, set again. */
ACT(act_prlimit_set)
{
	struct rlimit lim;
	pid_t pid = (pid_t)probe_number(a[0]);

	(void)c;
	if (syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, NULL, &lim) < 0)
		probe_sysresult(r, -1);
	else
		probe_sysresult(
			r, syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &lim, NULL));
}

/* PID: its present CPU set, set again. */
ACT(act_setaffinity)
{
	cpu_set_t set;
	pid_t pid = (pid_t)probe_number(a[0]);
	long n = syscall(SYS_sched_getaffinity, pid, sizeof(set), &set);

	(void)c;
	probe_sysresult(
		r, n < 0 ? -1 : syscall(SYS_sched_setaffinity, pid, (size_t)n, &set));
}

/* DIR of descriptors (/proc/1/fd): does one of them lead into a directory? Opened with nothing
 * but a path, the host's tree lies behind it. */
ACT(act_fd_links)
{
	bool any = false;
	char path[64];

	(void)c;
	for (int i = 0; i < 128 && !any; i++) {
		struct stat st;

		snprintf(path, sizeof(path), "%.40s/%d", a[0], i);
		if (stat(path, &st) == 0)
			any = S_ISDIR(st.st_mode);
		else if (errno == EACCES || errno == EPERM) {
			probe_sysresult(r, -1);
			return;
		}
	}
	probe_value(r, any ? "directory" : "none");
}

ACT(act_getaffinity)
{
	cpu_set_t set;

	(void)c;
	probe_sysresult(r, syscall(SYS_sched_getaffinity, (pid_t)probe_number(a[0]),
				   sizeof(set), &set));
}

ACT(act_setpriority)
{
	int prio;

	(void)c;
	errno = 0;
	prio = getpriority(PRIO_PROCESS, (id_t)probe_number(a[0]));
	if (errno)
		probe_sysresult(r, -1);
	else
		probe_sysresult(
			r, setpriority(PRIO_PROCESS, (id_t)probe_number(a[0]), prio));
}

/* NAME INODE: am I in the host's namespace? */
ACT(act_namespace)
{
	char path[64];
	struct stat st;
	char text[32];

	(void)c;
	snprintf(path, sizeof(path), "/proc/self/ns/%.20s", a[0]);
	if (stat(path, &st) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)st.st_ino);
	probe_value(r, strcmp(text, a[1]) == 0 ? "host" : "own");
}

/* SID of the runner. A session from outside has no number in a pid namespace of one's own. */
ACT(act_session)
{
	pid_t sid = getsid(0);

	(void)c;
	probe_value(r, sid == 0 || sid == (pid_t)probe_number(a[0]) ? "outer" : "own");
}

const struct probe_op probe_proc[] = {
	{ "kill", PROBE_INPROC, 1, act_kill, "signal 0" },
	{ "pidfd_open", PROBE_INPROC, 1, act_pidfd_open, "a handle on the process" },
	{ "prlimit", PROBE_INPROC, 1, act_prlimit, "read its limits" },
	{ "prlimit_set", PROBE_INPROC, 1, act_prlimit_set, "its present limits" },
	{ "setaffinity", PROBE_INPROC, 1, act_setaffinity, "its present CPU set" },
	{ "fd_links", PROBE_INPROC, 1, act_fd_links, "descriptors that are directories" },
	{ "getaffinity", PROBE_INPROC, 1, act_getaffinity, "read its CPU set" },
	{ "setpriority", PROBE_INPROC, 1, act_setpriority, "its present priority" },
	{ "namespace", PROBE_INPROC, 2, act_namespace, "the host's, or one of its own" },
	{ "session", PROBE_INPROC, 1, act_session, "whose session" },
	{ 0 },
};
