#include "mountns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#define RESTRICTED "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

static int put(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = sbx_write_all(fd, text, len);
	close(fd);
	return r;
}

static char *add_number(char *p, unsigned v)
{
	char digits[16];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	while (n > 0)
		*p++ = digits[--n];
	*p++ = ' ';
	return p;
}

/* "ID ID 1": oneself, by the same number. snprintf() may lock. */
static int put_map(const char *path, unsigned id)
{
	char text[48], *p = add_number(add_number(text, id), id);

	*p++ = '1';
	return put(path, text, (size_t)(p - text));
}

static int map_oneself(uid_t uid, gid_t gid)
{
	int r = put("/proc/self/setgroups", "deny", 4);

	if (r == 0)
		r = put_map("/proc/self/uid_map", uid);
	return r == 0 ? put_map("/proc/self/gid_map", gid) : r;
}

int sbx_mountns_enter(uid_t uid, gid_t gid)
{
	int r = 0;

	if (unshare(CLONE_NEWNS) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return 1;
		r = map_oneself(uid, gid);
	}
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = -errno;
	return r;
}

bool sbx_mountns_available(void)
{
	SBX_CLEANUP_FREE char *text = NULL;
	size_t len;

	return geteuid() == 0 || sbx_read_file(RESTRICTED, 16, &text, &len) < 0 ||
	       text[0] != '1';
}
