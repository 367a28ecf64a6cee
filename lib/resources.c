#include "resources.h"

#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A copy of fd, 3 or more. */
static int dup_high(int fd)
{
	int r = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return r < 0 ? -errno : r;
}

static int open_beneath(int dirfd, const char *rel)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, rel, &how, sizeof(how));

	return fd < 0 ? -errno : sbx_fd_high((int)fd);
}

static int open_pinned(
	const struct sbx_op *op, const struct sbx_host *h, struct sbx_error *e)
{
	const struct sbx_opened *base = op->pin == SBX_PIN_BIND
						? &h->binds[op->pin_index]
						: sbx_plan_base(h, op->pin);
	size_t len = strlen(base->real);
	int fd;

	if (op->pin == SBX_PIN_BIND || op->src[len] == '\0')
		fd = dup_high(base->fd);
	else
		fd = open_beneath(base->fd, op->src + len + 1);
	if (fd < 0)
		return sbx_error_set(e, SBX_E_PATH_CHANGED, -fd,
			"'%s' cannot be opened as it was found: %s", op->src,
			strerror(-fd));
	return fd;
}

static int open_copy(const struct sbx_op *op, struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd =
		open(op->src, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, errno, "'%s': %m", op->src);
	if (!S_ISREG(st.st_mode))
		return sbx_error_set(e, SBX_E_PATH_CHANGED, EINVAL,
			"'%s' is not a regular file", op->src);
	return dup_high(fd);
}

/* Writes the descriptor, or -1 where none is needed. (-1 is also -EPERM: hence the pointer.) */
static int open_one(int *ret, const struct sbx_op *op, const struct sbx_host *h,
	bool pinned, const bool *skip_filter, struct sbx_error *e)
{
	int fd = 0;
	bool bind = op->kind == SBX_OP_BIND || op->kind == SBX_OP_RO_BIND;

	*ret = -1;
	if (op->kind == SBX_OP_SECCOMP)
		fd = sbx_filter_memfd(skip_filter, e);
	else if (op->kind == SBX_OP_COPY)
		fd = open_copy(op, e);
	else if (op->kind == SBX_OP_TEXT)
		fd = sbx_memfd("sbx-text", op->src, strlen(op->src));
	else if (bind && pinned && op->pin != SBX_PIN_NONE && h->workdir.fd >= 0)
		fd = open_pinned(op, h, e);
	else
		return 0;
	if (fd < 0 && e->code == SBX_OK)
		sbx_error_set(e, SBX_E_SYSTEM, -fd, "'%s': %s", op->dst, strerror(-fd));
	if (fd < 0)
		return fd;
	*ret = fd;
	return 0;
}

int sbx_resources_open(struct sbx_resources *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, bool pinned, const bool *skip_filter,
	struct sbx_error *e)
{
	struct sbx_resources r = { .fds = sbx_xcalloc(plan->n, sizeof(int)) };

	for (; r.n < plan->n; r.n++) {
		int err =
			open_one(&r.fds[r.n], &plan->ops[r.n], h, pinned, skip_filter, e);

		if (err < 0) {
			sbx_resources_done(&r);
			return err;
		}
	}
	*ret = r;
	return 0;
}

void sbx_resources_done(struct sbx_resources *r)
{
	for (size_t i = 0; i < r->n; i++)
		sbx_close_fd(&r->fds[i]);
	free(r->fds);
	*r = (struct sbx_resources){ 0 };
}
