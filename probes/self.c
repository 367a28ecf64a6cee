/* What the process finds in itself: environment, descriptors, privileges, limits. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* NAME HASH: ok when the variable has the expected value. */
ACT(act_env)
{
	const char *v = getenv(a[0]);

	(void)c;
	if (v == NULL)
		probe_value(r, "unset");
	else if (probe_hash(v, strlen(v)) == strtoull(a[1], NULL, 16))
		probe_errno(r, 0);
	else
		probe_value(r, "differs");
}

static bool name_listed(const char *list, const char *name, size_t len)
{
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, " ");

		if (n == len && strncmp(p, name, len) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

/* LIST of names: is there any other variable? */
ACT(act_env_names)
{
	bool extra = false;

	(void)c;
	for (char **e = environ; *e; e++)
		extra |= !name_listed(a[0], *e, strcspn(*e, "="));
	probe_value(r, extra ? "extra" : "listed");
}

/* Were signals ignored or blocked when the probe was started? */
ACT(act_signals)
{
	(void)c;
	(void)a;
	probe_value(r, probe_signals_inherited ? "inherited" : "clean");
}

/* Anything open beyond 0, 1 and 2? */
ACT(act_descriptors)
{
	DIR *d = opendir("/proc/self/fd");
	int extra = 0;

	(void)c;
	(void)a;
	if (d == NULL) {
		probe_sysresult(r, -1);
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if (e->d_name[0] != '.' && atoi(e->d_name) > 2 &&
			atoi(e->d_name) != dirfd(d))
			extra++;
	closedir(d);
	probe_value(r, extra ? "leaked" : "none");
}

/* FD REL: opens REL below an inherited directory. */
ACT(act_fd_openat)
{
	int fd = openat((int)probe_number(a[0]), a[1], O_RDONLY | O_CLOEXEC);

	(void)c;
	probe_sysresult(r, fd);
	if (fd >= 0)
		close(fd);
}

/* FD: reads an inherited file from its start. */
ACT(act_fd_read)
{
	char byte;

	(void)c;
	probe_sysresult(r, pread((int)probe_number(a[0]), &byte, 1, 0));
}

/* FIELD of /proc/self/status, numbers shortened to zero/nonzero for capability masks. */
ACT(act_status)
{
	static char buf[8192];
	long len = probe_slurp("/proc/self/status", buf, sizeof(buf) - 1);
	char key[40], value[40];
	const char *line;

	(void)c;
	if (len < 0) {
		probe_sysresult(r, -1);
		return;
	}
	buf[len] = '\0';
	snprintf(key, sizeof(key), "\n%.30s:", a[0]);
	line = strstr(buf, key);
	if (line == NULL || sscanf(line + strlen(key), " %39s", value) != 1) {
		probe_broken(r, "no-such-field");
		return;
	}
	if (strncmp(a[0], "Cap", 3) == 0)
		probe_value(r, strspn(value, "0") == strlen(value) ? "zero" : "nonzero");
	else
		probe_value(r, value);
}

ACT(act_setuid0)
{
	(void)c;
	(void)a;
	probe_sysresult(r, setresuid(0, 0, 0));
}

ACT(act_core_limit)
{
	struct rlimit lim;

	(void)c;
	(void)a;
	if (getrlimit(RLIMIT_CORE, &lim) < 0)
		probe_sysresult(r, -1);
	else
		probe_value(
			r, lim.rlim_cur == 0 && lim.rlim_max == 0 ? "zero" : "nonzero");
}

/* NAME: is the host's name visible? */
ACT(act_hostname)
{
	struct utsname u;

	(void)c;
	if (uname(&u) < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r, strcmp(u.nodename, a[0]) == 0 ? "host" : "own");
}

ACT(act_cwd)
{
	char buf[4096];

	(void)a;
	if (getcwd(buf, sizeof(buf)) == NULL)
		probe_sysresult(r, -1);
	else
		probe_value(r, strcmp(buf, c->work) == 0 ? "work" : "elsewhere");
}

const struct probe_op probe_self[] = {
	{ "env", PROBE_INPROC, 2, act_env, "has a variable the expected value" },
	{ "env_names", PROBE_INPROC, 1, act_env_names, "every variable against a list" },
	{ "signals", PROBE_INPROC, 0, act_signals, "dispositions and mask at the start" },
	{ "descriptors", PROBE_INPROC, 0, act_descriptors, "inherited descriptors" },
	{ "fd_openat", PROBE_INPROC, 2, act_fd_openat, "use of an inherited directory" },
	{ "fd_read", PROBE_INPROC, 1, act_fd_read, "use of an inherited file" },
	{ "status", PROBE_INPROC, 1, act_status, "field of /proc/self/status" },
	{ "setuid0", PROBE_VM, 0, act_setuid0, "become uid 0" },
	{ "core_limit", PROBE_INPROC, 0, act_core_limit, "size of a core dump" },
	{ "hostname", PROBE_INPROC, 1, act_hostname, "whose host name" },
	{ "cwd", PROBE_INPROC, 0, act_cwd, "where the payload starts" },
	{ 0 },
};
