/* Scenarios about what stands in the work dir, or where it stands, before a start. */
#include "stage_play.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* What shells, splitters and parsers of options trip over. */
/* clang-format off: a table, one thing a line */
static const struct {
	const char *label, *name;
} names[] = {
	{ "space", "a b" }, { "newline", "a\nb" }, { "tab", "a\tb" },
	{ "quote", "a'\"b" }, { "command", "$(id)`id`" }, { "backslash", "a\\b" },
	{ "comma", "a,b:c" }, { "bytes", "\xff\xfe" }, { "option", "--die-with-parent" },
	{ "assignment", "a=b" }, { "percent", "%s%n" },
	{ "long", NULL }, /* as long as a name can be */
};
/* clang-format on */

static bool name_works(struct play *p, const char *name)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, name);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/new", work);
	struct try t = TRY_INIT;
	bool works;

	try_act(&t, "create", file);
	works = try_run(&t, p, work) && try_ok(&t, 0) && access(file, F_OK) == 0;
	try_done(&t);
	return works;
}

void stage_names(struct play *p)
{
	char longest[256];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++)
		if (!name_works(p, names[i].name ? names[i].name : longest))
			play_say(p, names[i].label);
	play_say(p, "all");
}

/* Is this work dir refused, with this error? */
static bool refused(struct play *p, const char *work, enum sbx_code code)
{
	struct try t = TRY_INIT;
	bool is = try_plan(&t, p, work) < 0 && t.error.code == code;

	try_done(&t);
	return is;
}

/* Places that are not to be worked in, and a link to one. */
void stage_refused(struct play *p)
{
	SBX_CLEANUP_FREE char *ssh = sbx_xasprintf("%s/.ssh", p->scene->tree.home);
	SBX_CLEANUP_FREE char *link = play_path(p, "project");
	struct try t = TRY_INIT;

	if (symlink(ssh, link) < 0)
		play_fail(p, "symlink");
	if (!p->outside) {
		bool all = refused(p, link, SBX_E_PATH_IN_CRED) &&
			   refused(p, ssh, SBX_E_PATH_IN_CRED) &&
			   refused(p, "/", SBX_E_PATH_ROOT) &&
			   refused(p, "/etc", SBX_E_PATH_SYSTEM) &&
			   refused(p, p->scene->tree.home, SBX_E_PATH_HOME) &&
			   refused(p, p->scene->root, SBX_E_PATH_ABOVE_HOME);

		play_say(p, all ? "refused" : "taken");
		return;
	}
	/* What would come of it: a plan that shows the place. */
	try_act(&t, "stat", "/tmp/project/id_ed25519");
	if (try_plan(&t, p, NULL) < 0) {
		play_fail(p, "plan");
	} else {
		sbx_plan_add(&t.prepared.plan, SBX_OP_BIND, link, "/tmp/project",
			"a work dir that was not judged");
		if (try_start(&t, p, NULL) < 0)
			play_fail(p, "start");
		try_go(&t, p);
		try_end(&t);
		play_say(p, try_ok(&t, 0) ? "read" : "refused");
	}
	try_done(&t);
}

/* The work dir is another one when it is bound than when it was judged. */
void stage_swapped(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work"),
			      *other = play_workdir(p, "other"),
			      *was = play_path(p, "was");
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, work);
	SBX_CLEANUP_FREE char *secret = sbx_xasprintf("%s/secret", other);
	SBX_CLEANUP_FREE char *seen = sbx_xasprintf("%s/secret", work);
	char *const cmd[] = { probe, NULL };
	struct try t = TRY_INIT;

	try_act(&t, "stat", seen);
	if (play_write(secret, "secret\n") < 0 || try_plan(&t, p, work) < 0 ||
		rename(work, was) < 0 || symlink(other, work) < 0) {
		play_fail(p, "swap");
	} else if (try_start(&t, p, cmd) < 0) {
		play_say(p, "refused");
	} else {
		try_go(&t, p);
		try_end(&t);
		if (*try_result(&t, 0) == '\0')
			play_fail(p, "payload");
		play_say(p, try_ok(&t, 0) ? "other" : "judged");
	}
	try_done(&t);
}

/* ---- links where protected paths belong ---- */

/* A work dir with a repository and an agent's configuration. Owned. */
static char *make_project(struct play *p, const char *name)
{
	static const char *const dirs[] = { ".git", ".git/hooks", ".claude" };
	static const char *const files[] = { ".git/config", ".mcp.json" };
	char *work = play_workdir(p, name);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(dirs); i++) {
		SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", work, dirs[i]);

		if (mkdir(path, 0700) < 0)
			play_stop(p, "project");
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(files); i++) {
		SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", work, files[i]);

		if (play_write(path, "") < 0)
			play_stop(p, "project");
	}
	return work;
}

/* Is a start refused when a link to what stands there has taken its place? */
static bool link_refused(struct play *p, const char *work, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", work, rel);
	SBX_CLEANUP_FREE char *aside = play_path(p, "aside");
	bool was = rename(path, aside) == 0, is;

	if (symlink(p->dir, path) < 0)
		play_fail(p, "symlink");
	is = refused(p, work, SBX_E_PATH_SYMLINK);
	unlink(path);
	if (was && rename(aside, path) < 0)
		play_fail(p, "rename");
	return is;
}

/* The link comes after the plan: through it bwrap would make a file on the host, by way of the
 * old root that it has at that moment. */
static bool late_link_refused(struct play *p, const char *work)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/.mcp.json", work);
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, work);
	SBX_CLEANUP_FREE char *made = play_path(p, "made");
	SBX_CLEANUP_FREE char *through = sbx_xasprintf("/oldroot%s", made);
	SBX_CLEANUP_FREE char *plain = play_path(p, "plain");
	char *const cmd[] = { probe, NULL };
	struct try t = TRY_INIT;
	size_t i;

	if (play_write(plain, "") < 0 || try_plan(&t, p, work) < 0 || unlink(path) < 0 ||
		symlink(through, path) < 0)
		play_fail(p, "link");
	i = t.is_prepared ? try_find_op(&t, path) : 0;
	if (p->outside && i < t.prepared.plan.n) {
		/* A source of its own, since the link leads nowhere as yet. */
		free(t.prepared.plan.ops[i].src);
		t.prepared.plan.ops[i].src = sbx_xstrdup(plain);
	}
	if (!p->ret->present && try_start(&t, p, cmd) == 0) {
		try_go(&t, p);
		try_end(&t);
	}
	try_done(&t);
	return access(made, F_OK) < 0;
}

void stage_planted(struct play *p)
{
	static const char *const rels[] = { ".git", ".git/hooks", ".git/config",
		".claude", ".mcp.json", ".codex", ".kiro" };
	SBX_CLEANUP_FREE char *work = make_project(p, "work");
	bool all = true;

	for (size_t i = 0; !p->outside && i < SBX_ARRAY_SIZE(rels); i++)
		all &= link_refused(p, work, rels[i]);
	if (!late_link_refused(p, work))
		play_say(p, "created");
	play_say(p, all ? "refused" : "followed");
}

/* How many entries the directory has, the hidden ones included. */
static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* What is not there and is to be covered has to be made first, and removed. */
void stage_litter(struct play *p)
{
	SBX_CLEANUP_FREE char *work = make_project(p, "work");
	SBX_CLEANUP_FREE char *git = sbx_xasprintf("%s/.git", work);
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, work);
	SBX_CLEANUP_FREE char *missing = sbx_xasprintf("%s/.codex-new", work);
	char *const cmd[] = { probe, NULL };
	struct try t = TRY_INIT;
	int before = entries(work) + entries(git);

	if (try_plan(&t, p, work) < 0)
		play_fail(p, "plan");
	if (p->outside)
		sbx_plan_add(&t.prepared.plan, SBX_OP_RO_BIND, "/usr", missing,
			"covers what is absent");
	if (!p->ret->present && try_start(&t, p, cmd) < 0)
		play_fail(p, "start");
	/* Something has to have been there, or nothing has been shown. */
	if (!p->ret->present && entries(work) + entries(git) == before)
		play_say(p, "unreserved");
	try_go(&t, p);
	try_end(&t);
	play_say(p, entries(work) + entries(git) == before ? "clean" : "litter");
	try_done(&t);
}

/* ---- things that are no plain files ---- */

/* A second name, in the work dir, for a file outside of it. */
void stage_hardlink_out(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *secret = play_path(p, "secret");
	SBX_CLEANUP_FREE char *alias = sbx_xasprintf("%s/alias", work);
	struct try t = TRY_INIT;

	if (play_write(secret, "secret\n") < 0 || link(secret, alias) < 0)
		play_fail(p, "link");
	try_act(&t, "read_byte", alias);
	if (!p->ret->present && try_run(&t, p, work))
		play_say(p, try_ok(&t, 0) ? "read" : "absent");
	try_done(&t);
}

/* A second name for a protected file. */
void stage_hardlink_protected(struct play *p)
{
	SBX_CLEANUP_FREE char *work = make_project(p, "work");
	SBX_CLEANUP_FREE char *config = sbx_xasprintf("%s/.git/config", work);
	SBX_CLEANUP_FREE char *alias = sbx_xasprintf("%s/alias", work);
	struct try t = TRY_INIT;
	struct stat st;

	if (link(config, alias) < 0)
		play_fail(p, "link");
	try_act(&t, "append", alias);
	if (!p->ret->present && try_run(&t, p, work) && stat(config, &st) == 0)
		play_say(p, st.st_size ? "changed" : "unchanged");
	try_done(&t);
}

/* A fifo of the host's with somebody who listens, in a work dir that is read-only. */
void stage_fifo(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *fifo = sbx_xasprintf("%s/fifo", work);
	SBX_CLEANUP_FD int fd = -1;
	struct try t = TRY_INIT;
	char byte;

	if (mkfifo(fifo, 0600) < 0)
		play_fail(p, "mkfifo");
	else
		fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	try_act(&t, "fifo_write", fifo);
	if (fd >= 0 && try_run(&t, p, work))
		play_say(p, read(fd, &byte, 1) == 1 ? "heard" : "unheard");
	try_done(&t);
}

/* A device that root has left there: the one that is always full. */
void stage_device(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *node = sbx_xasprintf("%s/full", work);
	struct try t = TRY_INIT;

	if (mknod(node, S_IFCHR | 0600, makedev(1, 7)) < 0) {
		play_say(p, "none"); /* ordinary users may not */
		return;
	}
	try_act(&t, "open_read", node);
	if (try_run(&t, p, work))
		play_say(p, try_ok(&t, 0) ? "opened" : "refused");
	try_done(&t);
}
