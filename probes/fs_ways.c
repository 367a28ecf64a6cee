/* The less common ways to change, hold or watch a file. Present values are set again, locks are
 * let go at once: an act that gets through leaves nothing. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)
#define FCHMODAT2 452
#define EXCHANGE 2 /* RENAME_EXCHANGE */

static void closed(struct probe_result *r, int fd)
{
	probe_sysresult(r, fd);
	if (fd >= 0)
		close(fd);
}

/* A new file that is never opened for writing. */
ACT(act_create_ro)
{
	(void)c;
	closed(r, open(a[0], O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

ACT(act_fchmodat2)
{
	struct stat st;

	(void)c;
	probe_sysresult(r, lstat(a[0], &st) < 0
				   ? -1
				   : syscall(FCHMODAT2, AT_FDCWD, a[0],
					     st.st_mode & 07777, AT_SYMLINK_NOFOLLOW));
}

/* An attribute that is not there: where it may be removed, there is none. */
ACT(act_rmxattr)
{
	(void)c;
	probe_sysresult(r, removexattr(a[0], "user.sbx-none"));
}

ACT(act_mmap_write)
{
	int fd = open(a[0], O_RDWR | O_CLOEXEC);
	void *p;

	(void)c;
	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	p = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	probe_sysresult(r, p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED)
		munmap(p, 1);
	close(fd);
}

/* A descriptor for reading gives no memory to write to, wherever the file lies. */
ACT(act_mmap_upgrade)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);
	void *p;

	(void)c;
	if (fd < 0) {
		probe_broken(r, "file cannot be opened");
		return;
	}
	p = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	probe_sysresult(r, p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED)
		munmap(p, 1);
	close(fd);
}

/* A B: exchanged, and at once back. */
ACT(act_exchange)
{
	(void)c;
	if (syscall(SYS_renameat2, AT_FDCWD, a[0], AT_FDCWD, a[1], EXCHANGE) < 0)
		probe_sysresult(r, -1);
	else
		probe_sysresult(r,
			syscall(SYS_renameat2, AT_FDCWD, a[0], AT_FDCWD, a[1], EXCHANGE));
}

/* Opened for writing, nothing written: a reader on the host would have been woken. */
ACT(act_fifo)
{
	(void)c;
	closed(r, open(a[0], O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

ACT(act_flock)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);

	(void)c;
	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	probe_sysresult(r, flock(fd, LOCK_EX | LOCK_NB));
	close(fd);
}

ACT(act_lease)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);

	(void)c;
	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	probe_sysresult(r, fcntl(fd, F_SETLEASE, F_RDLCK));
	fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
}

ACT(act_inotify)
{
	int fd = inotify_init1(IN_CLOEXEC);

	(void)c;
	probe_sysresult(
		r, fd < 0 ? -1 : inotify_add_watch(fd, a[0], IN_OPEN | IN_ACCESS));
	if (fd >= 0)
		close(fd);
}

/* NEW TARGET: a link that has just been made, and an open through it. */
ACT(act_symlink_write)
{
	(void)c;
	if (symlink(a[1], a[0]) < 0)
		probe_sysresult(r, -1);
	else
		closed(r, open(a[0], O_WRONLY | O_CLOEXEC | O_NONBLOCK));
}

/* ---- looking at names ---- */

/* A list that begins with a slash has slashes between its words: names with spaces. */
static bool word_in(const char *list, const char *name)
{
	const char *between = list[0] == '/' ? "/" : " ";
	size_t len = strlen(name);

	for (const char *p = list + (list[0] == '/'); *p;) {
		size_t n = strcspn(p, between);

		if (n == len && strncmp(p, name, len) == 0)
			return true;
		p += n + (p[n] != '\0');
	}
	return false;
}

/* DIR LIST: is there any other name in it? */
ACT(act_names)
{
	DIR *d = opendir(a[0]);
	bool extra = false;

	(void)c;
	if (d == NULL) {
		probe_sysresult(r, -1);
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			extra |= !word_in(a[1], e->d_name);
	closedir(d);
	probe_value(r, extra ? "extra" : "listed");
}

/* LIST of paths: is any of them there? */
ACT(act_any_exists)
{
	char path[512];
	bool any = false;

	(void)c;
	for (const char *p = a[0]; *p && !any;) {
		size_t n = strcspn(p, " ");
		struct stat st;

		snprintf(path, sizeof(path), "%.*s", (int)n, p);
		any = lstat(path, &st) == 0;
		p += n + (p[n] == ' ');
	}
	probe_value(r, any ? "some" : "none");
}

const struct probe_op probe_fs_ways[] = {
	{ "create_ro", PROBE_INPROC, 1, act_create_ro, "new file, opened for reading" },
	{ "fchmodat2", PROBE_INPROC, 1, act_fchmodat2,
		"the present mode, by the newer call" },
	{ "rmxattr", PROBE_INPROC, 1, act_rmxattr, "an attribute that is not there" },
	{ "mmap_write", PROBE_INPROC, 1, act_mmap_write, "shared memory, writable" },
	{ "mmap_upgrade", PROBE_INPROC, 1, act_mmap_upgrade,
		"the same of a descriptor for reading" },
	{ "exchange", PROBE_INPROC, 2, act_exchange, "two names, and back" },
	{ "fifo", PROBE_INPROC, 1, act_fifo, "a fifo opened for writing" },
	{ "flock", PROBE_INPROC, 1, act_flock, "an exclusive lock, let go" },
	{ "lease", PROBE_INPROC, 1, act_lease, "a read lease, let go" },
	{ "inotify", PROBE_INPROC, 1, act_inotify, "a watch" },
	{ "symlink_write", PROBE_INPROC, 2, act_symlink_write,
		"link NEW to TARGET, opened for writing" },
	{ "names", PROBE_INPROC, 2, act_names,
		"every name of a directory against a list" },
	{ "any_exists", PROBE_INPROC, 1, act_any_exists, "is one of these there" },
	{ 0 },
};
