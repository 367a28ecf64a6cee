/* What ordinary programs do and must be able to do. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* A terminal of one's own as controlling terminal, resized, with a foreground group: what
 * script, tmux and every agent's shell tool do. In a child, for the session is new. */
ACT(act_job_control)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	int pty = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), tty = -1;
	long ret = -1;

	(void)c;
	(void)a;
	if (pty >= 0 && unlockpt(pty) == 0 && setsid() >= 0)
		tty = open(ptsname(pty), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty >= 0 && ioctl(tty, TIOCSCTTY, 0) == 0 &&
		ioctl(tty, TIOCSWINSZ, &size) == 0)
		ret = tcsetpgrp(tty, getpgrp());
	probe_sysresult(r, ret);
	/* Closing the last of it hangs up, and this session would be told. */
	signal(SIGHUP, SIG_IGN);
	if (tty >= 0)
		close(tty);
	if (pty >= 0)
		close(pty);
}

ACT(act_setsid)
{
	(void)c;
	(void)a;
	probe_sysresult(r, setsid());
}

static void map_code(int fd, struct probe_result *r)
{
	static const char code[16] = { 0 };
	void *p = MAP_FAILED;

	if (fd >= 0 && write(fd, code, sizeof(code)) == (ssize_t)sizeof(code))
		p = mmap(NULL, sizeof(code), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	probe_sysresult(r, p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED)
		munmap(p, sizeof(code));
	if (fd >= 0)
		close(fd);
}

/* DIR: code mapped from a file that was just made there, as language runtimes do. */
ACT(act_map_code)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.so", a[0], c->token);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	unlink(path);
	map_code(fd, r);
}

ACT(act_map_memfd)
{
	(void)c;
	(void)a;
	map_code(memfd_create("sbx", MFD_CLOEXEC), r);
}

const struct probe_op probe_works[] = {
	{ "job_control", PROBE_VM, 0, act_job_control, "a controlling terminal" },
	{ "setsid", PROBE_VM, 0, act_setsid, "a session of one's own" },
	{ "map_code", PROBE_INPROC, 1, act_map_code, "code from a new file in DIR" },
	{ "map_memfd", PROBE_INPROC, 0, act_map_memfd, "code from a memory file" },
	{ 0 },
};
