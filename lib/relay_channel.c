/* One direction of the relay. A descriptor of the user's is shared with others and is not made
 * non-blocking: a socket and a pipe can be told not to block call by call (pipes since Linux
 * 6.4), and everything else is asked first whether it is ready. Bytes are copied: splice() would
 * lend pages of the user's file to a pipe that the command has an end of, and would fill the
 * user's pipe with as many small pieces as the command has written, where it holds sixteen. */
#include "relay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define CHUNK 65536
#define PLAIN_MAX 4096
_Static_assert(SBX_TERM_ROOM(PLAIN_MAX) <= CHUNK, "what may come out of it");
#define READY \
	4096 /* what says that it is ready for more takes as much without blocking */

size_t relay_watch(struct relay_poll *p, int fd, short events)
{
	if (p->n == SBX_ARRAY_SIZE(p->v))
		abort();
	p->v[p->n] = (struct pollfd){ .fd = fd, .events = events };
	return p->n++;
}

static mode_t type_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

void relay_channel_open(struct relay_channel *c, int from, int to, int ours)
{
	*c = (struct relay_channel){
		.from = from,
		.to = to,
		.ours = ours,
		.left = -1,
		.piece = to == ours || type_of(to) == S_IFREG ? CHUNK : READY,
	};
	c->buf = sbx_xcalloc(1, CHUNK);
}

bool relay_channel_over(const struct relay_channel *c)
{
	return c->from < 0;
}

void relay_channel_close(struct relay_channel *c)
{
	sbx_close_fd(&c->ours);
	free(c->buf);
	c->buf = NULL;
	c->from = c->to = c->ours = -1;
}

static void fail(struct relay_channel *c, int err)
{
	c->error = err;
	relay_channel_close(c);
}

/* Without anything to write the writing side is watched all the same: that its readers are gone
 * is always told. */
void relay_channel_watch(struct relay_channel *c, struct relay_poll *p)
{
	c->poll_from = relay_watch(p, c->len ? -1 : c->from, POLLIN);
	c->poll_to = relay_watch(p, c->to, c->len ? POLLOUT : 0);
}

static ssize_t take(int fd, char *buf, size_t max)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = max };
	ssize_t n = recv(fd, buf, max, MSG_DONTWAIT);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	if (type_of(fd) == S_IFIFO)
		n = preadv2(fd, &iov, 1, -1, RWF_NOWAIT);
	return n < 0 && (errno == ENOTSOCK || errno == EOPNOTSUPP) ? read(fd, buf, max)
								   : n;
}

static ssize_t give(const struct relay_channel *c)
{
	char *buf = c->buf + c->at;
	const struct iovec iov = { .iov_base = buf, .iov_len = c->len };
	ssize_t n = send(c->to, buf, c->len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	if (type_of(c->to) == S_IFIFO)
		n = pwritev2(c->to, &iov, 1, -1, RWF_NOWAIT);
	if (n >= 0 || (errno != ENOTSOCK && errno != EOPNOTSUPP))
		return n;
	return write(c->to, buf, c->len < c->piece ? c->len : c->piece);
}

static size_t wanted(const struct relay_channel *c)
{
	const long most = c->plain ? PLAIN_MAX : CHUNK;

	return (size_t)(c->left >= 0 && c->left < most ? c->left : most);
}

/* n: of a call that moves bytes out of from. */
static void count(struct relay_channel *c, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		fail(c, errno);
	else if (n == 0)
		relay_channel_close(c);
	else if (c->left >= 0)
		c->left -= n;
}

/* The filter is left what is no ASCII: letters, and controls of 8 bits. */
static size_t make_plain(struct relay_channel *c, size_t n)
{
	char raw[PLAIN_MAX];

	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char)c->buf[i];

		raw[i] = (b < ' ' && b != '\n') || b == 0x7f ? '?' : (char)b;
	}
	return sbx_termfilter_run(&c->filter, raw, n, c->buf);
}

static void load(struct relay_channel *c)
{
	ssize_t n = take(c->from, c->buf, wanted(c));

	c->at = 0;
	c->len = n > 0 ? (size_t)n : 0;
	if (c->plain)
		c->len = make_plain(c, c->len);
	count(c, n);
}

static void unload(struct relay_channel *c)
{
	ssize_t n = give(c);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fail(c, errno);
		return;
	}
	c->at += (size_t)n;
	c->len -= (size_t)n;
}

void relay_channel_move(struct relay_channel *c, const struct relay_poll *p)
{
	short to = p->v[c->poll_to].revents;

	if (c->from < 0)
		return;
	if (p->v[c->poll_to].fd >= 0 && (to & (POLLERR | POLLHUP | POLLNVAL))) {
		fail(c, EPIPE);
		return;
	}
	if (p->v[c->poll_from].fd >= 0 && p->v[c->poll_from].revents)
		load(c);
	else if (to)
		unload(c);
	if (c->left == 0 && c->len == 0 && c->from >= 0)
		relay_channel_close(c);
}

void relay_channel_last(struct relay_channel *c)
{
	int n = 0;

	if (c->from < 0)
		return;
	c->left = ioctl(c->from, FIONREAD, &n) == 0 ? n : 0;
	if (c->left == 0 && c->len == 0)
		relay_channel_close(c);
}
