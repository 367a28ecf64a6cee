#include "reserved.h"

#include "keeper.h"
#include "look.h"
#include "path.h"
#include "protect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A row for path among rows, which start at dir. NULL: none. */
static const struct sbx_protected *row_in(
	const char *path, const char *dir, const struct sbx_protected *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		SBX_CLEANUP_FREE char *at = sbx_path_join(dir, rows[i].path);

		if (strcmp(at, path) == 0)
			return &rows[i];
	}
	return NULL;
}

static const struct sbx_protected *row_of(const struct sbx_host *h, const char *path)
{
	static const struct sbx_protected plain = { "", SBX_RESERVE_DIR, NULL, "" };
	SBX_CLEANUP_FREE char *git = sbx_path_join(h->workdir.real, ".git");
	const struct sbx_protected *rows, *row;
	size_t n;

	/* Where a repository is missing, and transcripts. */
	if (strcmp(path, git) == 0 ||
		(h->state.real && sbx_path_is_beneath(path, h->state.real)))
		return &plain;
	rows = sbx_protected_paths(&n);
	row = row_in(path, h->workdir.real, rows, n);
	rows = sbx_protected_in_repository(&n);
	for (size_t i = 0; row == NULL && i < h->modules.n; i++) {
		SBX_CLEANUP_FREE char *dir =
			sbx_path_join(h->workdir.real, h->modules.v[i]);

		row = row_in(path, dir, rows, n);
	}
	rows = sbx_protected_in_worktree(&n);
	for (size_t i = 0; row == NULL && i < h->worktrees.n; i++) {
		SBX_CLEANUP_FREE char *dir =
			sbx_path_join(h->workdir.real, h->worktrees.v[i]);

		row = row_in(path, dir, rows, n);
	}
	if (row == NULL && h->git_admin) {
		SBX_CLEANUP_FREE char *dir = sbx_path_join(h->git.real, h->git_admin);

		row = row_in(path, dir, rows, n);
	}
	return row;
}

static bool stands(const struct sbx_host *h, const char *path)
{
	const struct sbx_protected *row = row_of(h, path);

	return row && sbx_keeper_stands(AT_FDCWD, path, row->reserve, row->text);
}

void sbx_reserved_confirm(struct sbx_host *h)
{
	for (size_t i = 0; i < h->n_facts; i++) {
		SBX_CLEANUP_FREE char *path = NULL, *dir = NULL;

		if (!h->facts[i].reserved || stands(h, h->facts[i].path))
			continue;
		/* Its keeper may have removed it meanwhile. */
		path = sbx_xstrdup(h->facts[i].path);
		dir = sbx_path_parent(path);
		sbx_look_protected(h, dir, strrchr(path, '/') + 1);
		h->facts[i].reserved = h->facts[i].reserved && stands(h, path);
	}
}

int sbx_reserved_check(
	const struct sbx_plan *plan, const struct sbx_host *h, struct sbx_error *e)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct sbx_op *op = &plan->ops[i];
		int r;

		if (op->kind != SBX_OP_RO_BIND || op->reserve != SBX_RESERVE_NONE ||
			sbx_plan_base(h, op->pin) == NULL || !stands(h, op->src))
			continue;
		r = sbx_error_set(e, SBX_E_PATH_CHANGED, EEXIST,
			"'%s' came to be while the sandbox was being prepared: another "
			"one's placeholder",
			op->src);
		sbx_error_remedy(e, "run it again: it will be protected as it is now");
		return r;
	}
	return 0;
}
