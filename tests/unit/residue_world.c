#include "residue_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

/* The current directory is the work res_dir; "../out" is beside it. */
char *res_dir, *res_work;
struct sbx_host res_host;
struct sbx_plan res_plan;

void res_next_tick(void)
{
	struct timespec now, coarse;

	clock_gettime(CLOCK_REALTIME, &now);
	do {
		sched_yield();
		clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
	} while (coarse.tv_sec < now.tv_sec ||
		 (coarse.tv_sec == now.tv_sec && coarse.tv_nsec <= now.tv_nsec));
}

void res_put(const char *path, const char *text)
{
	SBX_CLEANUP_FD int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
}

void res_make_above(const char *path)
{
	SBX_CLEANUP_FREE char *p = sbx_xstrdup(path);

	for (char *s = strchr(p, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		assert_true(mkdir(p, 0755) == 0 || errno == EEXIST);
		*s = '/';
	}
}

void res_put_below(const char *path, const char *text)
{
	res_make_above(path);
	res_put(path, text);
}

static void make_repository(const char *git)
{
	static const char *const files[] = { "HEAD", "config", "objects/x", "refs/x",
		"hooks/pre-commit.sample", "worktrees/t/gitdir", "modules/m/HEAD",
		"modules/m/config", "modules/m/objects/x", "modules/m/refs/x" };

	for (size_t i = 0; i < SBX_ARRAY_SIZE(files); i++) {
		SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", git, files[i]);

		res_put_below(path, "");
	}
}

static void protect(const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(res_work, rel);

	sbx_plan_add(&res_plan, SBX_OP_RO_BIND, path, path, "x")->pin = SBX_PIN_WORKDIR;
}

int res_setup(void **state)
{
	SBX_CLEANUP_FREE char *git = NULL;

	(void)state;
	res_dir = t_mkdir();
	assert_int_equal(chmod(res_dir, 0755), 0); /* root's tests change the user */
	res_work = sbx_xasprintf("%s/work", res_dir);
	git = sbx_xasprintf("%s/.git", res_work);
	assert_int_equal(mkdir(res_work, 0755), 0);
	assert_int_equal(chdir(res_work), 0);
	t_host_debian(&res_host, res_work);
	sbx_plan_add(&res_plan, SBX_OP_TMPFS, NULL, res_dir, "x");
	sbx_plan_add(&res_plan, SBX_OP_BIND, res_work, res_work, "x")->pin =
		SBX_PIN_WORKDIR;
	make_repository(".git");
	res_put(".git/config", "[core]\n\thooksPath = \".husky/_\" ; theirs\n");
	sbx_plan_add(&res_plan, SBX_OP_BIND, git, git, "x")->pin = SBX_PIN_WORKDIR;
	protect(".git/config");
	protect(".git/commondir");
	protect(".mcp.json");
	make_repository("nest/.git");
	make_repository("fixture.git");
	res_put_below("sub/.claude/settings.json", "{}");
	res_put_below(".husky/pre-commit", "");
	res_put_below("moved/pre-push", "");
	res_put_below("tree/commondir", "");
	res_put("old", "");
	res_put("../out", "");
	res_put("shared", "");
	assert_int_equal(link("shared", "../other-name"), 0);
	res_next_tick();
	return 0;
}

int res_teardown(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	sbx_plan_done(&res_plan);
	sbx_host_done(&res_host);
	t_rmdir(res_dir);
	free(res_work);
	return 0;
}

void res_begin(struct sbx_residue_mark *m)
{
	struct sbx_error e = { 0 };

	if (sbx_residue_begin(m, &res_plan, &res_host, &e) < 0)
		fail_msg("%s", e.message);
}

void res_collect(struct sbx_residue *r, struct sbx_residue_mark *m)
{
	struct sbx_error e = { 0 };

	if (sbx_residue_collect(r, m, &e) < 0)
		fail_msg("%s", e.message);
	sbx_residue_mark_done(m);
}

static bool is_item(const struct sbx_residue_item *i, enum sbx_residue_kind kind,
	const char *rel, const char *detail)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(res_work, rel ? rel : "");

	return i->kind == kind && (rel == NULL || strcmp(i->path, path) == 0) &&
	       (detail == NULL || (i->detail && strcmp(i->detail, detail) == 0));
}

bool res_has(const struct sbx_residue *r, enum sbx_residue_kind kind, const char *rel,
	const char *detail)
{
	for (size_t i = 0; i < r->n; i++)
		if (is_item(&r->items[i], kind, rel, detail))
			return true;
	return false;
}

void res_print(const struct sbx_residue *r)
{
	for (size_t i = 0; i < r->n; i++)
		print_message("  %s %s (%s)\n", sbx_residue_kind_name(r->items[i].kind),
			r->items[i].path, r->items[i].detail ? r->items[i].detail : "");
}
