/* Acts that look at files. Content never leaves: only whether it is the expected canary. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

static char buf[262144];

static void compare(struct probe_result *r, long len, const char *hash)
{
	if (len < 0)
		probe_sysresult(r, -1);
	else if (probe_hash(buf, (size_t)len) == strtoull(hash, NULL, 16))
		probe_errno(r, 0);
	else
		probe_value(r, "differs");
}

/* PATH HASH: ok only when the canary itself was read. */
ACT(act_read)
{
	(void)c;
	compare(r, probe_slurp(a[0], buf, sizeof(buf)), a[1]);
}

/* PATH HASH DIR REL: the same by openat(DIR, REL). PATH is for the runner's eyes. */
ACT(act_read_at)
{
	int dir = open(a[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, a[3], O_RDONLY | O_CLOEXEC);

	(void)c;
	if (dir < 0)
		probe_broken(r, "directory cannot be opened");
	else
		compare(r, fd < 0 ? -1 : read(fd, buf, sizeof(buf)), a[1]);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
}

ACT(act_open_read)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	(void)c;
	probe_sysresult(r, fd);
	if (fd >= 0)
		close(fd);
}

ACT(act_stat)
{
	struct stat st;

	(void)c;
	probe_sysresult(r, lstat(a[0], &st));
}

/* PATH WORD: does the file contain it? */
ACT(act_grep)
{
	long len = probe_slurp(a[0], buf, sizeof(buf));

	(void)c;
	if (len < 0)
		probe_sysresult(r, -1);
	else if (memmem(buf, (size_t)len, a[1], strlen(a[1])))
		probe_value(r, "found");
	else
		probe_value(r, "absent");
}

/* The flags of the mount that PATH lies on. */
ACT(act_mntflags)
{
	struct statvfs v;
	char text[64];

	(void)c;
	if (statvfs(a[0], &v) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", v.f_flag & ST_RDONLY ? "ro" : "rw",
		v.f_flag & ST_NOSUID ? ",nosuid" : "",
		v.f_flag & ST_NODEV ? ",nodev" : "");
	probe_value(r, text);
}

/* PATH DEV:INO: is it the very directory that the host has there? */
ACT(act_identity)
{
	struct stat st;
	char text[64];

	(void)c;
	if (stat(a[0], &st) < 0) {
		probe_sysresult(r, -1);
		return;
	}
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	probe_value(r, strcmp(text, a[1]) == 0 ? "same" : "other");
}

/* PATH: does another file system begin here? */
ACT(act_mountpoint)
{
	char up[4096];
	struct stat st, above;

	(void)c;
	snprintf(up, sizeof(up), "%s/..", a[0]);
	if (stat(a[0], &st) < 0 || stat(up, &above) < 0)
		probe_sysresult(r, -1);
	else
		probe_value(r, st.st_dev != above.st_dev ? "mount" : "plain");
}

static bool expected_in_dev(const char *name)
{
	static const char *const names[] = { ".", "..", "console", "core", "fd", "full",
		"null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
		"tty", "urandom", "zero" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* DIR: anything there beyond what every program needs? */
ACT(act_devices)
{
	DIR *d = opendir(a[0]);
	char extra[64] = "";

	(void)c;
	if (d == NULL) {
		probe_sysresult(r, -1);
		return;
	}
	for (struct dirent *e; extra[0] == '\0' && (e = readdir(d)) != NULL;)
		if (!expected_in_dev(e->d_name))
			snprintf(extra, sizeof(extra), "%.60s", e->d_name);
	closedir(d);
	probe_value(r, extra[0] ? "more" : "minimal");
}

/* One line of the list against one mount: "ro PATH", "rw PATH", "tmpfs PATH" or "proc PATH". A
 * path is meant exactly. */
static bool entry_allows(const char *entry, const char *point, bool ro, const char *type)
{
	const char *path = strchr(entry, ' ');
	size_t len = path ? strcspn(path + 1, "\n") : 0;

	if (path == NULL || strlen(point) != len || strncmp(path + 1, point, len) != 0)
		return false;
	if (strncmp(entry, "ro ", 3) == 0)
		return ro;
	if (strncmp(entry, "tmpfs ", 6) == 0 || strncmp(entry, "proc ", 5) == 0)
		return strncmp(entry, type, strlen(type)) == 0;
	return strncmp(entry, "rw ", 3) == 0;
}

static bool in_dev(const char *point, const char *type)
{
	if (strncmp(point, "/dev/", 5) == 0)
		return expected_in_dev(point + 5);
	return strcmp(point, "/dev") == 0 && strcmp(type, "tmpfs") == 0;
}

static bool mount_allowed(const char *list, const char *point, bool ro, const char *type)
{
	if (in_dev(point, type))
		return true;
	for (const char *e = list; e && *e; e = strchr(e, '\n')) {
		e += *e == '\n';
		if (entry_allows(e, point, ro, type))
			return true;
	}
	return false;
}

/* LIST: is every mount on it, and nothing writable that should not be? */
ACT(act_mounts)
{
	long len = probe_slurp("/proc/self/mountinfo", buf, sizeof(buf) - 1);
	char *save = NULL;
	bool extra = false;

	(void)c;
	if (len < 0) {
		probe_sysresult(r, -1);
		return;
	}
	buf[len] = '\0';
	for (char *line = strtok_r(buf, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char point[2048], opts[256], type[64] = "";
		const char *dash = strstr(line, " - ");

		/* A line that cannot be read is one that nobody has allowed. */
		if (sscanf(line, "%*d %*d %*s %*s %2047s %255s", point, opts) != 2 ||
			!dash || sscanf(dash, " - %63s", type) != 1 ||
			!mount_allowed(a[0], point, strncmp(opts, "ro", 2) == 0, type))
			extra = true;
	}
	probe_value(r, extra ? "extra" : "listed");
}

const struct probe_op probe_fs_read[] = {
	{ "read", PROBE_INPROC, 2, act_read, "is the canary readable" },
	{ "read_at", PROBE_INPROC, 4, act_read_at, "the same by openat with dots" },
	{ "open_read", PROBE_INPROC, 1, act_open_read, "open for reading, nothing read" },
	{ "stat", PROBE_INPROC, 1, act_stat, "does the name exist" },
	{ "grep", PROBE_INPROC, 2, act_grep, "does a file contain a word" },
	{ "mntflags", PROBE_INPROC, 1, act_mntflags, "flags of the mount" },
	{ "identity", PROBE_INPROC, 2, act_identity, "is it the host's own directory" },
	{ "mountpoint", PROBE_INPROC, 1, act_mountpoint,
		"is it a file system of its own" },
	{ "devices", PROBE_INPROC, 1, act_devices, "what is in /dev" },
	{ "mounts", PROBE_INPROC, 1, act_mounts, "every mount against a list" },
	{ 0 },
};
