#include "look.h"

#include "keeper_mark.h"
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static enum sbx_ftype ftype_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return SBX_FT_FILE;
	case S_IFDIR:
		return SBX_FT_DIR;
	case S_IFLNK:
		return SBX_FT_LINK;
	default:
		return SBX_FT_OTHER;
	}
}

static bool can_copy(const char *path, const struct stat *st)
{
	return st->st_size <= SBX_COPY_MAX &&
	       faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

void sbx_look_at(struct sbx_host *h, const char *path)
{
	char real[PATH_MAX], link[PATH_MAX];
	struct stat lst, st;
	enum sbx_ftype type, target = SBX_FT_ABSENT;
	ssize_t n = -1;
	bool resolved = false;
	struct sbx_fact *f;

	if (lstat(path, &lst) < 0) {
		sbx_host_add_fact(h, path, SBX_FT_ABSENT, SBX_FT_ABSENT, NULL, NULL);
		return;
	}
	type = ftype_of(lst.st_mode);
	if (type != SBX_FT_LINK)
		target = type;
	else if (stat(path, &st) == 0)
		target = ftype_of(st.st_mode);
	if (type == SBX_FT_LINK) {
		n = readlink(path, link, sizeof(link) - 1);
		resolved = realpath(path, real) != NULL;
	}
	if (n >= 0)
		link[n] = '\0';
	sbx_host_add_fact(
		h, path, type, target, n >= 0 ? link : NULL, resolved ? real : NULL);
	f = sbx_host_change_fact(h, path);
	f->reserved = keeper_made(&lst);
	f->kept_out = target == SBX_FT_FILE &&
		      !can_copy(path, type == SBX_FT_LINK ? &st : &lst);
}

void sbx_look_beneath(struct sbx_host *h, const char *dir, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, rel);

	sbx_look_at(h, path);
}

void sbx_look_protected(struct sbx_host *h, const char *dir, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, rel);
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(path);
	struct sbx_fact *f;
	struct stat st;

	sbx_look_at(h, path);
	f = sbx_host_change_fact(h, path);
	/* The owner can give himself the right at any time, inside as well. */
	f->closed = f->type == SBX_FT_ABSENT &&
		    faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) < 0 &&
		    (stat(parent, &st) < 0 || st.st_uid != h->uid);
}

bool sbx_look_open(struct sbx_opened *ret, const char *real)
{
	int fd = sbx_fd_high(open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		sbx_close_fd(&fd);
		return false;
	}
	*ret = (struct sbx_opened){ .real = sbx_xstrdup(real),
		.fd = fd,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.is_dir = true };
	return true;
}
