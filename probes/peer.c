/* Acts on what the network and a peer's socket give away. Nothing leaves the machine: tables of
 * the kernel are read, and the runner's own socket in the work dir is connected to. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)
#define PEERPIDFD 77 /* SO_PEERPIDFD, Linux 6.5 */
#define TCP_LISTENING (1U << 10)
#define LOOPBACK_INDEX 1

static char buf[65536];

/* ---- tables of the kernel ---- */

static int ask(int protocol, const void *request, size_t len)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd >= 0 && send(fd, request, len, 0) < 0) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

typedef bool seen_fn(const struct nlmsghdr *h, unsigned long what);

/* Reads the answer to its end. Returns 1 when a message was what is looked for. */
static int look_for(int fd, seen_fn *seen, unsigned long what)
{
	bool any = false;

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		unsigned left = (unsigned)n;

		if (n <= 0)
			return -1;
		for (struct nlmsghdr *h = (struct nlmsghdr *)buf; NLMSG_OK(h, left);
			h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return any;
			if (h->nlmsg_type == NLMSG_ERROR)
				return -1;
			any |= seen(h, what);
		}
	}
}

static bool other_link(const struct nlmsghdr *h, unsigned long what)
{
	const struct ifinfomsg *i = NLMSG_DATA(h);

	(void)what;
	return h->nlmsg_type == RTM_NEWLINK && i->ifi_index != LOOPBACK_INDEX;
}

/* Which interfaces does the kernel list? */
ACT(act_links)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} q = { { .nlmsg_len = sizeof(q),
			.nlmsg_type = RTM_GETLINK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		{ .rtgen_family = AF_UNSPEC } };
	int fd = ask(NETLINK_ROUTE, &q, sizeof(q));
	int any = fd < 0 ? -1 : look_for(fd, other_link, 0);

	(void)c;
	(void)a;
	if (any < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r, any ? "more" : "lo");
	if (fd >= 0)
		close(fd);
}

static bool listens_on(const struct nlmsghdr *h, unsigned long port)
{
	const struct inet_diag_msg *d = NLMSG_DATA(h);

	return ntohs(d->id.idiag_sport) == port;
}

/* PORT: is it among the kernel's list of listening sockets? */
ACT(act_sockdiag)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 d;
	} q = { { .nlmsg_len = sizeof(q),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		{ .sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = TCP_LISTENING } };
	int fd = ask(NETLINK_SOCK_DIAG, &q, sizeof(q));
	int any = fd < 0 ? -1 : look_for(fd, listens_on, probe_number(a[0]));

	(void)c;
	if (any < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r, any ? "found" : "absent");
	if (fd >= 0)
		close(fd);
}

/* Is there a way to anywhere? A route is looked at, never taken. */
ACT(act_routes)
{
	long len = probe_slurp("/proc/net/route", buf, sizeof(buf) - 1);
	char *first;

	(void)c;
	(void)a;
	if (len < 0) {
		probe_sysresult(r, -1);
		return;
	}
	buf[len] = '\0';
	first = strchr(buf, '\n'); /* after the heading */
	probe_value(r, first && first[1] ? "some" : "none");
}

/* PROTOCOL GROUP: listen to what the kernel announces there. */
ACT(act_netlink_bind)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, (int)probe_number(a[0]));

	(void)c;
	nl.nl_groups = (unsigned)probe_number(a[1]);
	probe_sysresult(r, fd < 0 ? -1 : bind(fd, (struct sockaddr *)&nl, sizeof(nl)));
	if (fd >= 0)
		close(fd);
}

/* ---- listening ---- */

static int bind_inet(uint32_t addr, unsigned long port, bool wait)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(addr) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ret, err;

	if (fd < 0)
		return -1;
	ret = bind(fd, (struct sockaddr *)&sin, sizeof(sin));
	if (ret == 0 && wait)
		ret = listen(fd, 1);
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

/* On loopback only: a port that the machine's neighbours could see is more than a test is
 * worth. */
ACT(act_listen)
{
	(void)c;
	(void)a;
	probe_sysresult(r, bind_inet(INADDR_LOOPBACK, 0, true));
}

/* PORT below the first that everybody may take; "open" where there is none such. */
ACT(act_bind_low)
{
	long len = probe_slurp(
		"/proc/sys/net/ipv4/ip_unprivileged_port_start", buf, sizeof(buf) - 1);
	unsigned long port = probe_number(a[0]);

	(void)c;
	buf[len > 0 ? len : 0] = '\0';
	if (len > 0 && strtoul(buf, NULL, 10) <= port)
		probe_value(r, "open");
	else
		probe_sysresult(r, bind_inet(INADDR_LOOPBACK, port, false));
}

/* NAME in the abstract namespace, taken and given back. */
ACT(act_bind_abstract)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)c;
	snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1, "%s", a[0]);
	probe_sysresult(r, fd < 0 ? -1 : bind(fd, (struct sockaddr *)&sun, sizeof(sun)));
	if (fd >= 0)
		close(fd);
}

/* ---- a peer ---- */

static int connect_unix(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
		err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* PATH: a handle on whoever listens there; does a signal, number 0, reach it? */
ACT(act_peer_pidfd)
{
	int fd = connect_unix(a[0]), pidfd = -1;
	socklen_t len = sizeof(pidfd);

	(void)c;
	if (fd < 0) {
		probe_broken(r, "no connection");
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, PEERPIDFD, &pidfd, &len) < 0)
		probe_sysresult(r, -1);
	else
		probe_sysresult(r, syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
	if (pidfd >= 0)
		close(pidfd);
	close(fd);
}

/* PATH: hands an open /dev/null to whoever listens there. */
ACT(act_scm_rights)
{
	int fd = connect_unix(a[0]), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char byte = '\n', space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	(void)c;
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &null, sizeof(int));
	probe_sysresult(r, fd < 0 || null < 0 ? -1 : sendmsg(fd, &m, MSG_NOSIGNAL));
	if (null >= 0)
		close(null);
	if (fd >= 0)
		close(fd);
}

const struct probe_op probe_peer[] = {
	{ "links", PROBE_INPROC, 0, act_links, "interfaces, by netlink" },
	{ "sockdiag", PROBE_INPROC, 1, act_sockdiag, "listening sockets, by netlink" },
	{ "routes", PROBE_INPROC, 0, act_routes, "is there a route" },
	{ "netlink_bind", PROBE_INPROC, 2, act_netlink_bind,
		"PROTOCOL GROUP: what the kernel announces" },
	{ "listen", PROBE_INPROC, 0, act_listen, "a port of one's own" },
	{ "bind_low", PROBE_INPROC, 1, act_bind_low, "a port for the privileged" },
	{ "bind_abstract", PROBE_INPROC, 1, act_bind_abstract, "an abstract name" },
	{ "peer_pidfd", PROBE_INPROC, 1, act_peer_pidfd, "a handle on a listener" },
	{ "scm_rights", PROBE_INPROC, 1, act_scm_rights, "a descriptor for a listener" },
	{ 0 },
};
