/* Scenarios about what the host does while a sandbox is there, and what that notices. */
#include "stage_play.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Starts a payload that is there, but has no acts as yet. */
static bool start_up(struct try *t, struct play *p, const char *work)
{
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, work);
	char *const cmd[] = { probe, (char *)"--up", NULL };

	if (try_plan(t, p, work) == 0 && try_start(t, p, cmd) == 0 &&
		try_await(t, "up\n"))
		return true;
	play_fail(p, "start");
	return false;
}

/* As editors save: a new file takes the old one's name. */
static int replace_file(struct play *p, const char *path, const char *text)
{
	SBX_CLEANUP_FREE char *new = play_path(p, "saved");
	int r = play_write(new, text);

	return r < 0 ? r : rename(new, path) < 0 ? -errno : 0;
}

/* A protected file is replaced on the host during the session. */
void stage_replaced_protected(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/.mcp.json", work);
	struct try t = TRY_INIT;
	struct stat st;

	try_act(&t, "append", file);
	if (play_write(file, "") < 0) {
		play_fail(p, "file");
	} else if (start_up(&t, p, work)) {
		if (replace_file(p, file, "") < 0)
			play_fail(p, "rename");
		try_go(&t, p);
		try_end(&t);
		play_say(p, stat(file, &st) == 0 && st.st_size ? "changed" : "unchanged");
	}
	try_done(&t);
}

/* A file of HOME that is bound by itself is replaced: a login that was renewed, a setting. In a
 * home of the scenario's own. */
void stage_replaced_bound(struct play *p)
{
	bool claude = strcmp(cell_value(p->cell, AXIS_AGENT), "claude") == 0;
	SBX_CLEANUP_FREE char *home = play_path(p, "home");
	SBX_CLEANUP_FREE char *state = sbx_xasprintf("%s/.claude", home);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf(
		"%s/%s", home, claude ? ".claude/settings.json" : ".gitconfig");
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	struct try t = TRY_INIT;
	char old[32];

	p->home = home;
	snprintf(
		old, sizeof(old), "%016llx", (unsigned long long)tree_text_hash("old\n"));
	try_act(&t, "read", file, old);
	if (mkdir(home, 0700) < 0 || mkdir(state, 0700) < 0 ||
		play_write(file, "old\n") < 0) {
		play_fail(p, "home");
	} else if (start_up(&t, p, work)) {
		if (replace_file(p, file, "new\n") < 0)
			play_fail(p, "rename");
		try_go(&t, p);
		try_end(&t);
		play_say(p, try_ok(&t, 0) ? "old" : "new");
	}
	try_done(&t);
}

/* ---- mounts ---- */

static int write_map(const char *path, unsigned id)
{
	SBX_CLEANUP_FREE char *text = sbx_xasprintf("%u %u 1\n", id, id);
	SBX_CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : sbx_write_all(fd, text, strlen(text));
}

/* A mount namespace of the player's own, in which it may mount. The rest of the machine never
 * sees any of it. */
static bool own_mounts(unsigned long propagation)
{
	unsigned uid = getuid(), gid = getgid();
	SBX_CLEANUP_FD int deny = -1;

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0 &&
		       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		       mount("none", "/", NULL, MS_REC | propagation, NULL) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	deny = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	return deny >= 0 && sbx_write_all(deny, "deny", 4) == 0 &&
	       write_map("/proc/self/uid_map", uid) == 0 &&
	       write_map("/proc/self/gid_map", gid) == 0 &&
	       mount("none", "/", NULL, MS_REC | propagation, NULL) == 0;
}

/* A file system that is mounted in the work dir, before or after the start. */
static void submount(struct play *p, bool late)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *dir = sbx_xasprintf("%s/mounted", work);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/new", dir);
	struct try t = TRY_INIT;

	if (mkdir(dir, 0700) < 0) {
		play_fail(p, "work dir");
		return;
	}
	if (!own_mounts(late ? MS_SHARED : MS_PRIVATE)) {
		play_say(p, "none");
		return;
	}
	if (!late && mount("none", dir, "tmpfs", 0, "size=64k") < 0)
		play_fail(p, "mount");
	try_act(&t, "create", file);
	if (!p->ret->present && start_up(&t, p, work)) {
		if (late && mount("none", dir, "tmpfs", 0, "size=64k") < 0)
			play_fail(p, "mount");
		try_go(&t, p);
		try_end(&t);
		play_say(p, access(file, F_OK) == 0 ? "written" : "sealed");
	}
	try_done(&t);
}

void stage_submount(struct play *p)
{
	submount(p, false);
}

void stage_late_mount(struct play *p)
{
	submount(p, true);
}

/* ---- others at work on the same files ---- */

/* The payload locks and leases a file of a read-only work dir, and watches the programs. */
void stage_observer(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, work);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/file", work);
	char *const cmd[] = { probe, (char *)"--observe", file, (char *)"/usr/bin",
		NULL };
	struct try t = TRY_INIT;
	int fd, leased, program;

	if (play_write(file, "text\n") < 0 || try_plan(&t, p, work) < 0 ||
		try_start(&t, p, cmd) < 0 || !try_await(&t, "up\n")) {
		play_fail(p, "start");
	} else {
		bool locked, watched;

		leased = open(file, O_WRONLY | O_NONBLOCK | O_CLOEXEC) < 0 &&
			 errno == EWOULDBLOCK;
		fd = open(file, O_RDONLY | O_CLOEXEC);
		locked = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
		program = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
		watched = try_await(&t, "up\nseen\n");
		play_list(p, "left-alone",
			(const struct found[]){ { "lock", locked }, { "lease", leased },
				{ "watch", watched }, { NULL, false } });
		sbx_close_fd(&fd);
		sbx_close_fd(&program);
	}
	try_done(&t);
}

/* Two sandboxes in one work dir, at the same time. */
void stage_two(struct play *p)
{
	SBX_CLEANUP_FREE char *work = play_workdir(p, "work");
	SBX_CLEANUP_FREE char *a = sbx_xasprintf("%s/a", work),
			      *b = sbx_xasprintf("%s/b", work);
	struct try first = TRY_INIT, second = TRY_INIT;

	try_act(&first, "create", a);
	try_act(&first, "stat", b);
	try_act(&second, "create", b);
	if (start_up(&first, p, work) && start_up(&second, p, work)) {
		try_go(&second, p);
		try_end(&second);
		try_go(&first, p);
		try_end(&first);
		play_say(p, try_ok(&first, 0) && try_ok(&first, 1) && try_ok(&second, 0)
				    ? "both"
				    : "one");
	}
	try_done(&first);
	try_done(&second);
}
