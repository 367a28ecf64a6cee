#include "stage_repo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define GIT_ARGS 12
#define GIT_SECONDS 10

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

bool repo_git(const struct repo *r, const char *const *words)
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

void repo_done(struct repo *r)
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

bool repo_make(struct repo *ret, struct play *p)
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

bool repo_submodule(const struct repo *r, const char *from, const char *rel)
{
	return GIT_RUN(r, "clone", "-q", r->work, from) &&
	       GIT_RUN(r, "-c", "protocol.file.allow=always", "submodule", "--quiet",
		       "add", from, rel) &&
	       GIT_RUN(r, "commit", "-qm", "submodule");
}

void repo_plant_program(struct try *t, const struct repo *r)
{
	SBX_CLEANUP_FREE char *text = sbx_xasprintf("#!/bin/sh\n: >%s\ncat\n", r->marker);

	try_act(t, "put", r->program, text, "x");
}

char *repo_evil_config(const struct repo *r)
{
	return sbx_xasprintf("[core]\n\trepositoryformatversion = 0\n"
			     "\tfsmonitor = %1$s\n\thooksPath = %2$s\n"
			     "[filter \"x\"]\n\tclean = %1$s\n\tsmudge = %1$s\n",
		r->program, r->work);
}

void repo_put(struct try *t, const struct repo *r, const char *rel, const char *text)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", r->work, rel);

	try_act(t, "put", path, text, "x");
}

void repo_verdict(struct play *p, const struct repo *r)
{
	play_say(p, access(r->marker, F_OK) == 0 ? "ran" : "quiet");
}

void repo_plant_and_work(struct play *p, struct try *t, struct repo *r)
{
	if (!try_run(t, p, r->work))
		return;
	GIT_RUN(r, "status");
	if (play_write(r->file, "three\n") < 0)
		play_fail(p, "file");
	GIT_RUN(r, "add", "file.txt");
	GIT_RUN(r, "commit", "-qm", "three");
	GIT_RUN(r, "checkout", "-q", "-b", "other");
	repo_verdict(p, r);
}
