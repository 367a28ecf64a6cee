/* Scenarios about what is said of what a payload leaves (lib/residue.h). Outside, nobody looks. */
#include "stage_play.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A session in a work dir, looked at before and after. */
struct session {
	struct try t;
	char *work;
	struct sbx_residue_mark mark;
	struct sbx_residue left;
};

static void session_init(struct session *s, struct play *p)
{
	*s = (struct session){ .t = TRY_INIT, .work = play_workdir(p, "work") };
}

static void session_done(struct session *s)
{
	sbx_residue_mark_done(&s->mark);
	sbx_residue_done(&s->left);
	try_done(&s->t);
	free(s->work);
}

static char *path_in(const struct session *s, const char *rel)
{
	return sbx_xasprintf("%s/%s", s->work, rel);
}

/* What is there already must not be of the same tick as the mark. */
static void next_tick(void)
{
	struct timespec now, coarse;

	clock_gettime(CLOCK_REALTIME, &now);
	do {
		sched_yield();
		clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
	} while (coarse.tv_sec < now.tv_sec ||
		 (coarse.tv_sec == now.tv_sec && coarse.tv_nsec <= now.tv_nsec));
}

/* The mark, then the payload, which waits for its acts. */
static bool start_marked(struct session *s, struct play *p)
{
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, s->work);
	char *const cmd[] = { probe, (char *)"--up", NULL };
	struct try *t = &s->t;

	next_tick();
	if (try_plan(t, p, s->work) == 0 &&
		sbx_residue_begin(
			&s->mark, &t->prepared.plan, &t->prepared.host, &t->error) == 0 &&
		try_start(t, p, cmd) == 0 && try_await(t, "up\n"))
		return true;
	play_fail(p, "start");
	return false;
}

/* It does its acts and ends. True when all of them worked, where the work dir is writable. */
static bool end_session(struct session *s, struct play *p)
{
	bool must = p->outside || strcmp(cell_value(p->cell, AXIS_FS), "rw") == 0;

	try_go(&s->t, p);
	try_end(&s->t);
	for (size_t i = 0; must && i < s->t.n_acts; i++)
		if (!try_ok(&s->t, i)) {
			play_fail(p, "payload");
			return false;
		}
	return true;
}

static bool collect(struct session *s, struct play *p)
{
	if (sbx_residue_collect(&s->left, &s->mark, &s->t.error) == 0)
		return true;
	play_fail(p, "collect");
	return false;
}

static bool told(const struct session *s, enum sbx_residue_kind kind, const char *rel)
{
	SBX_CLEANUP_FREE char *path = path_in(s, rel);

	for (size_t i = 0; i < s->left.n; i++)
		if (s->left.items[i].kind == kind &&
			strcmp(s->left.items[i].path, path) == 0)
			return true;
	return false;
}

/* It is there, and nothing was said of it. */
static bool missed(const struct session *s, enum sbx_residue_kind kind, const char *rel)
{
	SBX_CLEANUP_FREE char *path = path_in(s, rel);
	struct stat st;

	return lstat(path, &st) == 0 && !told(s, kind, rel);
}

/* An act on a path of the work dir. */
static void leave(struct session *s, const char *act, const char *rel, const char *more)
{
	SBX_CLEANUP_FREE char *path = path_in(s, rel);

	try_add_act(&s->t, (const char *const[]){ act, path, more, NULL });
}

/* A link, a fifo, a socket, a repository, and settings for an agent. */
void stage_residue_named(struct play *p)
{
	struct session s;

	session_init(&s, p);
	leave(&s, "symlink", "link", "/etc/passwd");
	leave(&s, "mkfifo", "fifo", NULL);
	leave(&s, "bind_unix", "s", NULL);
	leave(&s, "mkdir", "sub", NULL);
	leave(&s, "mkdir", "sub/.git", NULL);
	leave(&s, "create", "sub/.mcp.json", NULL);
	if (start_marked(&s, p) && end_session(&s, p) && (p->outside || collect(&s, p)))
		play_list(p, "all-named",
			(const struct found[]){
				{ "link", missed(&s, SBX_RESIDUE_LINK_OUT, "link") },
				{ "fifo", missed(&s, SBX_RESIDUE_FIFO, "fifo") },
				{ "socket", missed(&s, SBX_RESIDUE_SOCKET, "s") },
				{ "git", missed(&s, SBX_RESIDUE_REPOSITORY, "sub/.git") },
				{ "name", missed(&s, SBX_RESIDUE_PROTECTED,
						  "sub/.mcp.json") },
				{ 0 } });
	session_done(&s);
}

/* What was there, and what is ordinary work. Outside, as if the session had begun before all. */
void stage_residue_clean(struct play *p)
{
	SBX_CLEANUP_FREE char *fifo = NULL, *link = NULL, *file = NULL;
	struct session s;

	session_init(&s, p);
	fifo = path_in(&s, "fifo");
	link = path_in(&s, "link");
	file = path_in(&s, "file");
	if (mkfifo(fifo, 0600) < 0 || symlink("/etc/passwd", link) < 0 ||
		play_write(file, "") < 0)
		play_fail(p, "work dir");
	leave(&s, "append", "file", NULL);
	leave(&s, "create_deep", "src/hooks/config", NULL);
	leave(&s, "symlink", "within", "src/hooks");
	if (!p->ret->present && start_marked(&s, p) && end_session(&s, p)) {
		if (p->outside)
			s.mark.since.tv_sec = 1;
		if (collect(&s, p))
			play_say(p, s.left.n == 0 ? "clean" : "named");
	}
	session_done(&s);
}

/* A protected file is replaced on the host, and the protection with it. */
void stage_residue_loose(struct play *p)
{
	SBX_CLEANUP_FREE char *file = NULL, *saved = play_path(p, "saved");
	struct session s;

	session_init(&s, p);
	file = path_in(&s, ".mcp.json");
	if (play_write(file, "") < 0 || play_write(saved, "") < 0)
		play_fail(p, "file");
	leave(&s, "append", ".mcp.json", NULL);
	if (!p->ret->present && start_marked(&s, p)) {
		if (rename(saved, file) < 0)
			play_fail(p, "rename");
		if (end_session(&s, p) && (p->outside || collect(&s, p)))
			play_say(p, told(&s, SBX_RESIDUE_LOOSE, ".mcp.json") ? "told"
									     : "untold");
	}
	session_done(&s);
}
