#include "guardian.h"

#include "fds.h"
#include "objects.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define ROUNDS 250
#define QUIET_ROUNDS 25
#define ROUND_US 20000

/* Is root in the command line? A bwrap that lost its parent early never gets as far as the
 * probe, and waits for ever (upstream issue 633); the probe's path is what gives it away. */
static bool names_root(pid_t pid, const char *root)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("/proc/%d/cmdline", (int)pid);
	SBX_CLEANUP_FREE char *line = NULL;
	size_t len;

	return sbx_read_file(path, 65536, &line, &len) == 0 &&
	       memmem(line, len, root, strlen(root)) != NULL;
}

int guardian_kill(const char *text)
{
	DIR *d = opendir("/proc");
	int n = 0;

	if (d == NULL)
		return 0;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && names_root(pid, text) &&
			kill(pid, SIGKILL) == 0)
			n++;
	}
	closedir(d);
	return n;
}

/* Until nobody has been left, and nothing has come back, for a while: a sandbox that was just
 * being started may turn up a moment later. */
static void clean_up(const char *root, const char *nonce)
{
	int quiet = 0;

	objects_remove_named(nonce);
	for (int i = 0; i < ROUNDS && quiet < QUIET_ROUNDS; i++) {
		int running = guardian_kill(root);

		tree_remove(root);
		quiet = running == 0 && access(root, F_OK) < 0 ? quiet + 1 : 0;
		usleep(ROUND_US);
	}
}

static _Noreturn void guard(int fd, const char *root, const char *nonce)
{
	char c;
	ssize_t n;

	/* Out of the group: what is sent to the runner's group must not reach the guardian. */
	setsid();
	signal(SIGQUIT, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Above all the other end of the pipe, and those of other scenes' guardians. */
	fds_keep_only(&fd, 1);
	do
		n = read(fd, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		clean_up(root, nonce);
	_exit(0);
}

int guardian_start(struct guardian *ret, const char *root, const char *nonce)
{
	int p[2], r = sbx_pipe(p);
	pid_t pid;

	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		guard(p[0], root, nonce);
	close(p[0]);
	if (pid < 0) {
		r = -errno;
		close(p[1]);
		return r;
	}
	*ret = (struct guardian){ .pid = pid, .fd = p[1] };
	return 0;
}

void guardian_dismiss(struct guardian *g)
{
	if (g->pid <= 0)
		return;
	if (write(g->fd, "q", 1) != 1)
		kill(g->pid, SIGKILL);
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*g = (struct guardian){ .fd = -1 };
}
