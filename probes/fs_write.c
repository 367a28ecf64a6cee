/* Acts that change files. Paths come from the runner; what is new carries its nonce. Where an
 * existing file is the target, its present value is set again. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

static void write_token(int fd, const struct probe_ctx *c, struct probe_result *r)
{
	long n;

	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	n = write(fd, c->token, strlen(c->token));
	probe_sysresult(r, n);
	close(fd);
}

static void closed(struct probe_result *r, int fd)
{
	probe_sysresult(r, fd);
	if (fd >= 0)
		close(fd);
}

ACT(act_create)
{
	write_token(
		open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), c,
		r);
}

/* mkdir -p of the directory of path, from the deepest that exists. path is left as it was. */
static int make_parent(char *path)
{
	char *slash = strrchr(path, '/');
	int ret, err;

	if (slash == path)
		return 0;
	*slash = '\0';
	ret = mkdir(path, 0700);
	if (ret < 0 && errno == ENOENT) {
		ret = make_parent(path);
		if (ret == 0)
			ret = mkdir(path, 0700);
	}
	err = errno;
	/* For one that exists, a read-only file system may say either. */
	if (ret < 0 && (err == EEXIST || (err == EROFS && access(path, F_OK) == 0)))
		ret = 0;
	*slash = '/';
	errno = err;
	return ret;
}

ACT(act_create_deep)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s", a[0]);
	if (make_parent(path) < 0)
		probe_sysresult(r, -1);
	else
		write_token(
			open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
				0600),
			c, r);
}

ACT(act_append)
{
	write_token(open(a[0], O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK), c, r);
}

ACT(act_append_create)
{
	write_token(open(a[0], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600), c, r);
}

ACT(act_open_write)
{
	(void)c;
	closed(r, open(a[0], O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

ACT(act_open_trunc)
{
	(void)c;
	closed(r, open(a[0], O_RDONLY | O_TRUNC | O_CLOEXEC));
}

ACT(act_truncate)
{
	struct stat st;

	(void)c;
	probe_sysresult(r, stat(a[0], &st) < 0 ? -1 : truncate(a[0], st.st_size));
}

ACT(act_chmod)
{
	struct stat st;

	(void)c;
	probe_sysresult(r, stat(a[0], &st) < 0 ? -1 : chmod(a[0], st.st_mode & 07777));
}

ACT(act_fchmod)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);
	struct stat st;

	(void)c;
	if (fd < 0 || fstat(fd, &st) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	probe_sysresult(r, fchmod(fd, st.st_mode & 07777));
	close(fd);
}

ACT(act_chmod_suid)
{
	(void)c;
	probe_sysresult(r, chmod(a[0], 04700));
}

ACT(act_chown)
{
	(void)c;
	probe_sysresult(r, lchown(a[0], getuid(), getgid()));
}

ACT(act_utimes)
{
	struct timespec ts[2];
	struct stat st;

	(void)c;
	if (stat(a[0], &st) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	ts[0] = st.st_atim;
	ts[1] = st.st_mtim;
	probe_sysresult(r, utimensat(AT_FDCWD, a[0], ts, 0));
}

ACT(act_setxattr)
{
	probe_sysresult(r, setxattr(a[0], "user.sbx", c->token, strlen(c->token), 0));
}

ACT(act_setflags)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC), flags = 0;
	long ret = -1;

	(void)c;
	if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0)
		ret = ioctl(fd, FS_IOC_SETFLAGS, &flags);
	probe_sysresult(r, ret);
	if (fd >= 0)
		close(fd);
}

ACT(act_mkdir)
{
	(void)c;
	probe_sysresult(r, mkdir(a[0], 0700));
}

ACT(act_rmdir)
{
	(void)c;
	probe_sysresult(r, rmdir(a[0]));
}

ACT(act_unlink)
{
	(void)c;
	probe_sysresult(r, unlink(a[0]));
}

/* NEW OLD, as in link and symlink: the first argument is what appears. */
ACT(act_rename)
{
	(void)c;
	probe_sysresult(r, rename(a[1], a[0]));
}

/* Renames a directory away and at once back: an attempt, not a loss. */
ACT(act_rename_away)
{
	(void)c;
	if (rename(a[1], a[0]) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	probe_sysresult(r, rename(a[0], a[1]));
}

ACT(act_link)
{
	(void)c;
	probe_sysresult(r, link(a[1], a[0]));
}

ACT(act_symlink)
{
	(void)c;
	probe_sysresult(r, symlink(a[1], a[0]));
}

ACT(act_mkfifo)
{
	(void)c;
	probe_sysresult(r, mkfifo(a[0], 0600));
}

ACT(act_mknod_chr)
{
	(void)c;
	probe_sysresult(r, mknod(a[0], S_IFCHR | 0600, makedev(1, 3)));
}

ACT(act_bind_unix)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)c;
	if (fd < 0 || strlen(a[0]) >= sizeof(sun.sun_path)) {
		probe_broken(r, "no socket, or path too long for one");
		return;
	}
	memcpy(sun.sun_path, a[0], strlen(a[0]));
	probe_sysresult(r, bind(fd, (struct sockaddr *)&sun, sizeof(sun)));
	close(fd);
}

/* An unnamed file in DIR, given the name NEW by way of /proc. */
ACT(act_tmpfile)
{
	int fd = open(a[1], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char self[64];

	(void)c;
	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	probe_sysresult(r, linkat(AT_FDCWD, self, AT_FDCWD, a[0], AT_SYMLINK_FOLLOW));
	close(fd);
}

/* NEW relative to DIR, with dots in it. */
ACT(act_create_at)
{
	int dir = open(a[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		probe_broken(r, "directory cannot be opened");
		return;
	}
	write_token(
		openat(dir, a[2], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), c, r);
	close(dir);
}

const struct probe_op probe_fs_write[] = {
	{ "create", PROBE_INPROC, 1, act_create, "new file with the nonce in it" },
	{ "create_deep", PROBE_INPROC, 1, act_create_deep,
		"the same, and the directories above" },
	{ "create_at", PROBE_INPROC, 3, act_create_at, "openat with .. in the name" },
	{ "append", PROBE_INPROC, 1, act_append, "adds the nonce to an existing file" },
	{ "append_create", PROBE_INPROC, 1, act_append_create,
		"the same, made when missing" },
	{ "open_write", PROBE_INPROC, 1, act_open_write,
		"open for writing, nothing written" },
	{ "open_trunc", PROBE_INPROC, 1, act_open_trunc, "open read-only with O_TRUNC" },
	{ "truncate", PROBE_INPROC, 1, act_truncate, "to the present size" },
	{ "chmod", PROBE_INPROC, 1, act_chmod, "the present mode" },
	{ "fchmod", PROBE_INPROC, 1, act_fchmod,
		"the present mode, by a read-only descriptor" },
	{ "chmod_suid", PROBE_INPROC, 1, act_chmod_suid, "the setuid bit" },
	{ "chown", PROBE_INPROC, 1, act_chown, "to the present owner" },
	{ "utimes", PROBE_INPROC, 1, act_utimes, "the present times" },
	{ "setxattr", PROBE_INPROC, 1, act_setxattr, "user.sbx" },
	{ "setflags", PROBE_INPROC, 1, act_setflags, "the present inode flags" },
	{ "mkdir", PROBE_INPROC, 1, act_mkdir, "new directory" },
	{ "rmdir", PROBE_INPROC, 1, act_rmdir, "empty directory" },
	{ "unlink", PROBE_INPROC, 1, act_unlink, "file" },
	{ "rename", PROBE_INPROC, 2, act_rename, "OLD to NEW" },
	{ "rename_away", PROBE_INPROC, 2, act_rename_away, "a directory, and back" },
	{ "link", PROBE_INPROC, 2, act_link, "hard link NEW to OLD" },
	{ "symlink", PROBE_INPROC, 2, act_symlink, "symbolic link NEW with text" },
	{ "mkfifo", PROBE_INPROC, 1, act_mkfifo, "new fifo" },
	{ "mknod_chr", PROBE_INPROC, 1, act_mknod_chr, "new character device 1:3" },
	{ "bind_unix", PROBE_INPROC, 1, act_bind_unix, "new socket" },
	{ "tmpfile", PROBE_INPROC, 2, act_tmpfile, "O_TMPFILE in DIR, linked as NEW" },
	{ 0 },
};
