/* Acts that need other programs, devices or processes that stay. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* Starts argv[0] with stdout on out (-1: nowhere) and returns its pid, or -errno of the
 * exec. vfork: a true fork costs more than most acts. */
static pid_t start(char **argv, int out)
{
	volatile int err = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (null >= 0) {
			dup2(null, 0);
			dup2(out >= 0 ? out : null, 1);
			dup2(null, 2);
		}
		execv(argv[0], argv);
		err = errno;
		_exit(127);
	}
	if (pid > 0 && err) {
		waitpid(pid, NULL, 0);
		return -err;
	}
	return pid;
}

static void set_exit(struct probe_result *r, int code)
{
	char text[32];

	if (code == 0) {
		probe_errno(r, 0);
		return;
	}
	snprintf(text, sizeof(text), "exit-%d", code);
	probe_value(r, text);
}

/* PROGRAM [ARG...]: ok when it ran and exited 0. */
ACT(act_exec)
{
	pid_t pid = start(a, -1);
	int status;

	(void)c;
	if (pid < 0) {
		probe_errno(r, -pid);
		return;
	}
	if (waitpid(pid, &status, 0) < 0) {
		kill(pid, SIGKILL);
		probe_errno(r, EINTR);
		return;
	}
	set_exit(r, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* All acts of one run that PROGRAM is to do, in one start of it: loading libcurl and what
 * it needs takes longer than a sandbox. It answers with one exit code a line. */
static char batch_answer[512];
static int batch_error;
static const char *batch_next;

static void run_batch(const char *program)
{
	static char *argv[3 * PROBE_MAX_BATCH + 3];
	int n = 0, p[2];
	size_t len = 0;
	ssize_t got;
	pid_t pid;

	argv[n++] = (char *)(uintptr_t)program;
	argv[n++] = (char *)(uintptr_t) "batch";
	n += probe_batch("http", argv + n, 3 * PROBE_MAX_BATCH);
	argv[n] = NULL;
	batch_next = batch_answer;
	if (pipe2(p, O_CLOEXEC) < 0) {
		batch_error = errno;
		return;
	}
	pid = start(argv, p[1]);
	close(p[1]);
	batch_error = pid < 0 ? -pid : 0;
	while (pid > 0 && len < sizeof(batch_answer) - 1 &&
		(got = read(p[0], batch_answer + len, sizeof(batch_answer) - 1 - len)) !=
			0) {
		if (got < 0) {
			batch_error = EINTR;
			kill(pid, SIGKILL);
			break;
		}
		len += (size_t)got;
	}
	close(p[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* PROGRAM MODE URL TOKEN: the next answer of the batch. */
ACT(act_http)
{
	char *end;
	long code;

	(void)c;
	if (batch_next == NULL)
		run_batch(a[0]);
	if (batch_error) {
		probe_errno(r, batch_error);
		return;
	}
	code = strtol(batch_next, &end, 10);
	if (end == batch_next || *end != '\n') {
		probe_broken(r, "no answer");
		return;
	}
	batch_next = end + 1;
	set_exit(r, (int)code);
}

ACT(act_pty)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	char *name;
	int slave;

	(void)c;
	(void)a;
	if (fd < 0 || unlockpt(fd) < 0 || (name = ptsname(fd)) == NULL) {
		probe_sysresult(r, -1);
		return;
	}
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	probe_sysresult(r, slave);
	if (slave >= 0)
		close(slave);
	close(fd);
}

/* PATH: a byte of it (urandom, zero). */
ACT(act_read_byte)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char byte;

	(void)c;
	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	probe_sysresult(r, read(fd, &byte, 1) == 1 ? 0 : -1);
	close(fd);
}

/* A daemon: in a session of its own, holding the runner's pipe open. Whether it outlives the
 * sandbox is for the host to see. */
static int daemon_main(void *arg)
{
	/* On a leash: gone when the runner stops reading, or after half a minute. */
	struct pollfd leash = { .fd = STDOUT_FILENO };

	(void)arg;
	if (setsid() < 0)
		_exit(1);
	signal(SIGALRM, SIG_DFL);
	alarm(30);
	poll(&leash, 1, -1);
	_exit(0);
}

ACT(act_daemon)
{
	static char stack[16384] __attribute__((aligned(16)));
	/* Shares the memory: a copy would cost more than all acts of a family. */
	pid_t pid = clone(daemon_main, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	(void)c;
	(void)a;
	probe_sysresult(r, pid);
}

const struct probe_op probe_run[] = {
	{ "exec", PROBE_INPROC, 1, act_exec, "PROGRAM [ARG...] exits 0" },
	{ "http", PROBE_INPROC, 4, act_http, "what sbx-probe-http does: MODE URL TOKEN" },
	{ "pty", PROBE_INPROC, 0, act_pty, "a pseudo terminal of one's own" },
	{ "read_byte", PROBE_INPROC, 1, act_read_byte, "a byte of a device" },
	{ "daemon", PROBE_LAST, 0, act_daemon, "leaves a daemon behind" },
	{ 0 },
};
