#include "reserved.h"

#include "keeper.h"
#include "path.h"
#include "protect.h"

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

void sbx_reserved_confirm(struct sbx_host *h)
{
	for (size_t i = 0; i < h->n_facts; i++) {
		struct sbx_fact *f = &h->facts[i];
		const struct sbx_protected *row = f->reserved ? row_of(h, f->path) : NULL;

		f->reserved = row && sbx_keeper_stands(
					     AT_FDCWD, f->path, row->reserve, row->text);
	}
}
