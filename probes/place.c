/* Where the payload finds itself: who it is, whose namespaces are around it, and whether
 * anything lies in the private directories that nobody has put there. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

/* UID:GID: is that who I am, in every sense? */
ACT(act_ids)
{
	uid_t u[3];
	gid_t g[3];
	char text[64];

	(void)c;
	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	snprintf(text, sizeof(text), "%u:%u", (unsigned)u[0], (unsigned)g[0]);
	probe_value(r, strcmp(text, a[0]) == 0 && u[0] == u[1] && u[1] == u[2] &&
				       g[0] == g[1] && g[1] == g[2]
			       ? "same"
			       : "other");
}

/* Who reaps what the payload leaves behind? */
ACT(act_reaper)
{
	(void)c;
	(void)a;
	probe_value(r, getpid() == 1 ? "nobody" : "pid1");
}

/* The user namespace that owns the mounts: handed out when it is this one or below. */
ACT(act_mount_owner)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), owner;

	(void)c;
	(void)a;
	if (fd < 0) {
		probe_sysresult(r, -1);
		return;
	}
	owner = ioctl(fd, NS_GET_USERNS);
	probe_sysresult(r, owner);
	if (owner >= 0)
		close(owner);
	close(fd);
}

static bool listed(const char *list, const char *path)
{
	size_t len = strlen(path);

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, "\n");

		if (n == len && strncmp(p, path, n) == 0)
			return true;
		p += n + (p[n] == '\n');
	}
	return false;
}

/* Looks below path[0..len], staying on one file system: what is mounted is somebody else's
 * business. Returns 1 at the first file, link and so on that is not listed, 0 when there is
 * none, -1 when it cannot be looked at. */
static int strangers_below(char *path, size_t len, dev_t dev, const char *list, int depth)
{
	DIR *d = opendir(len ? path : "/");
	int n = 0;

	if (d == NULL || depth > 16) {
		if (d)
			closedir(d);
		return -1;
	}
	for (struct dirent *e; n == 0 && (e = readdir(d)) != NULL;) {
		struct stat st;
		int k;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		k = snprintf(path + len, 4096 - len, "/%s", e->d_name);
		if (k < 0 || (size_t)k >= 4096 - len || lstat(path, &st) < 0) {
			n = -1;
			break;
		}
		if (st.st_dev != dev || listed(list, path))
			continue;
		n = S_ISDIR(st.st_mode)
			    ? strangers_below(path, len + (size_t)k, dev, list, depth + 1)
			    : 1;
	}
	closedir(d);
	path[len] = '\0';
	return n;
}

/* DIR LIST: does anything lie on DIR's own file system, at any depth, that is not listed? */
ACT(act_strangers)
{
	static char path[4096];
	struct stat st;
	size_t len = (size_t)snprintf(path, sizeof(path), "%s", a[0]);
	int n;

	(void)c;
	if (stat(path, &st) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	if (strcmp(path, "/") == 0)
		path[--len] = '\0';
	n = strangers_below(path, len, st.st_dev, a[1] ? a[1] : "", 0);
	if (n < 0)
		probe_broken(r, "cannot be looked at to the end");
	else
		probe_value(r, n ? "strangers" : "none");
}

const struct probe_op probe_place[] = {
	{ "ids", PROBE_INPROC, 1, act_ids, "real, effective and saved uid and gid" },
	{ "reaper", PROBE_INPROC, 0, act_reaper, "is there a pid 1 beside the payload" },
	{ "mount_owner", PROBE_INPROC, 0, act_mount_owner,
		"the user namespace that owns the mounts" },
	{ "strangers", PROBE_INPROC, 1, act_strangers,
		"files on a private file system that are not listed" },
	{ 0 },
};
