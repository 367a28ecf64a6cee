/* sbx-init: pid 1 of the sandbox.
 *
 *     sbx-init IMAGE CONTROL STATUS KEEPER SKIP IN OUT ERR LIMITS -- COMMAND [ARG...]
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
 *     unset ERRNO    it does not run: one of LIMITS cannot be set
 *     noexec ERRNO   it cannot be executed
 *     exit CODE      it ended
 *     signal NUMBER  a signal ended it
 *     stopped NUMBER a signal stopped it
 * KEEPER (keeper.c) gets a handle on this process before anything runs.
 * Bytes on CONTROL are signals for the command; see enum control for more. Its end means that
 * the runner is gone.
 * IN, OUT, ERR: what the command gets as 0, 1 and 2. A descriptor, which nobody else keeps, so
 * that its end and the end of who reads it are felt on the other side; 0: what pid 1 has;
 * -1: a terminal of the sandbox's own. Its other end goes to the runner over CONTROL, and the
 * command waits for the runner's word where it starts.
 * LIMITS: "RESOURCE=VALUE,...", numbers of setrlimit(2), or "-"; the command may have no more, soft
 * or hard. Set here, since some of them would hit bwrap's own work, and the number of processes
 * counts by user namespace.
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
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
	SKIP_LIMITS = 1 << 8, /* no limits */
};

/* As SBX_INIT_* of lib/init.h. */
enum control {
	TO_GROUP = 128, /* and a signal: for the process group of the command */
	BACKGROUND = 254, /* the command is not in the foreground of its terminal */
	FOREGROUND = 255, /* it is */
};

#define TERMINAL (-1)

/* Newer than the headers of the build machine. */
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

static int status_fd = -1, control_fd = -1;
static int stdio[3]; /* of the command: IN, OUT, ERR */
static int tty = -1; /* the terminal, where the command has one */
static unsigned skip;
static bool foreground; /* the command begins in the foreground of it */
static const char *limits;
static uint64_t early; /* signals that came before the command was there, one a bit */

static void tell(const char *what, int value)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %d\n", what, value);

	/* A runner that is gone shows on CONTROL. */
	if (status_fd >= 0 && write(status_fd, line, (size_t)n) != n)
		status_fd = -1;
}

static bool send_fd(int to, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	char byte = 't';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &u,
		.msg_controllen = sizeof(u) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &msg, MSG_NOSIGNAL) == 1;
}

/* Pid 1 leads the session and has the terminal, the command is a job in it, as a shell's would
 * be: a command that led the session could not be stopped, by Ctrl-Z or for want of input. Pid 1
 * keeps its descriptor, so that the runner sees the terminal hang up only when all is over. */
static bool open_terminal(void)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), locked = 0;
	bool sent;

	setsid(); /* refused to who leads one already */
	if (master < 0 || ioctl(master, TIOCSPTLCK, &locked) < 0)
		return false;
	tty = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	sent = tty >= 0 && ioctl(tty, TIOCSCTTY, 0) == 0 && send_fd(control_fd, master);
	close(master);
	return sent;
}

/* Until the runner has given the terminal its size and modes. */
static void await_runner(void)
{
	unsigned char byte = 0;

	while (byte < BACKGROUND) {
		if (read(control_fd, &byte, 1) != 1)
			_exit(128 + SIGKILL);
		if (byte % TO_GROUP > 0 && byte % TO_GROUP <= 64)
			early |= UINT64_C(1) << (byte % TO_GROUP - 1);
	}
	foreground = byte == FOREGROUND;
}

static bool is_given(void)
{
	return stdio[0] || stdio[1] || stdio[2];
}

/* A job of its own, with what it is given; the numbers 0 to 2 and nothing else. */
static bool take_stdio(void)
{
	if (is_given() && setpgid(0, 0) < 0)
		return false;
	if (foreground && tcsetpgrp(tty, getpid()) < 0)
		return false;
	for (int i = 0; i < 3; i++)
		if (stdio[i] && dup2(stdio[i] == TERMINAL ? tty : stdio[i], i) < 0)
			return false;
	return true;
}

/* What the command has been given is the command's alone. */
static void let_go(void)
{
	for (int i = 0; i < 3; i++)
		if (stdio[i] > 0)
			close(stdio[i]); /* two may be the same; the second is refused */
}

/* 0, or -errno: then the command must not run. */
static int set_limits(const char *text)
{
	if (strcmp(text, "-") == 0)
		return 0;
	for (;; text++) {
		struct rlimit lim;
		char *end;
		long resource;

		errno = 0;
		resource = strtol(text, &end, 10);
		if (errno || end == text || *end != '=' || end[1] < '0' || end[1] > '9')
			return -EINVAL;
		lim.rlim_cur = lim.rlim_max = strtoull(end + 1, (char **)&text, 10);
		if (errno || (*text && *text != ','))
			return -EINVAL;
		if (setrlimit((int)resource, &lim) < 0)
			return -errno;
		if (*text == '\0')
			return 0;
	}
}

static _Noreturn void payload(char **command, const sigset_t *mask)
{
	bool ready = take_stdio();
	int err = errno, abi = skip & SKIP_SCOPE ? 0 : domain_enter(), unset;

	if (abi < 0) {
		tell("unheld", -abi);
		_exit(125);
	}
	unset = skip & SKIP_LIMITS ? 0 : set_limits(limits);
	if (unset < 0) {
		tell("unset", -unset);
		_exit(125);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (ready) {
		tell("ready", abi);
		execvp(command[0], command);
		err = errno;
	}
	tell("noexec", err);
	_exit(err == ENOENT ? 127 : 126);
}

/* Collects whoever has ended. True when the command is among them. */
static bool reap(pid_t command, int *ret_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
		if (pid == command && WIFSTOPPED(status)) {
			tell("stopped", WSTOPSIG(status));
		} else if (pid == command) {
			*ret_status = status;
			ended = true;
		}
	return ended;
}

static void obey(pid_t command, unsigned char byte)
{
	if (byte == FOREGROUND)
		tcsetpgrp(tty, command);
	else if (byte == BACKGROUND)
		tcsetpgrp(tty, getpgrp());
	else if (byte < TO_GROUP || kill(-command, byte - TO_GROUP) < 0)
		kill(command, byte % TO_GROUP);
}

static void forward(pid_t command)
{
	unsigned char byte;
	ssize_t n = read(control_fd, &byte, 1);

	if (n == 1) {
		obey(command, byte);
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
	if (fd > 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The keeper removes its placeholders when this process, the last one, is gone. */
static bool tell_keeper(int keeper)
{
	int self = keeper < 0 ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
	bool told = keeper < 0 || (self >= 0 && send_fd(keeper, self));

	if (self >= 0)
		close(self);
	if (keeper >= 0)
		close(keeper);
	return told;
}

/* The words before the command. */
static bool read_words(char **argv)
{
	int image = atoi(argv[1]);

	control_fd = atoi(argv[2]);
	status_fd = atoi(argv[3]);
	skip = (unsigned)atoi(argv[5]);
	keep_for_myself(control_fd);
	keep_for_myself(status_fd);
	if (image >= 0)
		close(image);
	for (int i = 0; i < 3; i++) {
		stdio[i] = atoi(argv[6 + i]);
		keep_for_myself(stdio[i]);
	}
	limits = argv[9];
	return strcmp(argv[10], "--") == 0;
}

static bool wants_terminal(void)
{
	return stdio[0] == TERMINAL || stdio[1] == TERMINAL || stdio[2] == TERMINAL;
}

/* The end of its children is read, not felt; and it may give its terminal to whom it likes. */
static int block_signals(sigset_t *ret_old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGHUP); /* a runner that is gone shows on CONTROL */
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, ret_old);
	sigdelset(&set, SIGTTOU);
	sigdelset(&set, SIGHUP);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
	sigset_t mask;
	pid_t command;
	int signals;

	if (argc < 12 || !read_words(argv))
		return 125;
	if (!(skip & SKIP_HIDE) && prctl(PR_SET_DUMPABLE, 0) < 0)
		return 125;
	if (!(skip & SKIP_LEASH))
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	signals = block_signals(&mask);
	if (signals < 0)
		return 125;
	if (!tell_keeper(atoi(argv[4])))
		return 125;
	if (wants_terminal()) {
		if (!open_terminal()) {
			tell("noexec", errno);
			return 125;
		}
		await_runner();
	}
	command = fork();
	if (command == 0)
		payload(argv + 11, &mask);
	if (command < 0)
		return 125;
	let_go();
	for (int sig = 1; sig <= 64; sig++)
		if (early >> (sig - 1) & 1)
			kill(command, sig);
	return finish(mind(command, signals));
}
