/* Payloads of staged scenarios: other ways of being started, and acts on what only a staged
 * runner hands in. */
#include "probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* ---- what pid 1 of the sandbox could be made to do ---- */

#ifdef __x86_64__
/* Has the stopped process do one system call, at the instruction that brought it here. */
static long call_in(pid_t pid, long nr, long a0, long a1)
{
	struct user_regs_struct saved, regs;
	int status;

	if (ptrace(PTRACE_GETREGS, pid, 0, &saved) < 0)
		return -1;
	regs = saved;
	regs.rip -= 2;
	regs.rax = (unsigned long long)nr;
	regs.orig_rax = (unsigned long long)-1;
	regs.rdi = (unsigned long long)a0;
	regs.rsi = (unsigned long long)a1;
	if (ptrace(PTRACE_SETREGS, pid, 0, &regs) < 0 ||
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0) < 0 ||
		waitpid(pid, &status, __WALL) < 0 ||
		ptrace(PTRACE_GETREGS, pid, 0, &regs) < 0 ||
		ptrace(PTRACE_SETREGS, pid, 0, &saved) < 0)
		return -1;
	return (long)regs.rax;
}
#else
static long call_in(pid_t pid, long nr, long a0, long a1)
{
	(void)pid;
	(void)nr;
	(void)a0;
	(void)a1;
	return -1;
}
#endif

static void disarm(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		return;
	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 &&
		waitpid(pid, &status, __WALL) == pid)
		call_in(pid, SYS_prctl, PR_SET_PDEATHSIG, 0);
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* Writes to the event by which bwrap hears how the payload ended: status 0, plus one. */
static long forge_status(void)
{
	long pidfd = syscall(SYS_pidfd_open, 1, 0), ret = -1;
	uint64_t event = 1;
	char path[64], text[64];

	for (int fd = 3; pidfd >= 0 && fd < 32; fd++) {
		ssize_t n;
		long copy;

		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		n = readlink(path, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		if (strcmp(text, "anon_inode:[eventfd]") != 0)
			continue;
		copy = syscall(438 /* pidfd_getfd */, pidfd, fd, 0);
		ret = copy < 0 ? -1 : write((int)copy, &event, sizeof(event));
	}
	return ret;
}

/* ---- ways of being started ---- */

static bool say_up(void)
{
	return write(STDOUT_FILENO, "up\n", 3) == 3;
}

/* Stays until nobody reads stdout any more; half a minute at most. */
static int linger(void)
{
	struct pollfd leash = { .fd = STDOUT_FILENO };

	signal(SIGALRM, SIG_DFL);
	alarm(30);
	return say_up() ? poll(&leash, 1, -1) : 1;
}

/* FILE FD: the acts come from FILE, the answers go to FD. For a start without stdin. */
static int mode_acts(char **a)
{
	int fd = open(a[0], O_RDONLY);
	int out = (int)probe_number(a[1]);

	if (fd < 0 || (fd != 0 && dup2(fd, 0) < 0) || (out != 1 && dup2(out, 1) < 0))
		return 66;
	if (fd > 2)
		close(fd);
	return -1;
}

/* Tells that it is there before it reads its acts: what happens in between is the scenario. */
static int mode_up(char **a)
{
	(void)a;
	return say_up() ? -1 : 74;
}

static int mode_linger(char **a)
{
	(void)a;
	return linger() < 0;
}

/* A daemon as it is in the books: two forks, a session of its own. */
static int mode_daemon(char **a)
{
	struct pollfd leash = { .fd = STDOUT_FILENO };

	(void)a;
	if (fork() == 0) {
		if (setsid() > 0 && fork() == 0)
			linger();
		_exit(0);
	}
	alarm(30);
	return poll(&leash, 1, -1) < 0;
}

static int mode_exit(char **a)
{
	return (int)probe_number(a[0]);
}

static int mode_signal(char **a)
{
	int sig = (int)probe_number(a[0]);

	signal(sig, SIG_DFL);
	raise(sig);
	return 0;
}

/* FILE DIR: locks and leases the one, watches the other. */
static int mode_observe(char **a)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC), watch = inotify_init1(IN_CLOEXEC);
	struct pollfd p[2] = { { .fd = watch, .events = POLLIN }, { .fd = 1 } };

	signal(SIGIO, SIG_IGN);
	flock(fd, LOCK_EX | LOCK_NB);
	fcntl(fd, F_SETLEASE, F_RDLCK);
	inotify_add_watch(watch, a[1], IN_OPEN);
	alarm(30);
	if (!say_up() || poll(p, 2, 5000) <= 0 || p[1].revents ||
		write(1, "seen\n", 5) != 5)
		return 1;
	return poll(p + 1, 1, -1) < 0;
}

/* Tells pid 1 not to die with its parent, by way of ptrace. */
static int mode_disarm(char **a)
{
	(void)a;
	disarm(1);
	return linger() < 0;
}

/* Stays if it could make bwrap believe that it is gone, with status 0. */
static int mode_forge(char **a)
{
	struct pollfd leash = { .fd = STDOUT_FILENO };

	(void)a;
	if (forge_status() < 0)
		return 9;
	alarm(30);
	return poll(&leash, 1, -1) < 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **args);
} modes[] = {
	{ "--acts", 2, mode_acts },
	{ "--up", 0, mode_up },
	{ "--linger", 0, mode_linger },
	{ "--daemon", 0, mode_daemon },
	{ "--observe", 2, mode_observe },
	{ "--disarm", 0, mode_disarm },
	{ "--forge", 0, mode_forge },
	{ "--exit", 1, mode_exit },
	{ "--signal", 1, mode_signal },
};

int probe_mode(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0 && argc == modes[i].args + 2)
			return modes[i].run(argv + 2);
	return 64;
}

/* ---- inherited descriptors ---- */

static int number(const char *s)
{
	return (int)probe_number(s);
}

ACT(act_fd_open)
{
	(void)c;
	probe_sysresult(r, fcntl(number(a[0]), F_GETFD) < 0 ? -1 : 0);
}

ACT(act_fd_send)
{
	probe_sysresult(r, write(number(a[0]), c->token, strlen(c->token)));
}

/* FD PORT of the loopback address. */
ACT(act_fd_sendto)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)probe_number(a[1])),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	probe_sysresult(r, sendto(number(a[0]), c->token, strlen(c->token), 0,
				   (struct sockaddr *)&sin, sizeof(sin)));
}

/* Somebody is waiting there already. */
ACT(act_fd_accept)
{
	int fd = accept4(number(a[0]), NULL, NULL, SOCK_CLOEXEC);

	probe_sysresult(r, fd < 0 ? -1 : write(fd, c->token, strlen(c->token)));
	if (fd >= 0)
		close(fd);
}

static bool is_plain(const struct dirent *e, const char *text)
{
	if (e->d_name[0] != '.' && atoi(e->d_name) <= 2)
		return text[0] != '/' || strcmp(text, "/dev/null") == 0;
	return e->d_name[0] == '.' || strcmp(text, "anon_inode:[eventfd]") == 0;
}

/* DIR of descriptors: anything but 0 to 2, which lead to no directory, and what bwrap waits
 * on? -1 with errno: they cannot be looked at. */
static int look_at_links(const char *dir)
{
	DIR *d = opendir(dir);
	int more = 0;

	if (d == NULL)
		return -1;
	for (struct dirent *e; more >= 0 && (e = readdir(d)) != NULL;) {
		char text[256];
		ssize_t n = readlinkat(dirfd(d), e->d_name, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		if (n < 0 && errno == EACCES)
			more = -1;
		else if (!is_plain(e, text))
			more = 1;
	}
	closedir(d);
	if (more < 0)
		errno = EACCES;
	return more;
}

/* bwrap closes what it had open when the payload may be at work already: in the end. */
ACT(act_fd_links)
{
	int more = look_at_links(a[0]);

	(void)c;
	for (int i = 0; i < 100 && more > 0; i++) {
		poll(NULL, 0, 1);
		more = look_at_links(a[0]);
	}
	if (more < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r, more ? "more" : "own");
}

/* PATH: can it be read, starting from anything that pid 1 has open? */
ACT(act_pid1_walk)
{
	char path[4096], byte;
	long ret = -1;

	(void)c;
	for (int fd = 3; fd < 32 && ret < 0; fd++) {
		snprintf(path, sizeof(path), "/proc/1/fd/%d/%s", fd, a[0]);
		ret = probe_slurp(path, &byte, 1);
	}
	probe_sysresult(r, ret);
}

static int reopen(const char *fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%s", fd);
	return open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* FD: opened again for reading, is there something to read? */
ACT(act_fd_reread)
{
	int fd = reopen(a[0], O_RDONLY);
	char byte;

	(void)c;
	probe_sysresult(r, fd < 0 ? -1 : read(fd, &byte, 1) == 1 ? 0 : -1);
	if (fd >= 0)
		close(fd);
}

ACT(act_fd_truncate)
{
	(void)c;
	probe_sysresult(r, ftruncate(number(a[0]), 0));
}

ACT(act_fd_mode)
{
	(void)c;
	probe_sysresult(r, fchmod(number(a[0]), 0640));
}

ACT(act_fd_nonblock)
{
	int flags = fcntl(number(a[0]), F_GETFL);

	(void)c;
	probe_sysresult(r, fcntl(number(a[0]), F_SETFL, flags | O_NONBLOCK));
}

/* ---- terminals ---- */

static long sti(int fd, unsigned long high)
{
	return syscall(SYS_ioctl, fd, (unsigned long)TIOCSTI | high, "x");
}

/* FD, or a path: types one byte, plainly and with high bits set. */
ACT(act_tty_type)
{
	bool path = a[0][0] == '/';
	int fd = path ? open(a[0], O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
		      : number(a[0]);
	long ret = fd < 0 ? -1 : sti(fd, 0);

	(void)c;
	if (ret < 0 && fd >= 0)
		ret = sti(fd, 1UL << 32);
	probe_sysresult(r, ret);
	if (path && fd >= 0)
		close(fd);
}

/* The state of the shift keys: changes nothing. */
ACT(act_tty_linux)
{
	char sub = 6;

	(void)c;
	probe_sysresult(r, syscall(SYS_ioctl, number(a[0]), 0x541cUL, &sub));
}

/* Becomes the foreground group, in a child that ends at once. */
ACT(act_tty_foreground)
{
	(void)c;
	signal(SIGTTOU, SIG_IGN);
	setpgid(0, 0);
	probe_sysresult(r, tcsetpgrp(number(a[0]), getpgrp()));
}

/* Another session's controlling terminal becomes one's own. */
ACT(act_tty_steal)
{
	(void)c;
	setsid();
	probe_sysresult(r, ioctl(number(a[0]), TIOCSCTTY, 1));
}

ACT(act_tty_modes)
{
	struct termios t;

	(void)c;
	if (tcgetattr(number(a[0]), &t) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	t.c_lflag ^= ECHO;
	signal(SIGTTOU, SIG_IGN);
	probe_sysresult(r, tcsetattr(number(a[0]), TCSANOW, &t));
}

ACT(act_tty_size)
{
	struct winsize w = { .ws_row = 7, .ws_col = 7 };

	(void)c;
	signal(SIGTTOU, SIG_IGN);
	probe_sysresult(r, ioctl(number(a[0]), TIOCSWINSZ, &w));
}

/* Sets the clipboard of many terminals, to nothing. */
ACT(act_tty_escape)
{
	static const char text[] = "\033]52;c;\007";

	(void)c;
	signal(SIGTTOU, SIG_IGN);
	probe_sysresult(r, write(number(a[0]), text, sizeof(text) - 1));
}

/* ---- the process group, pid 1 ---- */

/* A signal that nobody minds. */
ACT(act_group_signal)
{
	(void)c;
	(void)a;
	signal(SIGURG, SIG_IGN);
	probe_sysresult(r, kill(0, SIGURG));
}

/* One step nicer than now. May fail for one member and reach the others. */
ACT(act_group_nice)
{
	(void)c;
	(void)a;
	probe_sysresult(r, setpriority(PRIO_PGRP, 0, getpriority(PRIO_PROCESS, 0) + 1));
}

/* Best effort, 6: a lower place than the usual 4. */
ACT(act_group_ioprio)
{
	(void)c;
	(void)a;
	probe_sysresult(r, syscall(SYS_ioprio_set, 2, 0, 2 << 13 | 6));
}

/* ---- files ---- */

/* PATH TEXT [x]: writes TEXT to the end of PATH, which is made when missing. */
ACT(act_put)
{
	int fd = open(a[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		a[2] ? 0700 : 0600);

	(void)c;
	probe_sysresult(r, fd < 0 ? -1 : write(fd, a[1], strlen(a[1])));
	if (fd >= 0)
		close(fd);
}

/* A fifo with a reader takes it at once; one without does not block. */
ACT(act_fifo)
{
	int fd = open(a[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	probe_sysresult(r, fd < 0 ? -1 : write(fd, c->token, strlen(c->token)));
	if (fd >= 0)
		close(fd);
}

const struct probe_op probe_stage[] = {
	{ "fd_open", PROBE_INPROC, 1, act_fd_open, "is it open" },
	{ "fd_send", PROBE_INPROC, 1, act_fd_send, "the nonce on a connected socket" },
	{ "fd_sendto", PROBE_INPROC, 2, act_fd_sendto, "the nonce to a port" },
	{ "fd_accept", PROBE_INPROC, 1, act_fd_accept, "who waits at a listener" },
	{ "proc_fds", PROBE_INPROC, 1, act_fd_links, "what a process holds" },
	{ "pid1_walk", PROBE_INPROC, 1, act_pid1_walk, "a path through pid 1" },
	{ "fd_reread", PROBE_INPROC, 1, act_fd_reread, "opened again for reading" },
	{ "fd_truncate", PROBE_INPROC, 1, act_fd_truncate, "emptied" },
	{ "fd_mode", PROBE_INPROC, 1, act_fd_mode, "another mode" },
	{ "fd_nonblock", PROBE_INPROC, 1, act_fd_nonblock, "O_NONBLOCK" },
	{ "tty_type", PROBE_INPROC, 1, act_tty_type, "TIOCSTI" },
	{ "tty_linux", PROBE_INPROC, 1, act_tty_linux, "TIOCLINUX" },
	{ "tty_foreground", PROBE_FORK, 1, act_tty_foreground, "tcsetpgrp" },
	{ "tty_steal", PROBE_FORK, 1, act_tty_steal, "TIOCSCTTY" },
	{ "tty_modes", PROBE_FORK, 1, act_tty_modes, "tcsetattr" },
	{ "tty_size", PROBE_FORK, 1, act_tty_size, "TIOCSWINSZ" },
	{ "tty_escape", PROBE_FORK, 1, act_tty_escape, "an escape sequence" },
	{ "group_signal", PROBE_FORK, 0, act_group_signal, "kill(0)" },
	{ "group_nice", PROBE_INPROC, 0, act_group_nice, "setpriority(PRIO_PGRP)" },
	{ "group_ioprio", PROBE_INPROC, 0, act_group_ioprio, "ioprio_set(PGRP)" },
	{ "put", PROBE_INPROC, 2, act_put, "text at the end of a file" },
	{ "fifo_write", PROBE_INPROC, 1, act_fifo, "the nonce into a fifo" },
	{ 0 },
};
