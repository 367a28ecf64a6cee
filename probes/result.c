#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME(e)       \
	{             \
		e, #e \
	}

static const struct {
	int err;
	const char *name;
} errno_names[] = {
	NAME(EPERM),
	NAME(ENOENT),
	NAME(ESRCH),
	NAME(EINTR),
	NAME(EIO),
	NAME(ENXIO),
	NAME(E2BIG),
	NAME(ENOEXEC),
	NAME(EBADF),
	NAME(ECHILD),
	NAME(EAGAIN),
	NAME(ENOMEM),
	NAME(EACCES),
	NAME(EFAULT),
	NAME(ENOTBLK),
	NAME(EBUSY),
	NAME(EEXIST),
	NAME(EXDEV),
	NAME(ENODEV),
	NAME(ENOTDIR),
	NAME(EISDIR),
	NAME(EINVAL),
	NAME(ENFILE),
	NAME(EMFILE),
	NAME(ENOTTY),
	NAME(ETXTBSY),
	NAME(EFBIG),
	NAME(ENOSPC),
	NAME(ESPIPE),
	NAME(EROFS),
	NAME(EMLINK),
	NAME(EPIPE),
	NAME(EDOM),
	NAME(ERANGE),
	NAME(EDEADLK),
	NAME(ENAMETOOLONG),
	NAME(ENOLCK),
	NAME(ENOSYS),
	NAME(ENOTEMPTY),
	NAME(ELOOP),
	NAME(ENOMSG),
	NAME(ENODATA),
	NAME(EOVERFLOW),
	NAME(ENOTSOCK),
	NAME(EDESTADDRREQ),
	NAME(EMSGSIZE),
	NAME(EPROTOTYPE),
	NAME(ENOPROTOOPT),
	NAME(EPROTONOSUPPORT),
	NAME(ESOCKTNOSUPPORT),
	NAME(EOPNOTSUPP),
	NAME(EPFNOSUPPORT),
	NAME(EAFNOSUPPORT),
	NAME(EADDRINUSE),
	NAME(EADDRNOTAVAIL),
	NAME(ENETDOWN),
	NAME(ENETUNREACH),
	NAME(ECONNABORTED),
	NAME(ECONNRESET),
	NAME(ENOBUFS),
	NAME(EISCONN),
	NAME(ENOTCONN),
	NAME(ETIMEDOUT),
	NAME(ECONNREFUSED),
	NAME(EHOSTUNREACH),
	NAME(EALREADY),
	NAME(EINPROGRESS),
	NAME(ESTALE),
	NAME(EDQUOT),
	NAME(ENOKEY),
	NAME(EKEYEXPIRED),
	NAME(EKEYREVOKED),
	NAME(EUSERS),
	NAME(EREMOTE),
	NAME(ECANCELED),
};

const char *probe_errno_name(int err)
{
	static char other[16];

	for (size_t i = 0; i < sizeof(errno_names) / sizeof(errno_names[0]); i++)
		if (errno_names[i].err == err)
			return errno_names[i].name;
	snprintf(other, sizeof(other), "E%d", err);
	return other;
}

void probe_errno(struct probe_result *r, int err)
{
	r->err = err;
	r->text[0] = '\0';
}

void probe_sysresult(struct probe_result *r, long ret)
{
	probe_errno(r, ret < 0 ? errno : 0);
}

void probe_value(struct probe_result *r, const char *text)
{
	r->err = 0;
	snprintf(r->text, sizeof(r->text), "value:%s", text);
}

void probe_broken(struct probe_result *r, const char *text)
{
	r->err = 0;
	snprintf(r->text, sizeof(r->text), "probe:%s", text);
}

uint64_t probe_hash(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

unsigned long probe_number(const char *s)
{
	char *end;
	unsigned long v = strtoul(s, &end, 0);

	return *s && *end == '\0' ? v : 0;
}

long probe_slurp(const char *path, char *buf, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;

	if (fd < 0)
		return -1;
	while (len < max) {
		ssize_t n = read(fd, buf + len, max - len);

		if (n < 0) {
			int err = errno;

			close(fd);
			errno = err;
			return -1;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	return (long)len;
}
