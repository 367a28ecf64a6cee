/* Scenarios about descriptors that the runner has, or lacks. */
#include "stage_play.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Starts with descriptor fd closed and does the one act of t; the others carry the protocol. */
static bool run_closed(struct try *t, struct play *p, int fd)
{
	SBX_CLEANUP_FREE char *acts = sbx_xasprintf("%s.acts", p->probe);
	char *const cmd[] = { p->probe, (char *)"--acts", acts,
		(char *)(fd == 1 ? "2" : "1"), NULL };

	t->stdio[0] = t->stdio[fd] = TRY_INHERIT;
	close(fd);
	if (try_write_acts(t, p, acts) < 0 || try_plan(t, p, NULL) < 0 ||
		try_start(t, p, cmd) < 0) {
		play_fail(p, "start");
	} else {
		try_end(t);
		if (*try_result(t, 0) == '\0')
			play_fail(p, "payload");
	}
	unlink(acts);
	return !p->ret->present;
}

/* On a descriptor that is closed at the start, bwrap's own handle on the host's /proc appears,
 * and pid 1 keeps it. */
static void closed(struct play *p, int fd)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf(
		"/proc/1/fd/%d/..%s/.ssh/id_ed25519", fd, p->scene->tree.home);
	struct try t = TRY_INIT;
	char hash[32];

	snprintf(hash, sizeof(hash), "%016llx",
		(unsigned long long)tree_canary_hash(&p->scene->tree, ".ssh/id_ed25519"));
	try_act(&t, "read", path, hash);
	if (run_closed(&t, p, fd))
		play_say(p, try_ok(&t, 0) ? "found" : "absent");
	try_done(&t);
}

void stage_closed_stdin(struct play *p)
{
	closed(p, 0);
}

void stage_closed_stdout(struct play *p)
{
	closed(p, 1);
}

void stage_closed_stderr(struct play *p)
{
	closed(p, 2);
}

/* ---- what a careless runner leaks ---- */

/* Far from the numbers that a payload gets. */
#define LEAK_BASE 120

/* A copy that an exec does not close; takes fd. */
static int leak(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD, LEAK_BASE);

	sbx_close_fd(&fd);
	return high;
}

static void act_on_fd(struct try *t, const char *op, int fd, const char *more)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	try_act(t, op, text, more);
}

static int inet(int type, struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 4) < 0) ||
		getsockname(fd, (struct sockaddr *)ret, &len) < 0)
		return -1;
	return fd;
}

static int connected(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0 ? fd
										     : -1;
}

/* Did the nonce come out at our end? */
static bool heard(int fd, const struct play *p)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };
	char buf[64];
	ssize_t n = poll(&f, 1, 0) > 0 ? recv(fd, buf, sizeof(buf), MSG_DONTWAIT) : 0;

	return n == (ssize_t)strlen(p->token) && memcmp(buf, p->token, (size_t)n) == 0;
}

void stage_leaked_sockets(struct play *p)
{
	struct sockaddr_in tcp, udp, leaked;
	int listener = inet(SOCK_STREAM, &tcp), receiver = inet(SOCK_DGRAM, &udp);
	int ours = connected(&tcp), out = leak(accept(listener, NULL, NULL));
	int datagram = leak(socket(AF_INET, SOCK_DGRAM, 0));
	int open_door = leak(inet(SOCK_STREAM, &leaked)), guest = connected(&leaked);
	struct try t = TRY_INIT;
	char port[16];

	snprintf(port, sizeof(port), "%d", ntohs(udp.sin_port));
	act_on_fd(&t, "fd_send", out, NULL);
	act_on_fd(&t, "fd_sendto", datagram, port);
	act_on_fd(&t, "fd_accept", open_door, NULL);
	if (ours < 0 || out < 0 || receiver < 0 || datagram < 0 || guest < 0)
		play_fail(p, "sockets");
	else if (try_run(&t, p, NULL))
		play_list(p, "none",
			(const struct found[]){ { "tcp", heard(ours, p) },
				{ "udp", heard(receiver, p) },
				{ "listener", heard(guest, p) }, { NULL, false } });
	try_done(&t);
}

void stage_leaked_handles(struct play *p)
{
	int ns = leak(open("/proc/self/ns/net", O_RDONLY));
	int process = leak(pidfd_open(getpid(), 0));
	int proc = leak(open("/proc/self", O_RDONLY | O_DIRECTORY));
	struct try t = TRY_INIT;

	act_on_fd(&t, "fd_open", ns, NULL);
	act_on_fd(&t, "fd_open", process, NULL);
	act_on_fd(&t, "fd_openat", proc, "status");
	if (try_run(&t, p, NULL))
		play_list(p, "none",
			(const struct found[]){ { "ns", try_ok(&t, 0) },
				{ "pidfd", try_ok(&t, 1) }, { "proc", try_ok(&t, 2) },
				{ NULL, false } });
	try_done(&t);
}

/* What pid 1 holds the payload can take a path through: no descriptor of the launch, none that
 * was leaked, and none that leads to a directory. */
void stage_pid1_fds(struct play *p)
{
	int dir = leak(open(p->scene->tree.home, O_RDONLY | O_DIRECTORY));
	struct try t = TRY_INIT;

	try_act(&t, "proc_fds", "/proc/1/fd");
	if (dir < 0)
		play_fail(p, "leak");
	else if (run_closed(&t, p, 0))
		play_pass(p, try_result(&t, 0));
	try_done(&t);
}

/* ---- what standard error leads to ---- */

/* A log of the host's, opened for appending only. */
void stage_stdout_file(struct play *p)
{
	SBX_CLEANUP_FREE char *path = play_path(p, "log");
	struct try t = TRY_INIT;
	struct stat st = { 0 };

	if (play_write(path, "what was logged before\n") < 0)
		play_fail(p, "log");
	t.relayed = true;
	t.stdio[2] = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	act_on_fd(&t, "fd_reread", 2, NULL);
	act_on_fd(&t, "fd_mode", 2, NULL);
	act_on_fd(&t, "fd_truncate", 2, NULL);
	if (try_run(&t, p, NULL) && stat(path, &st) == 0)
		play_list(p, "held",
			(const struct found[]){ { "read", try_ok(&t, 0) },
				{ "mode", (st.st_mode & 07777) != 0600 },
				{ "emptied", st.st_size == 0 }, { NULL, false } });
	sbx_close_fd(&t.stdio[2]);
	try_done(&t);
}

/* A pipe into which others write as well. */
void stage_stdout_pipe(struct play *p)
{
	struct try t = TRY_INIT;
	int pipe[2];

	if (sbx_pipe(pipe) < 0 || write(pipe[1], "of others", 9) != 9) {
		play_fail(p, "pipe");
		return;
	}
	t.relayed = true;
	t.stdio[2] = pipe[1];
	act_on_fd(&t, "fd_reread", 2, NULL);
	act_on_fd(&t, "fd_nonblock", 2, NULL);
	if (try_run(&t, p, NULL))
		play_list(p, "held",
			(const struct found[]){ { "read", try_ok(&t, 0) },
				{ "nonblock",
					(fcntl(pipe[1], F_GETFL) & O_NONBLOCK) != 0 },
				{ NULL, false } });
	close(pipe[0]);
	close(pipe[1]);
	try_done(&t);
}
