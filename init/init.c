/* sbx-init: pid 1 of the sandbox.
 *
 *     sbx-init IMAGE CONTROL STATUS KEEPER SKIP -- COMMAND [ARG...]
 *
 * bwrap is no pid 1 to be trusted beside an agent: it belongs to the same user, keeps what it was
 * started with in its memory and descriptors, forwards no signal, and can be made to report an
 * exit status that was none. This program is started in its place (--as-pid-1) from a sealed
 * memory file, so that no file of the host lies behind /proc/1/exe, and is out of reach for
 * whatever runs beside it.
 *
 * IMAGE, CONTROL, STATUS, KEEPER are descriptors, -1 for none. Lines on STATUS:
 *     ready ABI      the command is about to run; the landlock ABI it is held by, 0: none
 *     unheld ERRNO   it does not run: the kernel has landlock, and refused
 *     noexec ERRNO   it cannot be executed
 *     exit CODE      it ended
 *     signal NUMBER  a signal ended it
 * Bytes on CONTROL are signals for the command. Its end means that the runner is gone.
 * KEEPER (keeper.c) gets a handle on this process before anything runs.
 * SKIP: enum skip, for the verifier's mutants.
 */
#include "domain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As SBX_STEP_INIT_* of launch.h, from bit 0. */
enum skip {
	SKIP_HIDE = 1 << 0, /* stay dumpable: readable and traceable by the user */
	SKIP_SCOPE = 1 << 1, /* no landlock scope */
	SKIP_LEASH = 1 << 2, /* go on when the runner is gone */
};

static int status_fd = -1, control_fd = -1;
static unsigned skip;

static void tell(const char *what, int value)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %d\n", what, value);

	/* A runner that is gone shows on CONTROL. */
	if (status_fd >= 0 && write(status_fd, line, (size_t)n) != n)
		status_fd = -1;
}

static _Noreturn void payload(char **command, const sigset_t *mask)
{
	int abi = skip & SKIP_SCOPE ? 0 : domain_enter(), err;

	if (abi < 0) {
		tell("unheld", -abi);
		_exit(125);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	tell("ready", abi);
	execvp(command[0], command);
	err = errno;
	tell("noexec", err);
	_exit(err == ENOENT ? 127 : 126);
}

/* Collects whoever has ended. True when the command is among them. */
static bool reap(pid_t command, int *ret_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == command) {
			*ret_status = status;
			ended = true;
		}
	return ended;
}

static void forward(pid_t command)
{
	unsigned char sig;
	ssize_t n = read(control_fd, &sig, 1);

	if (n == 1) {
		kill(command, sig);
	} else if (n == 0 && !(skip & SKIP_LEASH)) {
		_exit(128 + SIGKILL); /* and the kernel ends everybody else */
	} else if (n == 0) {
		close(control_fd);
		control_fd = -1;
	}
}

/* Until the command ends; its wait status. */
static int mind(pid_t command, int signals)
{
	int status = 0;

	for (;;) {
		struct pollfd p[2] = { { .fd = signals, .events = POLLIN },
			{ .fd = control_fd, .events = POLLIN } };
		struct signalfd_siginfo si;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents && read(signals, &si, sizeof(si)) > 0 &&
			reap(command, &status))
			return status;
		if (p[1].revents)
			forward(command);
	}
}

/* With the return of the status pid 1 ends, and the kernel ends everybody else. */
static int finish(int status)
{
	if (WIFSIGNALED(status)) {
		tell("signal", WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	tell("exit", WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

static void keep_for_myself(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The keeper removes its placeholders when this process, the last one, is gone. */
static int tell_keeper(int socket)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec io = { (char[]){ 1 }, 1 };
	struct msghdr m = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int self, r;

	if (socket < 0)
		return 0;
	self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (self < 0)
		return -errno;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(self));
	memcpy(CMSG_DATA(c), &self, sizeof(self));
	r = sendmsg(socket, &m, MSG_NOSIGNAL) == 1 ? 0 : -errno;
	close(self);
	close(socket);
	return r;
}

int main(int argc, char **argv)
{
	sigset_t children, mask;
	pid_t command;
	int signals, image;

	if (argc < 8 || strcmp(argv[6], "--") != 0)
		return 125;
	image = atoi(argv[1]);
	control_fd = atoi(argv[2]);
	status_fd = atoi(argv[3]);
	skip = (unsigned)atoi(argv[5]);
	if (!(skip & SKIP_HIDE) && prctl(PR_SET_DUMPABLE, 0) < 0)
		return 125;
	if (!(skip & SKIP_LEASH))
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep_for_myself(control_fd);
	keep_for_myself(status_fd);
	if (image >= 0)
		close(image);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &mask);
	signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return 125;
	if (tell_keeper(atoi(argv[4])) < 0)
		return 125;
	command = fork();
	if (command == 0)
		payload(argv + 7, &mask);
	if (command < 0)
		return 125;
	return finish(mind(command, signals));
}
