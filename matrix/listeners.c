#include "listeners.h"

#include "fds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define MAX_CLIENTS 64
#define LOG_MAX 16384
#define TOKEN_MAX 48
#define MPTCP 262

struct seen_log {
	atomic_uint n;
	struct {
		unsigned char which;
		char token[TOKEN_MAX];
	} entry[LOG_MAX];
};

struct client {
	int fd;
	enum listener which;
	size_t len;
	char buf[1024];
};

struct server {
	struct seen_log *log;
	int fds[_LISTEN_MAX];
	int ctl;
	struct client clients[MAX_CLIENTS];
};

static const struct {
	const char *label;
	int domain, type, protocol;
} kinds[_LISTEN_MAX] = {
	[LISTEN_TCP4] = { "tcp4", AF_INET, SOCK_STREAM, 0 },
	[LISTEN_TCP6] = { "tcp6", AF_INET6, SOCK_STREAM, 0 },
	[LISTEN_MPTCP] = { "mptcp", AF_INET, SOCK_STREAM, MPTCP },
	[LISTEN_HTTP4] = { "http4", AF_INET, SOCK_STREAM, 0 },
	[LISTEN_HTTP6] = { "http6", AF_INET6, SOCK_STREAM, 0 },
	[LISTEN_HTTPNAME] = { "httpname", AF_INET, SOCK_STREAM, 0 },
	[LISTEN_PROXY] = { "proxy", AF_INET, SOCK_STREAM, 0 },
	[LISTEN_UDP4] = { "udp4", AF_INET, SOCK_DGRAM, 0 },
	[LISTEN_UDP6] = { "udp6", AF_INET6, SOCK_DGRAM, 0 },
	[LISTEN_ABSTRACT] = { "abstract", AF_UNIX, SOCK_STREAM, 0 },
	[LISTEN_UNIX_WORK] = { "unix_work", AF_UNIX, SOCK_STREAM, 0 },
	[LISTEN_UNIX_OUT] = { "unix_out", AF_UNIX, SOCK_STREAM, 0 },
};

const char *listener_label(enum listener l)
{
	return kinds[l].label;
}

int listener_find(const char *label)
{
	for (int i = 0; i < _LISTEN_MAX; i++)
		if (strcmp(kinds[i].label, label) == 0)
			return i;
	return -1;
}

/* ---- in the child ---- */

static void note(struct server *s, enum listener which, const char *token, size_t len)
{
	unsigned i = atomic_load(&s->log->n);

	if (i >= LOG_MAX || len >= TOKEN_MAX)
		return;
	s->log->entry[i].which = (unsigned char)which;
	memcpy(s->log->entry[i].token, token, len);
	s->log->entry[i].token[len] = '\0';
	atomic_store(&s->log->n, i + 1);
}

static void drop(struct client *c)
{
	close(c->fd);
	c->fd = -1;
}

/* "GET http://x/TOKEN HTTP/1.1": the nonce is the last part of the path. */
static void answer_http(struct server *s, struct client *c)
{
	const char *end = memchr(c->buf + 4, ' ', c->len - 4);
	char reply[256];
	const char *start;
	int n;

	if (end == NULL) {
		drop(c);
		return;
	}
	for (start = end; start > c->buf && start[-1] != '/'; start--)
		;
	if (end - start >= TOKEN_MAX) { /* no nonce of ours is that long */
		drop(c);
		return;
	}
	note(s, c->which, start, (size_t)(end - start));
	n = snprintf(reply, sizeof(reply),
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%.*s",
		(int)(end - start), (int)(end - start), start);
	if (send(c->fd, reply, (size_t)n, MSG_NOSIGNAL) < 0)
		n = 0; /* the client's own result tells */
	drop(c);
}

static void serve(struct server *s, struct client *c)
{
	ssize_t n =
		recv(c->fd, c->buf + c->len, sizeof(c->buf) - 1 - c->len, MSG_DONTWAIT);

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			drop(c);
		return;
	}
	c->len += (size_t)n;
	c->buf[c->len] = '\0';
	if (strncmp(c->buf, "GET ", 4) == 0) {
		if (strstr(c->buf, "\r\n\r\n") || c->len == sizeof(c->buf) - 1)
			answer_http(s, c);
		return;
	}
	note(s, c->which, c->buf, c->len);
	if (send(c->fd, c->buf + c->len - n, (size_t)n, MSG_NOSIGNAL) < 0)
		drop(c);
}

static void accept_client(struct server *s, enum listener which)
{
	int fd = accept4(s->fds[which], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (int i = 0; i < MAX_CLIENTS; i++)
		if (s->clients[i].fd < 0) {
			s->clients[i] = (struct client){ .fd = fd, .which = which };
			return;
		}
	close(fd);
}

static void answer_datagram(struct server *s, enum listener which)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char buf[256];
	ssize_t n = recvfrom(s->fds[which], buf, sizeof(buf), MSG_DONTWAIT,
		(struct sockaddr *)&from, &len);

	if (n < 0)
		return;
	note(s, which, buf, (size_t)n);
	if (sendto(s->fds[which], buf, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&from,
		    len) < 0)
		return;
}

/* One round of poll. Returns the number of events. *ret_ctl: the runner has spoken. */
static int turn(struct server *s, int timeout_ms, bool *ret_ctl)
{
	struct pollfd p[_LISTEN_MAX + MAX_CLIENTS + 1];
	int n;

	for (int i = 0; i < _LISTEN_MAX; i++)
		p[i] = (struct pollfd){ .fd = s->fds[i], .events = POLLIN };
	for (int i = 0; i < MAX_CLIENTS; i++)
		p[_LISTEN_MAX + i] =
			(struct pollfd){ .fd = s->clients[i].fd, .events = POLLIN };
	p[_LISTEN_MAX + MAX_CLIENTS] =
		(struct pollfd){ .fd = timeout_ms ? s->ctl : -1, .events = POLLIN };
	n = poll(p, SBX_ARRAY_SIZE(p), timeout_ms);
	for (int i = 0; n > 0 && i < MAX_CLIENTS; i++)
		if (p[_LISTEN_MAX + i].revents)
			serve(s, &s->clients[i]);
	for (int i = 0; n > 0 && i < _LISTEN_MAX; i++) {
		if (p[i].revents == 0)
			continue;
		if (kinds[i].type == SOCK_DGRAM)
			answer_datagram(s, (enum listener)i);
		else
			accept_client(s, (enum listener)i);
	}
	*ret_ctl = n > 0 && p[_LISTEN_MAX + MAX_CLIENTS].revents;
	return n;
}

/* False: the runner said goodbye, or died. */
static bool obey(struct server *s)
{
	bool ctl;
	char c;
	ssize_t n = recv(s->ctl, &c, 1, 0);

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0 || c == 'q')
		return false;
	/* Everything that has arrived is waiting in a queue: empty them all, then answer. */
	while (turn(s, 0, &ctl) > 0)
		;
	return send(s->ctl, &c, 1, MSG_NOSIGNAL) == 1;
}

static _Noreturn void server_main(struct server *s)
{
	int keep[_LISTEN_MAX + 1];
	bool ctl;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	memcpy(keep, s->fds, sizeof(s->fds));
	keep[_LISTEN_MAX] = s->ctl;
	fds_keep_only(keep, _LISTEN_MAX + 1);
	for (int i = 0; i < MAX_CLIENTS; i++)
		s->clients[i].fd = -1;
	for (;;) {
		if (turn(s, -1, &ctl) < 0 && errno != EINTR)
			break;
		if (ctl && !obey(s))
			break;
	}
	_exit(0);
}

/* ---- in the runner ---- */

static int bind_inet(int fd, int domain, int *ret_port)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_addr = in6addr_loopback };
	bool v6 = domain == AF_INET6;
	struct sockaddr *sa = v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in4;
	socklen_t len = v6 ? sizeof(in6) : sizeof(in4);

	in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, sa, len) < 0 || getsockname(fd, sa, &len) < 0)
		return -errno;
	*ret_port = ntohs(v6 ? in6.sin6_port : in4.sin_port);
	return 0;
}

static int bind_unix(int fd, const char *name, bool abstract)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(name);

	if (len + 1 >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path + abstract, name, len);
	len += offsetof(struct sockaddr_un, sun_path) + 1;
	return bind(fd, (struct sockaddr *)&sun, (socklen_t)len) < 0 ? -errno : 0;
}

static int open_listener(struct server *s, struct listeners *l, enum listener i,
	const struct listener_names *names)
{
	int fd = socket(kinds[i].domain, kinds[i].type | SOCK_CLOEXEC | SOCK_NONBLOCK,
		kinds[i].protocol);
	int r = fd < 0 ? -errno : 0;

	s->fds[i] = fd;
	if (r == 0 && kinds[i].domain != AF_UNIX)
		r = bind_inet(fd, kinds[i].domain, &l->port[i]);
	else if (r == 0)
		r = bind_unix(fd,
			i == LISTEN_ABSTRACT    ? names->abstract
			: i == LISTEN_UNIX_WORK ? names->unix_work
						: names->unix_out,
			i == LISTEN_ABSTRACT);
	if (r == 0 && kinds[i].type == SOCK_STREAM && listen(fd, 16) < 0)
		r = -errno;
	/* Without IPv6 or MPTCP in the kernel the control says so; that is no failure. */
	if (r < 0 && (kinds[i].domain == AF_INET6 || kinds[i].protocol)) {
		sbx_close_fd(&fd);
		s->fds[i] = -1;
		l->port[i] = 0;
		r = 0;
	}
	return r;
}

static void close_listeners(struct server *s)
{
	for (int i = 0; i < _LISTEN_MAX; i++)
		sbx_close_fd(&s->fds[i]);
}

int listeners_start(struct listeners *ret, const struct listener_names *names)
{
	static struct server s;
	struct listeners l = { .ctl = -1 };
	int pair[2], r = 0;

	for (int i = 0; i < _LISTEN_MAX; i++)
		s.fds[i] = -1;
	l.log = mmap(NULL, sizeof(*l.log), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l.log == MAP_FAILED)
		return -errno;
	for (int i = 0; r == 0 && i < _LISTEN_MAX; i++)
		r = open_listener(&s, &l, (enum listener)i, names);
	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r == 0) {
		s.log = l.log;
		s.ctl = pair[1];
		l.ctl = pair[0];
		l.pid = fork();
		if (l.pid == 0)
			server_main(&s);
		if (l.pid < 0)
			r = -errno;
		close(pair[1]);
	}
	close_listeners(&s);
	if (r < 0) {
		sbx_close_fd(&l.ctl);
		munmap(l.log, sizeof(*l.log));
		return r;
	}
	*ret = l;
	return 0;
}

int listeners_sync(const struct listeners *l)
{
	char c = 's';
	struct pollfd p = { .fd = l->ctl, .events = POLLIN };

	if (send(l->ctl, &c, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	if (poll(&p, 1, 5000) != 1)
		return -ETIMEDOUT;
	if (recv(l->ctl, &c, 1, 0) != 1)
		return -EPIPE;
	/* A full log would read as "nobody came". */
	return atomic_load(&l->log->n) < LOG_MAX ? 0 : -ENOSPC;
}

bool listeners_saw(const struct listeners *l, enum listener which, const char *token)
{
	unsigned n = atomic_load(&l->log->n);

	for (unsigned i = 0; i < n; i++)
		if (l->log->entry[i].which == which &&
			strcmp(l->log->entry[i].token, token) == 0)
			return true;
	return false;
}

void listeners_stop(struct listeners *l)
{
	char c = 'q';

	if (l->pid <= 0)
		return;
	if (send(l->ctl, &c, 1, MSG_NOSIGNAL) != 1)
		kill(l->pid, SIGKILL);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(l->ctl);
	munmap(l->log, sizeof(*l->log));
	*l = (struct listeners){ .ctl = -1 };
}
