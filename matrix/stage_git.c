/* Scenarios with git itself: whether it works inside, and whether it obeys, on the host and
 * afterwards, what a payload has planted. In a home of the scenario's own. */
#include "stage_play.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define GIT "/usr/bin/git"
#define GIT_ARGS 12
#define GIT_SECONDS 10

/* A repository with one commit, and what a planted program would leave behind. */
struct repo {
	char *home, *work, *file, *marker, *program;
};

static _Noreturn void exec_git(const struct repo *r, char *const argv[], pid_t parent)
{
	char *home = sbx_xasprintf("HOME=%s", r->home);
	char *const env[] = { home, (char *)"PATH=/usr/bin:/bin",
		(char *)"GIT_CONFIG_NOSYSTEM=1", NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	play_leash(parent);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	alarm(GIT_SECONDS);
	if (r->work && chdir(r->work) == 0)
		execve(argv[0], argv, env);
	_exit(127);
}

/* git as the user runs it on the host, in the work dir. True when it exits with 0. */
static bool git(const struct repo *r, const char *const *words)
{
	char *argv[GIT_ARGS + 2] = { (char *)GIT };
	int status, n = 1;
	pid_t pid, parent = getpid();

	while (*words && n <= GIT_ARGS)
		argv[n++] = (char *)*words++;
	pid = fork();
	if (pid == 0)
		exec_git(r, argv, parent);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

#define GIT_RUN(r, ...) git(r, (const char *const[]){ __VA_ARGS__, NULL })

static void repo_done(struct repo *r)
{
	free(r->home);
	free(r->work);
	free(r->file);
	free(r->marker);
	free(r->program);
}

static bool write_home(struct play *p, struct repo *r)
{
	SBX_CLEANUP_FREE char *config = sbx_xasprintf("%s/home/.gitconfig", p->dir);

	r->home = play_path(p, "home");
	return mkdir(r->home, 0700) == 0 &&
	       play_write(config, "[user]\n\tname = a\n\temail = a@example.org\n"
				  "[init]\n\tdefaultBranch = main\n"
				  "[gc]\n\tauto = 0\n") == 0;
}

/* False when there is none; the play has been told why. */
static bool repo_make(struct repo *ret, struct play *p)
{
	struct repo r = { 0 };
	bool good;

	if (access(GIT, X_OK) < 0) {
		play_say(p, "none");
		return false;
	}
	r.work = play_workdir(p, "work");
	r.marker = play_path(p, "ran");
	r.file = sbx_xasprintf("%s/file.txt", r.work);
	r.program = sbx_xasprintf("%s/program", r.work);
	good = write_home(p, &r) && play_write(r.file, "one\n") == 0 &&
	       GIT_RUN(&r, "init", "-q") && GIT_RUN(&r, "add", "file.txt") &&
	       GIT_RUN(&r, "commit", "-qm", "one");
	if (!good) {
		play_fail(p, "repository");
		repo_done(&r);
	} else {
		*ret = r;
	}
	return good;
}

/* ---- what must work ---- */

/* git in the sandbox, in dir. */
static bool git_inside(
	struct play *p, const char *dir, const char *word, const char *more)
{
	char *const cmd[] = { (char *)GIT, (char *)"-C", (char *)dir, (char *)"-c",
		(char *)"user.name=b", (char *)"-c", (char *)"user.email=b@example.org",
		(char *)word, (char *)more, NULL };
	struct try t = TRY_INIT;
	bool good = false;

	if (try_plan(&t, p, dir) == 0 && try_start(&t, p, cmd) == 0) {
		try_end(&t);
		good = t.exit.code == 0 && (t.exit.how == SBX_HOW_EXITED || p->outside);
	}
	try_done(&t);
	return good;
}

static void status_and_commit(struct play *p, struct repo *r, const char *dir)
{
	bool status = git_inside(p, dir, "status", "--porcelain");
	bool commit = git_inside(p, dir, "commit", "-qamtwo");
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
	status_and_commit(p, &r, r.work);
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
	status_and_commit(p, &r, tree);
	repo_done(&r);
}

/* ---- what must not be obeyed ---- */

/* Acts of every planting: a program that tells that it has run, and passes its input on. */
static void plant_program(struct try *t, const struct repo *r)
{
	SBX_CLEANUP_FREE char *text = sbx_xasprintf("#!/bin/sh\n: >%s\ncat\n", r->marker);

	try_act(t, "put", r->program, text, "x");
}

/* Settings that make git run it. Owned. */
static char *evil_config(const struct repo *r)
{
	return sbx_xasprintf("[core]\n\trepositoryformatversion = 0\n"
			     "\tfsmonitor = %1$s\n\thooksPath = %2$s\n"
			     "[filter \"x\"]\n\tclean = %1$s\n\tsmudge = %1$s\n",
		r->program, r->work);
}

static void put_in_repo(
	struct try *t, const struct repo *r, const char *rel, const char *text)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", r->work, rel);

	try_act(t, "put", path, text, "x");
}

/* The payload plants, then the user works on the host as ever. */
static void plant_and_work(struct play *p, struct try *t, struct repo *r)
{
	if (!try_run(t, p, r->work))
		return;
	GIT_RUN(r, "status");
	if (play_write(r->file, "three\n") < 0)
		play_fail(p, "file");
	GIT_RUN(r, "add", "file.txt");
	GIT_RUN(r, "commit", "-qm", "three");
	GIT_RUN(r, "checkout", "-q", "-b", "other");
	play_say(p, access(r->marker, F_OK) == 0 ? "ran" : "quiet");
}

/* Hooks, settings, a filter, and the whole of .git exchanged. */
void stage_git_planted(struct play *p)
{
	static const char *const hooks[] = { ".git/hooks/pre-commit",
		".git/hooks/post-checkout", ".git/hooks/post-index-change" };
	SBX_CLEANUP_FREE char *config = NULL, *hook = NULL, *git = NULL, *away = NULL;
	struct try t = TRY_INIT;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	config = evil_config(&r);
	hook = sbx_xasprintf("#!/bin/sh\n: >%s\n", r.marker);
	git = sbx_xasprintf("%s/.git", r.work);
	away = sbx_xasprintf("%s/was", r.work);
	plant_program(&t, &r);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(hooks); i++)
		put_in_repo(&t, &r, hooks[i], hook);
	put_in_repo(&t, &r, ".gitattributes", "*.txt filter=x\n");
	put_in_repo(&t, &r, ".git/config", config);
	put_in_repo(&t, &r, ".git/config.worktree", config);
	put_in_repo(&t, &r, ".git/info/attributes", "*.txt filter=x\n");
	try_act(&t, "rename_away", away, git);
	plant_and_work(p, &t, &r);
	try_done(&t);
	repo_done(&r);
}

/* A pointer to another repository's settings; absent at the start. */
void stage_git_commondir(struct play *p)
{
	SBX_CLEANUP_FREE char *config = NULL, *objects = NULL, *refs = NULL;
	struct try t = TRY_INIT;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	config = evil_config(&r);
	objects = sbx_xasprintf("%s/common/objects/x", r.work);
	refs = sbx_xasprintf("%s/common/refs/x", r.work);
	plant_program(&t, &r);
	try_act(&t, "create_deep", objects);
	try_act(&t, "create_deep", refs);
	put_in_repo(&t, &r, "common/config", config);
	put_in_repo(&t, &r, ".git/commondir", "../common\n");
	plant_and_work(p, &t, &r);
	try_done(&t);
	repo_done(&r);
}

/* A repository inside the project, entered in its index as a submodule: git looks into it. */
void stage_git_nested(struct play *p)
{
	SBX_CLEANUP_FREE char *config = NULL, *sub = NULL;
	struct try t = TRY_INIT;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	config = evil_config(&r);
	sub = sbx_xasprintf("%s/sub", r.work);
	/* The index is the agent's to write: what it would do is done here, with less ado. */
	if (!GIT_RUN(&r, "clone", "-q", r.work, sub) || !GIT_RUN(&r, "add", "sub"))
		play_fail(p, "submodule");
	plant_program(&t, &r);
	put_in_repo(&t, &r, "sub/.git/config", config);
	if (!p->ret->present)
		plant_and_work(p, &t, &r);
	try_done(&t);
	repo_done(&r);
}
