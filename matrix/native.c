#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define OUTPUT_MAX 131072
#define GRACE_MS 5

static _Noreturn void child(const struct scene *s, int in, int out)
{
	char *const argv[] = { s->probe, NULL };

	/* With the runner, also when that is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || chdir(s->tree.work) < 0)
		_exit(126);
	execve(s->probe, argv, s->env.v);
	_exit(127);
}

/* Waits for news and reads it once. False: the time is up. *ret_eof: nobody holds it. */
static bool read_once(int fd, char *buf, size_t *len, long long deadline, bool *ret_eof)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long long left = deadline - sbx_now_ms();
	ssize_t n;

	if (left <= 0 || poll(&p, 1, (int)left) == 0)
		return false;
	n = read(fd, buf + *len, OUTPUT_MAX - *len);
	if (n > 0)
		*len += (size_t)n;
	buf[*len] = '\0';
	*ret_eof = n == 0 || (n < 0 && errno != EINTR);
	return true;
}

/* Until the probe's last line is out, or everybody is gone. False: the time is up. */
static bool read_to_done(int fd, char *buf, size_t *len, int timeout_ms, bool *ret_eof)
{
	long long deadline = sbx_now_ms() + timeout_ms;

	while (!*ret_eof && strstr(buf, "\ndone\t") == NULL &&
		strncmp(buf, "done\t", 5) != 0)
		if (!read_once(fd, buf, len, deadline, ret_eof))
			return false;
	return true;
}

int native_run(struct native_result *ret, const struct scene *s, const char *input,
	int timeout_ms)
{
	SBX_CLEANUP_FD int in = sbx_memfd("sbx-acts", input, strlen(input));
	SBX_CLEANUP_FREE char *buf = sbx_xcalloc(1, OUTPUT_MAX + 1);
	struct native_result r = { 0 };
	SBX_CLEANUP_FD int out = -1;
	bool eof = false;
	size_t len = 0;
	int p[2];
	pid_t pid;

	if (in < 0)
		return in;
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	out = p[0];
	pid = fork();
	if (pid == 0)
		child(s, in, p[1]);
	close(p[1]);
	if (pid < 0)
		return -errno;
	r.timeout = !read_to_done(out, buf, &len, timeout_ms, &eof);
	if (r.timeout)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* Closing out ends whoever is left: the daemon of the last act is on that leash. */
	for (long long until = sbx_now_ms() + GRACE_MS; !eof;)
		if (!read_once(out, buf, &len, until, &eof))
			break;
	r.survivors = !eof;
	r.output = SBX_TAKE_PTR(buf);
	*ret = r;
	return 0;
}
