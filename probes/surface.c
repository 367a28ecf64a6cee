/* Acts that ask for privileges, and the corners of the kernel's interface that need more than
 * one bad argument. Where something is granted, what was there before is set again. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

static char text[65536];

ACT(act_sethostname)
{
	struct utsname u;

	(void)c;
	(void)a;
	probe_sysresult(
		r, uname(&u) < 0 ? -1 : sethostname(u.nodename, strlen(u.nodename)));
}

ACT(act_setdomainname)
{
	struct utsname u;

	(void)c;
	(void)a;
	probe_sysresult(r,
		uname(&u) < 0 ? -1 : setdomainname(u.domainname, strlen(u.domainname)));
}

/* By the bare call: libc's would carry it to every thread. */
ACT(act_setgroups)
{
	(void)c;
	(void)a;
	probe_sysresult(r, syscall(SYS_setgroups, 0, NULL));
}

/* Does a group beside the process's own count? */
ACT(act_groups)
{
	gid_t list[256];
	int n = getgroups(256, list);
	bool more = false;

	(void)c;
	(void)a;
	for (int i = 0; i < n; i++)
		more |= list[i] != getegid();
	if (n < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r, more ? "more" : "own");
}

ACT(act_nice)
{
	(void)c;
	(void)a;
	probe_sysresult(r, setpriority(PRIO_PROCESS, 0, -5));
}

ACT(act_realtime)
{
	struct sched_param p = { .sched_priority = 1 };

	(void)c;
	(void)a;
	/* musl's own wrapper says ENOSYS whatever the kernel would. */
	probe_sysresult(r, syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p));
}

ACT(act_memlock)
{
	struct rlimit lim;

	(void)c;
	(void)a;
	if (getrlimit(RLIMIT_MEMLOCK, &lim) < 0) {
		probe_sysresult(r, -1);
	} else if (lim.rlim_max == RLIM_INFINITY) {
		probe_value(r, "unlimited");
	} else {
		lim.rlim_max++;
		probe_sysresult(r, setrlimit(RLIMIT_MEMLOCK, &lim));
	}
}

/* One less than it is: in a child, for the value belongs to the process. */
ACT(act_oom)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC), now;
	char buf[16] = "";

	(void)c;
	(void)a;
	if (fd < 0 || read(fd, buf, sizeof(buf) - 1) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	now = (int)strtol(buf, NULL, 10);
	snprintf(buf, sizeof(buf), "%d", now > -1000 ? -1000 : now);
	probe_sysresult(r, write(fd, buf, strlen(buf)));
	close(fd);
}

/* A tick of 0 is refused, once the right to set one has been found. */
ACT(act_adjtimex)
{
	struct timex t = { .modes = ADJ_TICK };

	(void)c;
	(void)a;
	probe_sysresult(r, syscall(SYS_adjtimex, &t));
}

ACT(act_iopl)
{
	(void)c;
	(void)a;
#ifdef SYS_iopl
	probe_sysresult(r, syscall(SYS_iopl, 3));
#else
	probe_errno(r, ENOSYS);
#endif
}

/* In a session without a terminal: there is none to hang up, should it be granted. */
ACT(act_vhangup)
{
	(void)c;
	(void)a;
	setsid();
	probe_sysresult(r, syscall(SYS_vhangup));
}

/* getpid by the third set of system calls. */
ACT(act_x32)
{
	(void)c;
	(void)a;
#ifdef __x86_64__
	probe_sysresult(r, syscall(0x40000000L + SYS_getpid));
#else
	raise(SIGSEGV);
#endif
}

/* No bits are credited; that one may is what is asked. */
ACT(act_entropy)
{
	int fd = open("/dev/random", O_RDONLY | O_CLOEXEC), none = 0;

	(void)c;
	(void)a;
	probe_sysresult(r, fd < 0 ? -1 : ioctl(fd, RNDADDTOENTCNT, &none));
	if (fd >= 0)
		close(fd);
}

/* The flags of lo as they are. */
ACT(act_ifup)
{
	struct ifreq req = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long ret = fd < 0 ? -1 : ioctl(fd, SIOCGIFFLAGS, &req);

	(void)c;
	(void)a;
	probe_sysresult(r, ret < 0 ? ret : ioctl(fd, SIOCSIFFLAGS, &req));
	if (fd >= 0)
		close(fd);
}

/* FILE of addresses (kallsyms, iomem): are they real, or blanked out? */
ACT(act_addresses)
{
	long len = probe_slurp(a[0], text, sizeof(text) - 1);
	bool real = false;

	(void)c;
	if (len < 0) {
		probe_sysresult(r, -1);
		return;
	}
	text[len] = '\0';
	for (char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL) {
		size_t n;

		p += strspn(p, " ");
		n = strspn(p, "0123456789abcdef");
		real |= n > 3 && strspn(p, "0") < n;
	}
	probe_value(r, real ? "real" : "blank");
}

/* NAMESPACE REQUEST: a handle on what lies above. */
ACT(act_ns_ioctl)
{
	char path[64];
	long got;
	int fd;

	(void)c;
	snprintf(path, sizeof(path), "/proc/self/ns/%.20s", a[0]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : ioctl(fd, (int)probe_number(a[1]), NULL);
	probe_sysresult(r, got);
	if (got >= 0)
		close((int)got);
	if (fd >= 0)
		close(fd);
}

const struct probe_op probe_surface[] = {
	{ "sethostname", PROBE_INPROC, 0, act_sethostname, "the present name" },
	{ "setdomainname", PROBE_INPROC, 0, act_setdomainname, "the present name" },
	{ "setgroups", PROBE_VM, 0, act_setgroups, "no supplementary groups" },
	{ "groups", PROBE_INPROC, 0, act_groups, "supplementary groups in force" },
	{ "nice", PROBE_VM, 0, act_nice, "more than one's share of the CPU" },
	{ "realtime", PROBE_VM, 0, act_realtime, "before everybody else" },
	{ "memlock", PROBE_VM, 0, act_memlock, "more locked memory" },
	{ "oom", PROBE_FORK, 0, act_oom, "never to be killed for memory" },
	{ "adjtimex", PROBE_INPROC, 0, act_adjtimex, "an impossible tick of the clock" },
	{ "iopl", PROBE_VM, 0, act_iopl, "the machine's ports" },
	{ "vhangup", PROBE_VM, 0, act_vhangup, "hang up the terminal" },
	{ "x32", PROBE_FORK, 0, act_x32, "a system call of the x32 set" },
	{ "entropy", PROBE_INPROC, 0, act_entropy, "credit no bits of entropy" },
	{ "ifup", PROBE_INPROC, 0, act_ifup, "the present flags of lo" },
	{ "addresses", PROBE_INPROC, 1, act_addresses, "real or blanked addresses" },
	{ "ns_ioctl", PROBE_INPROC, 2, act_ns_ioctl, "what lies above a namespace" },
	{ 0 },
};
