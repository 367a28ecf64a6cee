/* What a payload could leave behind in a directory that it may write to: odd modes, owners,
 * attributes, nodes and names. Each act says whether the kernel lets it; what is made lies in
 * the runner's material and goes with it. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* Another's than one's own: a sandbox of one uid does not know it. */
static uid_t foreign_uid(void)
{
	return getuid() == 12345 ? 12346 : 12345;
}

ACT(act_chmod_sgid)
{
	(void)c;
	probe_sysresult(r, chmod(a[0], 02700));
}

/* cap_net_raw+ep, version 2: little-endian words. */
ACT(act_set_fcap)
{
	static const unsigned char fcap[20] = { 1, 0, 0, 2, 0, 0x20 };

	(void)c;
	probe_sysresult(r, setxattr(a[0], "security.capability", fcap, sizeof(fcap), 0));
}

static void set_acl(const char *path, bool foreign, struct probe_result *r)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry e[5];
	} acl = { { POSIX_ACL_XATTR_VERSION }, { { 0 } } };
	const struct posix_acl_xattr_entry rows[] = {
		{ ACL_USER_OBJ, 6, (unsigned)ACL_UNDEFINED_ID },
		{ ACL_USER, 4, foreign_uid() },
		{ ACL_GROUP_OBJ, 0, (unsigned)ACL_UNDEFINED_ID },
		{ ACL_MASK, 4, (unsigned)ACL_UNDEFINED_ID },
		{ ACL_OTHER, 0, (unsigned)ACL_UNDEFINED_ID },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (foreign || (rows[i].e_tag != ACL_USER && rows[i].e_tag != ACL_MASK))
			acl.e[n++] = rows[i];
	probe_sysresult(r, setxattr(path, "system.posix_acl_access", &acl,
				   sizeof(acl.head) + n * sizeof(acl.e[0]), 0));
}

/* What mode 0600 says already. */
ACT(act_acl)
{
	(void)c;
	set_acl(a[0], false, r);
}

ACT(act_acl_foreign)
{
	(void)c;
	set_acl(a[0], true, r);
}

/* Set, and at once taken off: nobody could remove the file. */
ACT(act_immutable)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC), flags = 0, with;
	long ret = -1;

	(void)c;
	if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
		with = flags | FS_IMMUTABLE_FL;
		ret = ioctl(fd, FS_IOC_SETFLAGS, &with);
	}
	probe_sysresult(r, ret);
	if (ret == 0)
		ioctl(fd, FS_IOC_SETFLAGS, &flags);
	if (fd >= 0)
		close(fd);
}

ACT(act_chown_foreign)
{
	(void)c;
	probe_sysresult(r, lchown(a[0], foreign_uid(), (gid_t)-1));
	if (r->err == 0 && lchown(a[0], getuid(), (gid_t)-1) < 0)
		probe_broken(r, "owner cannot be set back");
}

ACT(act_mknod_blk)
{
	(void)c;
	probe_sysresult(r, mknod(a[0], S_IFBLK | 0600, makedev(7, 0)));
}

/* 0:0 is what overlay file systems hide a name with: no device. */
ACT(act_mknod_whiteout)
{
	(void)c;
	probe_sysresult(r, mknod(a[0], S_IFCHR | 0600, makedev(0, 0)));
}

ACT(act_mkdir_closed)
{
	(void)c;
	probe_sysresult(r, mkdir(a[0], 0));
}

#define DEEP 17
#define LONG_NAME 240

/* DIR: a path longer than any program can name, made and removed again: DEEP directories with
 * long names, one in the other, by descriptor. */
ACT(act_deep)
{
	char name[LONG_NAME + 1];
	int fd[DEEP + 1], n = 0;

	memset(name, 'd', LONG_NAME);
	memcpy(name, c->token, strlen(c->token));
	name[LONG_NAME] = '\0';
	probe_errno(r, 0);
	fd[0] = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd[0] < 0)
		probe_broken(r, "directory cannot be opened");
	for (; n < DEEP && fd[n] >= 0; n++) {
		if (mkdirat(fd[n], name, 0700) < 0) {
			probe_sysresult(r, -1);
			break;
		}
		fd[n + 1] = openat(fd[n], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd[n + 1] < 0) {
			probe_broken(r, "new directory cannot be opened");
			unlinkat(fd[n], name, AT_REMOVEDIR);
			break;
		}
	}
	for (; n >= 0; n--) {
		close(fd[n]);
		if (n > 0)
			unlinkat(fd[n - 1], name, AT_REMOVEDIR);
	}
}

const struct probe_op probe_leave[] = {
	{ "chmod_sgid", PROBE_INPROC, 1, act_chmod_sgid, "the setgid bit" },
	{ "set_fcap", PROBE_INPROC, 1, act_set_fcap, "capabilities of a file" },
	{ "acl", PROBE_INPROC, 1, act_acl,
		"an access list that says what the mode says" },
	{ "acl_foreign", PROBE_INPROC, 1, act_acl_foreign,
		"an access list for a stranger" },
	{ "immutable", PROBE_INPROC, 1, act_immutable,
		"the immutable flag, and off again" },
	{ "chown_foreign", PROBE_INPROC, 1, act_chown_foreign,
		"to a stranger, and back" },
	{ "mknod_blk", PROBE_INPROC, 1, act_mknod_blk, "new block device 7:0" },
	{ "mknod_whiteout", PROBE_INPROC, 1, act_mknod_whiteout, "character device 0:0" },
	{ "mkdir_closed", PROBE_INPROC, 1, act_mkdir_closed, "new directory of mode 0" },
	{ "deep", PROBE_INPROC, 1, act_deep, "a path too long to name, removed again" },
	{ 0 },
};
