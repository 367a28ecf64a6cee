/* Scenarios with git at work inside. */
#include "stage_repo.h"

#include <stdio.h>
#include <string.h>

/* git in the sandbox of this work dir, in dir. */
static bool git_inside(struct play *p, const char *work, const char *dir,
	const char *word, const char *more)
{
	char *const cmd[] = { (char *)GIT, (char *)"-C", (char *)dir, (char *)"-c",
		(char *)"user.name=b", (char *)"-c", (char *)"user.email=b@example.org",
		(char *)word, (char *)more, NULL };
	struct try t = TRY_INIT;
	bool good = false;

	if (try_plan(&t, p, work) == 0 && try_start(&t, p, cmd) == 0) {
		try_end(&t);
		good = t.exit.code == 0 && (t.exit.how == SBX_HOW_EXITED || p->outside);
	}
	try_done(&t);
	return good;
}

static void status_and_commit(
	struct play *p, struct repo *r, const char *work, const char *dir)
{
	bool status = git_inside(p, work, dir, "status", "--porcelain");
	bool commit = git_inside(p, work, dir, "commit", "-qamtwo");
	bool clean = GIT_RUN(r, "-C", dir, "diff", "--quiet", "HEAD");

	if (status && commit && clean)
		play_pass(p, "ok");
	play_say(p, status ? "status-only" : "fails");
}

void stage_git_works(struct play *p)
{
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	if (play_write(r.file, "two\n") < 0)
		play_fail(p, "file");
	status_and_commit(p, &r, r.work, r.work);
	repo_done(&r);
}

/* A second work tree: what git needs lies in the first one's repository. */
void stage_git_worktree(struct play *p)
{
	SBX_CLEANUP_FREE char *tree = play_path(p, "tree");
	SBX_CLEANUP_FREE char *file = play_path(p, "tree/file.txt");
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	if (!GIT_RUN(&r, "worktree", "add", "-q", tree) || play_write(file, "two\n") < 0)
		play_fail(p, "work tree");
	status_and_commit(p, &r, tree, tree);
	repo_done(&r);
}

/* Work trees and submodules below the work dir: what is git's own lies in .git. */
void stage_git_below(struct play *p)
{
	SBX_CLEANUP_FREE char *module = play_path(p, "module");
	SBX_CLEANUP_FREE char *sub = NULL, *tree = NULL, *in_sub = NULL, *in_tree = NULL;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	sub = sbx_xasprintf("%s/libs/sub", r.work);
	in_sub = sbx_xasprintf("%s/file.txt", sub);
	tree = sbx_xasprintf("%s/tree", r.work);
	in_tree = sbx_xasprintf("%s/file.txt", tree);
	if (!repo_submodule(&r, module, "libs/sub") ||
		!GIT_RUN(&r, "worktree", "add", "-q", tree) ||
		play_write(in_sub, "two\n") < 0 || play_write(in_tree, "two\n") < 0)
		play_fail(p, "submodule");
	if (!git_inside(p, r.work, sub, "commit", "-qamtwo") ||
		!GIT_RUN(&r, "-C", sub, "diff", "--quiet", "HEAD"))
		play_say(p, "no-submodule");
	if (!git_inside(p, r.work, tree, "commit", "-qamtwo") ||
		!GIT_RUN(&r, "-C", tree, "diff", "--quiet", "HEAD"))
		play_say(p, "no-tree");
	status_and_commit(p, &r, r.work, r.work);
	repo_done(&r);
}
