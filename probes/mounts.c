/* The mounts that must be there, each as it was promised. A mount that is missing lets through
 * nothing by itself: what it covered, or what needed it, tells only sometimes. */
#include "probe.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)
#define MAX_MOUNTS 512

static char info[262144];

static struct line {
	uint64_t id;
	char *point, *opts, *type;
} lines[MAX_MOUNTS];

static int n_lines;

/* ID PARENT DEV ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS */
static void parse_line(char *line)
{
	char *save = NULL, *dash = strstr(line, " - "), *word;
	struct line *l = &lines[n_lines];

	if (dash == NULL || n_lines == MAX_MOUNTS)
		return;
	*dash = '\0';
	l->type = dash + 3;
	l->type[strcspn(l->type, " ")] = '\0';
	word = strtok_r(line, " ", &save);
	l->id = word ? strtoull(word, NULL, 10) : 0;
	for (int i = 1; word && i < 5; i++)
		word = strtok_r(NULL, " ", &save);
	l->point = word;
	l->opts = word ? strtok_r(NULL, " ", &save) : NULL;
	n_lines += l->opts != NULL;
}

static long read_lines(void)
{
	long len = probe_slurp("/proc/self/mountinfo", info, sizeof(info) - 1);
	char *save = NULL;

	if (len < 0)
		return -1;
	info[len] = '\0';
	n_lines = 0;
	for (char *line = strtok_r(info, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		parse_line(line);
	return 0;
}

static bool has_option(const char *opts, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = opts; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && strncmp(p, name, len) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

static bool as_promised(const struct line *l, const char *kind, size_t len)
{
	bool safe = has_option(l->opts, "nosuid") && has_option(l->opts, "nodev");
	bool ro = has_option(l->opts, "ro");

	if (len == 2 && strncmp(kind, "ro", len) == 0)
		return ro && safe;
	if (len == 2 && strncmp(kind, "rw", len) == 0)
		return !ro && safe;
	if (len == 6 && strncmp(kind, "sealed", len) == 0)
		return ro && safe && strcmp(l->type, "tmpfs") == 0;
	if (len == 3 && strncmp(kind, "dev", len) == 0)
		return has_option(l->opts, "nosuid");
	/* tmpfs, proc */
	return !ro && safe && strlen(l->type) == len && strncmp(l->type, kind, len) == 0;
}

/* Is this mount what stands at its place, or has another one been put over it, or above it? Kernels
 * before 5.8 do not tell. */
static bool on_top(const struct line *l)
{
	/* struct statx: the C library may not know all of it. */
	union {
		uint64_t words[32];
		uint32_t mask;
	} st = { { 0 } };
	const uint32_t mount_id = 0x1000;

	if (syscall(SYS_statx, AT_FDCWD, l->point, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		    mount_id, &st) < 0)
		return false;
	return !(st.mask & mount_id) || st.words[18] == l->id;
}

/* The last one at a place is the one that counts. */
static bool found(const char *entry, size_t len)
{
	size_t kind = strcspn(entry, " ");
	const char *path = entry + kind + 1;
	size_t n = len - kind - 1;

	for (int i = n_lines - 1; i >= 0; i--)
		if (strlen(lines[i].point) == n && strncmp(lines[i].point, path, n) == 0)
			return as_promised(&lines[i], entry, kind) && on_top(&lines[i]);
	return false;
}

/* LIST of "KIND PATH" lines. */
ACT(act_mounts_exact)
{
	bool complete = true;

	(void)c;
	if (read_lines() < 0) {
		probe_sysresult(r, -1);
		return;
	}
	for (const char *p = a[0]; *p;) {
		size_t n = strcspn(p, "\n");

		if (n > 0)
			complete &= found(p, n);
		p += n + (p[n] == '\n');
	}
	probe_value(r, complete ? "complete" : "incomplete");
}

const struct probe_op probe_mounts[] = {
	{ "mounts_exact", PROBE_INPROC, 1, act_mounts_exact,
		"every mount of a list is there, with its flags" },
	{ 0 },
};
