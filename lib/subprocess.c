#include "subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static int spawn(char *const argv[], int out_fd, pid_t *ret)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none, chld;
	int r;

	sigemptyset(&none);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD); /* ignored SIGCHLD hangs bwrap 0.8 */
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out_fd, 1);
	posix_spawn_file_actions_adddup2(&fa, out_fd, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &chld);
	r = posix_spawn(ret, argv[0], &fa, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return -r;
}

/* Reads to the end or the deadline; what exceeds max is read and dropped. */
static int collect(int fd, long long deadline, char *buf, size_t max)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		long long left = deadline - sbx_now_ms();
		char spill[512];
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return -ETIMEDOUT;
		n = read(fd, len < max ? buf + len : spill,
			len < max ? max - len : sizeof(spill));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		if (n > 0 && len < max)
			len += (size_t)n;
	}
	buf[len] = '\0';
	return 0;
}

int sbx_subprocess_output(char *const argv[], int timeout_ms, size_t max, char **ret_out)
{
	SBX_CLEANUP_FREE char *buf = sbx_xcalloc(1, max + 1);
	long long deadline = sbx_now_ms() + timeout_ms;
	SBX_CLEANUP_FD int rd = -1;
	int p[2], r, status;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	rd = p[0];
	r = spawn(argv, p[1], &pid);
	close(p[1]);
	if (r < 0)
		return r;
	r = collect(rd, deadline, buf, max);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	*ret_out = SBX_TAKE_PTR(buf);
	return status;
}
