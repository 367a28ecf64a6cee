#include "cgroup_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX (1 << 20)

/* The next word of *text, up to space or newline; false at the end of the line. */
static bool next_word(const char **text, const char **ret, size_t *ret_len)
{
	*text += strspn(*text, " ");
	*ret = *text;
	*ret_len = strcspn(*text, " \n");
	*text += *ret_len;
	return *ret_len > 0;
}

static bool word_in(const char *have, const char *word, size_t len)
{
	const char *w;
	size_t n;

	while (next_word(&have, &w, &n))
		if (n == len && strncmp(w, word, n) == 0)
			return true;
	return false;
}

bool sbx_cgroup_has(const char *have, const char *wanted)
{
	const char *w;
	size_t n;

	while (next_word(&wanted, &w, &n))
		if (!word_in(have, w, n))
			return false;
	return true;
}

/* ---- where this process is ---- */

/* The path after "0::", which is that of cgroup v2. Owned, or NULL. */
static char *path_in(const char *cgroup)
{
	for (const char *line = cgroup; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "0::/", 4) == 0)
			return sbx_xasprintf(
				"%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	}
	return NULL;
}

struct mount {
	char *root, *point;
};

/* One line of mountinfo: root and mount point of a cgroup2, owned; false: of something else. */
static bool read_mount(const char *line, struct mount *ret)
{
	const char *w[5],
		*dash = strstr(line, " - "); /* the first one: blanks are escaped */
	size_t n[5];

	if (dash == NULL || dash > line + strcspn(line, "\n") ||
		strncmp(dash, " - cgroup2 ", 11) != 0)
		return false;
	for (int i = 0; i < 5; i++)
		if (!next_word(&line, &w[i], &n[i]))
			return false;
	/* Blanks are written as \040: nobody mounts it at such a place. */
	if (memchr(w[3], '\\', n[3]) || memchr(w[4], '\\', n[4]))
		return false;
	ret->root = sbx_xasprintf("%.*s", (int)n[3], w[3]);
	ret->point = sbx_xasprintf("%.*s", (int)n[4], w[4]);
	return true;
}

/* What of path lies below root, with its slash; NULL: it does not. */
static const char *below(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] && path[len + 1] ? path + len : "";
}

bool sbx_cgroup_own(
	const char *mountinfo, const char *cgroup, char **ret_dir, char **ret_top)
{
	SBX_CLEANUP_FREE char *path = path_in(cgroup);
	bool found = false;

	/* "/..": outside of this process's cgroup namespace. */
	if (path == NULL || strstr(path, "/../") || strcmp(path, "/..") == 0)
		return false;
	for (const char *line = mountinfo; !found && line && *line;
		line = strchr(line, '\n')) {
		struct mount m = { 0 };
		const char *rest = NULL;

		line += *line == '\n';
		if (read_mount(line, &m))
			rest = below(path, m.root);
		if (rest) {
			*ret_dir = sbx_xasprintf("%s%s", m.point, rest);
			*ret_top = SBX_TAKE_PTR(m.point);
			found = true;
		}
		free(m.root);
		free(m.point);
	}
	return found;
}

/* ---- which group will do ---- */

static char *read_in(const char *dir, const char *name)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", dir, name);
	char *text;

	return sbx_read_file(path, TEXT_MAX, &text, NULL) < 0 ? sbx_xstrdup("") : text;
}

static bool may_change(const char *dir)
{
	SBX_CLEANUP_FREE char *procs = sbx_xasprintf("%s/cgroup.procs", dir);

	return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0 &&
	       faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) == 0;
}

/* A new group here is one that processes may be in. The topmost has no type; and it alone may have
 * processes and controllers for others below it. */
static bool is_domain(const char *dir, bool *ret_topmost)
{
	SBX_CLEANUP_FREE char *type = read_in(dir, "cgroup.type");

	*ret_topmost = *type == '\0';
	return *ret_topmost || strcmp(type, "domain\n") == 0;
}

/* For the groups below dir. With processes in it the kernel refuses memory, and for pids makes the
 * group one of threads, in which ours could not be used: neither is tried. */
static bool enable(const char *dir, const char *wanted, bool topmost)
{
	SBX_CLEANUP_FREE char *have = read_in(dir, "cgroup.subtree_control");
	SBX_CLEANUP_FREE char *procs = read_in(dir, "cgroup.procs");
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/cgroup.subtree_control", dir);
	const char *w;
	size_t n;

	if (sbx_cgroup_has(have, wanted))
		return true;
	if (*procs && !topmost)
		return false;
	while (next_word(&wanted, &w, &n)) {
		SBX_CLEANUP_FREE char *plus = sbx_xasprintf("+%.*s", (int)n, w);
		SBX_CLEANUP_FD int fd = -1;

		if (word_in(have, w, n))
			continue;
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || sbx_write_all(fd, plus, strlen(plus)) < 0)
			return false;
	}
	return true;
}

static enum sbx_cgroup_why try_one(const char *dir, const char *wanted)
{
	SBX_CLEANUP_FREE char *have = read_in(dir, "cgroup.controllers");
	bool topmost;

	if (!sbx_cgroup_has(have, wanted))
		return SBX_CGROUP_NO_CONTROLLER;
	if (!may_change(dir))
		return SBX_CGROUP_NO_RIGHT;
	return is_domain(dir, &topmost) && enable(dir, wanted, topmost) ? SBX_CGROUP_FOUND
									: SBX_CGROUP_BUSY;
}

enum sbx_cgroup_why sbx_cgroup_find(char **ret_dir, const char *wanted)
{
	SBX_CLEANUP_FREE char *mounts = read_in("/proc/self", "mountinfo");
	SBX_CLEANUP_FREE char *cgroup = read_in("/proc/self", "cgroup");
	SBX_CLEANUP_FREE char *dir = NULL, *top = NULL;
	enum sbx_cgroup_why best = SBX_CGROUP_NO_MOUNT;

	if (!sbx_cgroup_own(mounts, cgroup, &dir, &top))
		return best;
	for (;;) {
		enum sbx_cgroup_why why = try_one(dir, wanted);

		best = why > best ? why : best;
		if (why == SBX_CGROUP_FOUND)
			*ret_dir = SBX_TAKE_PTR(dir);
		if (why == SBX_CGROUP_FOUND || strcmp(dir, top) == 0)
			return best;
		*strrchr(dir, '/') = '\0';
	}
}

/* ---- what to do about it ---- */

/* Does a wanted controller have a hierarchy of its own? "NAME HIERARCHY GROUPS ENABLED" */
static bool is_bound(const char *cgroups, const char *wanted)
{
	for (const char *line = cgroups; line && *line; line = strchr(line, '\n')) {
		unsigned hierarchy = 0;
		char name[32];

		line += *line == '\n';
		if (sscanf(line, "%31s %u", name, &hierarchy) == 2 && hierarchy > 0 &&
			word_in(wanted, name, strlen(name)))
			return true;
	}
	return false;
}

void sbx_cgroup_look(struct sbx_cgroup_machine *ret, const char *wanted)
{
	SBX_CLEANUP_FREE char *cgroups = read_in("/proc", "cgroups");

	*ret = (struct sbx_cgroup_machine){
		.systemd = access("/run/systemd/system", F_OK) == 0,
		.container = access("/run/.containerenv", F_OK) == 0 ||
			     access("/.dockerenv", F_OK) == 0,
		.bound = is_bound(cgroups, wanted),
		.root = geteuid() == 0,
	};
}

const char *sbx_cgroup_remedy(enum sbx_cgroup_why why, const struct sbx_cgroup_machine *m)
{
	if (why <= SBX_CGROUP_NO_CONTROLLER && m->bound)
		return "the controllers belong to cgroup v1 here: boot with cgroup_no_v1=all "
		       "(systemd.unified_cgroup_hierarchy=1 where systemd mounts them)";
	if (m->container)
		return "have the container started with a cgroup v2 of its own that can be "
		       "written to (--cgroupns=private, /sys/fs/cgroup mounted rw), and this "
		       "process in a group below its top; or limit the container instead";
	if (m->systemd)
		return m->root ? "systemd-run --scope -p Delegate=yes -- sbx run ..."
			       : "systemd-run --user --scope -p Delegate=yes -- sbx run ...";
	if (why == SBX_CGROUP_NO_MOUNT)
		return "mount it, as root: mount -t cgroup2 none /sys/fs/cgroup";
	if (why == SBX_CGROUP_NO_CONTROLLER)
		return "enable them in the group above, as root: echo '+memory +pids' > "
		       ".../cgroup.subtree_control";
	return "as root: make a group, enable '+memory +pids' in its cgroup.subtree_control, "
	       "give it with its cgroup.procs and cgroup.subtree_control to the user (chown), "
	       "and start sbx in a group below it";
}
