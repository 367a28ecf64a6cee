#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

static void *or_abort(void *p)
{
	if (p == NULL) {
		static const char msg[] = "sbx: out of memory\n";
		ssize_t n = write(STDERR_FILENO, msg, sizeof(msg) - 1);

		(void)n;
		abort();
	}
	return p;
}

void *sbx_xcalloc(size_t n, size_t size)
{
	return or_abort(calloc(n ? n : 1, size ? size : 1));
}

void *sbx_xrealloc(void *p, size_t n, size_t size)
{
	return or_abort(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *sbx_xstrdup(const char *s)
{
	return or_abort(strdup(s));
}

char *sbx_xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	return or_abort(s);
}

char *sbx_xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = sbx_xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

char *sbx_strv_take(struct sbx_strv *sv, char *s)
{
	sv->v = sbx_xrealloc(sv->v, sv->n + 2, sizeof(*sv->v));
	sv->v[sv->n++] = s;
	sv->v[sv->n] = NULL;
	return s;
}

char *sbx_strv_add(struct sbx_strv *sv, const char *s)
{
	return sbx_strv_take(sv, sbx_xstrdup(s));
}

char *sbx_strv_addf(struct sbx_strv *sv, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = sbx_xvasprintf(fmt, ap);
	va_end(ap);
	return sbx_strv_take(sv, s);
}

bool sbx_strv_contains(const struct sbx_strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

void sbx_strv_done(struct sbx_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct sbx_strv){ 0 };
}

const char *sbx_env_get(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

int sbx_write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int sbx_read_file(const char *path, size_t max, char **ret, size_t *ret_len)
{
	SBX_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	SBX_CLEANUP_FREE char *buf = NULL;
	size_t len = 0, room = 0;

	if (fd < 0)
		return -errno;
	while (len <= max) {
		ssize_t n;

		if (len == room) {
			room = room ? 2 * room : 4096;
			buf = sbx_xrealloc(buf, room + 1, 1);
		}
		n = read(fd, buf + len, room - len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len > max)
		return -EFBIG;
	buf[len] = '\0';
	*ret = SBX_TAKE_PTR(buf);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int sbx_fd_high(int fd)
{
	int high, err;

	if (fd < 0 || fd >= 3)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	err = errno;
	close(fd);
	return high < 0 ? -err : high;
}

/* Takes p. */
static int both_high(int p[2], int ret[2])
{
	p[0] = sbx_fd_high(p[0]);
	p[1] = sbx_fd_high(p[1]);
	if (p[0] < 0 || p[1] < 0) {
		sbx_close_fd(&p[0]);
		sbx_close_fd(&p[1]);
		return p[0] < 0 ? p[0] : p[1];
	}
	ret[0] = p[0];
	ret[1] = p[1];
	return 0;
}

int sbx_pipe(int ret[2])
{
	int p[2];

	return pipe2(p, O_CLOEXEC) < 0 ? -errno : both_high(p, ret);
}

int sbx_socketpair(int ret[2])
{
	int p[2];

	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0
		       ? -errno
		       : both_high(p, ret);
}

/* Takes fd. */
static int fill_and_seal(int take_fd, const void *buf, size_t len)
{
	SBX_CLEANUP_FD int fd = take_fd;
	int r;

	if (fd < 0)
		return -errno;
	fd = sbx_fd_high(fd);
	if (fd < 0)
		return fd;
	r = sbx_write_all(fd, buf, len);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS,
		    F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -errno;
	return SBX_TAKE_FD(fd);
}

int sbx_memfd(const char *name, const void *buf, size_t len)
{
	return fill_and_seal(
		memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), buf, len);
}

int sbx_memfd_program(const char *name, const void *buf, size_t len)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | 0x10 /* MFD_EXEC */);

	if (fd < 0 && errno == EINVAL) /* older than 6.3: all of them may be executed */
		fd = memfd_create(name, flags);
	return fill_and_seal(fd, buf, len);
}

long long sbx_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
