/* Scenarios with git on the host, after a payload has planted something: does git obey it? */
#include "stage_repo.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
	config = repo_evil_config(&r);
	hook = sbx_xasprintf("#!/bin/sh\n: >%s\n", r.marker);
	git = sbx_xasprintf("%s/.git", r.work);
	away = sbx_xasprintf("%s/was", r.work);
	repo_plant_program(&t, &r);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(hooks); i++)
		repo_put(&t, &r, hooks[i], hook);
	repo_put(&t, &r, ".gitattributes", "*.txt filter=x\n");
	repo_put(&t, &r, ".git/config", config);
	repo_put(&t, &r, ".git/config.worktree", config);
	repo_put(&t, &r, ".git/info/attributes", "*.txt filter=x\n");
	try_act(&t, "rename_away", away, git);
	repo_plant_and_work(p, &t, &r);
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
	config = repo_evil_config(&r);
	objects = sbx_xasprintf("%s/common/objects/x", r.work);
	refs = sbx_xasprintf("%s/common/refs/x", r.work);
	repo_plant_program(&t, &r);
	try_act(&t, "create_deep", objects);
	try_act(&t, "create_deep", refs);
	repo_put(&t, &r, "common/config", config);
	repo_put(&t, &r, ".git/commondir", "../common\n");
	repo_plant_and_work(p, &t, &r);
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
	config = repo_evil_config(&r);
	sub = sbx_xasprintf("%s/sub", r.work);
	/* The index is the agent's to write: what it would do is done here, with less ado. */
	if (!GIT_RUN(&r, "clone", "-q", r.work, sub) || !GIT_RUN(&r, "add", "sub"))
		play_fail(p, "submodule");
	repo_plant_program(&t, &r);
	repo_put(&t, &r, "sub/.git/config", config);
	if (!p->ret->present)
		repo_plant_and_work(p, &t, &r);
	try_done(&t);
	repo_done(&r);
}

/* A repository where there was none: the next prompt of a shell that shows the branch asks it. */
void stage_git_init(struct play *p)
{
	SBX_CLEANUP_FREE char *config = NULL, *git = NULL, *away = NULL;
	struct try t = TRY_INIT;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	config = repo_evil_config(&r);
	git = sbx_xasprintf("%s/.git", r.work);
	away = play_path(p, "was");
	if (rename(git, away) < 0)
		play_fail(p, "rename");
	repo_plant_program(&t, &r);
	try_act(&t, "mkdir", git);
	for (size_t i = 0; i < 2; i++) {
		static const char *const deep[] = { "objects", "refs" };
		SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s/x", git, deep[i]);

		try_act(&t, "create_deep", path);
	}
	repo_put(&t, &r, ".git/HEAD", "ref: refs/heads/main\n");
	repo_put(&t, &r, ".git/config", config);
	if (!p->ret->present)
		repo_plant_and_work(p, &t, &r);
	try_done(&t);
	repo_done(&r);
}

/* What git has of its own below .git for a submodule and for a linked work tree, which git looks
 * into from the repository above and from the tree. */
static void plant_below(struct try *t, const struct repo *r, const char *config)
{
	static const char *const dirs[] = { ".git/modules/libs/sub",
		".git/worktrees/tree" };
	static const char *const configs[] = { "config", "config.worktree" };

	for (size_t i = 0; i < SBX_ARRAY_SIZE(dirs); i++) {
		for (size_t k = 0; k < SBX_ARRAY_SIZE(configs); k++) {
			SBX_CLEANUP_FREE char *path =
				sbx_xasprintf("%s/%s", dirs[i], configs[k]);

			repo_put(t, r, path, config);
		}
	}
}

/* The user works in both. */
static void work_below(
	struct play *p, const struct repo *r, const char *sub, const char *tree)
{
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/file.txt", sub);

	GIT_RUN(r, "status");
	GIT_RUN(r, "-C", tree, "status");
	if (play_write(file, "three\n") < 0)
		play_fail(p, "file");
	GIT_RUN(r, "-C", sub, "commit", "-qam", "three");
	repo_verdict(p, r);
}

void stage_git_below_planted(struct play *p)
{
	SBX_CLEANUP_FREE char *module = play_path(p, "module"),
			      *tree = play_path(p, "tree");
	SBX_CLEANUP_FREE char *config = NULL, *sub = NULL;
	struct try t = TRY_INIT;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	config = repo_evil_config(&r);
	sub = sbx_xasprintf("%s/libs/sub", r.work);
	if (!repo_submodule(&r, module, "libs/sub") ||
		!GIT_RUN(&r, "worktree", "add", "-q", tree))
		play_fail(p, "submodule");
	repo_plant_program(&t, &r);
	plant_below(&t, &r, config);
	if (!p->ret->present && try_run(&t, p, r.work))
		work_below(p, &r, sub, tree);
	try_done(&t);
	repo_done(&r);
}

/* The work dir is a linked work tree: its repository lies elsewhere, and is written to. */
void stage_git_linked_planted(struct play *p)
{
	static const char *const rels[] = { ".git/config", ".git/config.worktree",
		".git/worktrees/tree/config.worktree" };
	SBX_CLEANUP_FREE char *tree = play_path(p, "tree");
	SBX_CLEANUP_FREE char *config = NULL, *hook = NULL;
	struct try t = TRY_INIT;
	struct repo r;

	if (!repo_make(&r, p))
		return;
	p->home = r.home;
	hook = sbx_xasprintf("#!/bin/sh\n: >%s\n", r.marker);
	if (!GIT_RUN(&r, "worktree", "add", "-q", tree))
		play_fail(p, "work tree");
	/* What runs lies in the tree: the repository is no work dir here. */
	free(r.program);
	r.program = sbx_xasprintf("%s/program", tree);
	config = repo_evil_config(&r);
	repo_plant_program(&t, &r);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rels); i++)
		repo_put(&t, &r, rels[i], config);
	repo_put(&t, &r, ".git/hooks/pre-commit", hook);
	if (!p->ret->present && play_probe_into(p, tree) && try_run(&t, p, tree)) {
		GIT_RUN(&r, "status");
		GIT_RUN(&r, "-C", tree, "status");
		if (play_write(r.file, "three\n") < 0)
			play_fail(p, "file");
		GIT_RUN(&r, "commit", "-qam", "three");
		repo_verdict(p, &r);
	}
	try_done(&t);
	repo_done(&r);
}
