/* Acts on sockets. Loopback and local sockets only. A connection counts when the listener's
 * banner came and the nonce was echoed: connect() alone proves nothing. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)
#define TICK_MS 500
#define WAIT_TICKS 4
#define PROTO_MPTCP 262

static int await(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n = -1;

	/* The probe's own clock interrupts every TICK; the listener may be slow to be run. */
	for (int i = 0; i < WAIT_TICKS; i++) {
		n = poll(&p, 1, TICK_MS);
		if (n > 0 || (n < 0 && errno != EINTR))
			break;
	}
	if (n <= 0 && (n == 0 || errno == EINTR))
		errno = ETIMEDOUT;
	return n > 0 ? 0 : -1;
}

static int connected(int fd, const struct sockaddr *sa, socklen_t len)
{
	int err = 0;
	socklen_t n = sizeof(err);

	if (connect(fd, sa, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (await(fd, POLLOUT) < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
		return -1;
	errno = err;
	return err ? -1 : 0;
}

/* Sends the nonce and wants it back. */
static void exchange(int fd, const struct probe_ctx *c, struct probe_result *r)
{
	char buf[256];
	size_t len = strlen(c->token), got = 0;
	ssize_t n = 0;

	if (send(fd, c->token, len, MSG_NOSIGNAL) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	while (got < len) {
		if (await(fd, POLLIN) < 0 ||
			(n = recv(fd, buf + got, sizeof(buf) - got, 0)) <= 0)
			break;
		got += (size_t)n;
	}
	if (got == len && memcmp(buf, c->token, len) == 0)
		probe_errno(r, 0);
	else if (got > 0 || n == 0)
		probe_value(r, "no-echo");
	else
		probe_sysresult(r, -1);
}

static void try_socket(int domain, int type, int proto, const struct sockaddr *sa,
	socklen_t len, const struct probe_ctx *c, struct probe_result *r)
{
	int fd = socket(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, proto);

	if (fd < 0 || connected(fd, sa, len) < 0)
		probe_sysresult(r, -1);
	else
		exchange(fd, c, r);
	if (fd >= 0)
		close(fd);
}

static void try_inet(
	int type, int proto, char **a, const struct probe_ctx *c, struct probe_result *r)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	in4.sin_port = in6.sin6_port = htons((uint16_t)probe_number(a[1]));
	if (inet_pton(AF_INET, a[0], &in4.sin_addr) == 1)
		try_socket(
			AF_INET, type, proto, (struct sockaddr *)&in4, sizeof(in4), c, r);
	else if (inet_pton(AF_INET6, a[0], &in6.sin6_addr) == 1)
		try_socket(AF_INET6, type, proto, (struct sockaddr *)&in6, sizeof(in6), c,
			r);
	else
		probe_broken(r, "bad address");
}

ACT(act_tcp)
{
	try_inet(SOCK_STREAM, 0, a, c, r);
}

ACT(act_mptcp)
{
	try_inet(SOCK_STREAM, PROTO_MPTCP, a, c, r);
}

ACT(act_udp)
{
	try_inet(SOCK_DGRAM, 0, a, c, r);
}

static void try_unix(const char *path, bool abstract, const struct probe_ctx *c,
	struct probe_result *r)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(path);

	if (len + 1 >= sizeof(sun.sun_path)) {
		probe_broken(r, "path too long for a socket");
		return;
	}
	memcpy(sun.sun_path + abstract, path, len);
	len += offsetof(struct sockaddr_un, sun_path) + 1;
	try_socket(
		AF_UNIX, SOCK_STREAM, 0, (struct sockaddr *)&sun, (socklen_t)len, c, r);
}

ACT(act_unix)
{
	try_unix(a[0], false, c, r);
}

ACT(act_abstract)
{
	try_unix(a[0], true, c, r);
}

/* A listener of our own, and a connection to it: loopback works. */
ACT(act_selfloop)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int srv = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), cli = -1;
	long ret = -1;

	(void)c;
	(void)a;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (srv >= 0 && bind(srv, (struct sockaddr *)&sin, len) == 0 &&
		listen(srv, 1) == 0 &&
		getsockname(srv, (struct sockaddr *)&sin, &len) == 0) {
		cli = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		ret = cli < 0 ? -1 : connected(cli, (struct sockaddr *)&sin, len);
	}
	probe_sysresult(r, ret);
	if (cli >= 0)
		close(cli);
	if (srv >= 0)
		close(srv);
}

ACT(act_socketpair)
{
	int p[2];

	(void)c;
	(void)a;
	probe_sysresult(r, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p));
	if (r->err == 0) {
		close(p[0]);
		close(p[1]);
	}
}

/* FAMILY TYPE PROTOCOL: creation only; nothing is sent. */
ACT(act_socket)
{
	int fd = socket((int)probe_number(a[0]), (int)probe_number(a[1]) | SOCK_CLOEXEC,
		(int)probe_number(a[2]));

	(void)c;
	probe_sysresult(r, fd);
	if (fd >= 0)
		close(fd);
}

/* Which interfaces are there? */
ACT(act_interfaces)
{
	static char buf[16384];
	long len = probe_slurp("/proc/net/dev", buf, sizeof(buf) - 1);
	int lo = 0, others = 0;

	(void)c;
	(void)a;
	if (len < 0) {
		probe_sysresult(r, -1);
		return;
	}
	buf[len] = '\0';
	for (char *line = strtok(buf, "\n"); line; line = strtok(NULL, "\n")) {
		if (strchr(line, ':') == NULL)
			continue;
		line += strspn(line, " ");
		if (strncmp(line, "lo:", 3) == 0)
			lo++;
		else
			others++;
	}
	probe_value(r, others ? "more" : lo ? "lo" : "none");
}

const struct probe_op probe_net[] = {
	{ "tcp", PROBE_INPROC, 2, act_tcp, "ADDRESS PORT: connect, banner, echo" },
	{ "mptcp", PROBE_INPROC, 2, act_mptcp, "the same by multipath TCP" },
	{ "udp", PROBE_INPROC, 2, act_udp, "ADDRESS PORT: datagram, echo" },
	{ "unix", PROBE_INPROC, 1, act_unix, "PATH: connect, echo" },
	{ "abstract", PROBE_INPROC, 1, act_abstract, "NAME: connect, echo" },
	{ "selfloop", PROBE_INPROC, 0, act_selfloop, "own listener on 127.0.0.1" },
	{ "socketpair", PROBE_INPROC, 0, act_socketpair, "a pair of unix sockets" },
	{ "socket", PROBE_INPROC, 3, act_socket, "FAMILY TYPE PROTOCOL" },
	{ "interfaces", PROBE_INPROC, 0, act_interfaces, "network interfaces" },
	{ 0 },
};
