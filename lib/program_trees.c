/* Which tree belongs to a program file. Declared in program.h. */
#include "program.h"

#include "path.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

/* Layouts of installers and version managers. The shortest beginning of the program's path
 * that matches is the tree; '*' matches slashes, too. */
static const struct {
	const char *glob;
	const char *why;
	bool tool; /* nothing but what anybody can download lies there */
} layouts[] = {
	{ "/nix/store", "store paths refer to each other", true },
	{ "/opt/?*", "the program's installation", false },
	{ "/home/linuxbrew/.linuxbrew", "brew: libraries are shared between packages",
		true },
	{ "*/versions/node/?*", "nvm: one version of node, with its packages", true },
	{ "*/node-versions/?*/installation",
		"fnm: one version of node, with its packages", true },
	{ "*/.volta/tools/image", "volta: node and the packages", true },
	{ "*/mise/installs/?*/?*", "mise: one version of the program", true },
	{ "*/.asdf/installs/?*/?*", "asdf: one version of the program", true },
	{ "*/.pyenv/versions/?*", "pyenv: one version of Python", true },
	{ "*/share/uv/python/?*", "uv: one version of Python", true },
	{ "*/share/?*/versions/?*", "one version of the program", false },
	{ "*/share/pnpm", "pnpm: its packages", false },
	{ "*/.claude/local", "claude's local installation", false },
	{ "*/node_modules", "the package and those it needs", false },
};

/* The kernel's, and what every sandbox has its own of. */
static const char *const never_from[] = { "/proc", "/sys", "/dev", "/run", "/boot",
	"/etc", "/var/run" };
/* Credential directories because the host runs what lies there; a file may be read. */
static const char *const programs_only[] = { ".local/bin", "bin" };

static bool is_programs_only(const char *rel)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(programs_only); i++)
		if (strcmp(rel, programs_only[i]) == 0)
			return true;
	return false;
}

static bool touches(const char *path, const char *secret)
{
	return sbx_path_is_beneath(path, secret) || sbx_path_is_beneath(secret, path);
}

/* Keys, logins and transcripts of agents. Of a state directory only what lies in it may be
 * shown, never the whole. */
static bool touches_agents(const char *path, const char *home)
{
	size_t n;
	const struct sbx_agent *a = sbx_agents(&n);

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; a[i].roots[k]; k++) {
			SBX_CLEANUP_FREE char *root = sbx_path_join(home, a[i].roots[k]);

			if (sbx_path_is_beneath(root, path))
				return true;
		}
		for (const struct sbx_agent_path *p = a[i].paths; p->path; p++) {
			SBX_CLEANUP_FREE char *own = sbx_path_join(home, p->path);

			if (p->path[0] != '/' && touches(path, own))
				return true;
		}
	}
	return false;
}

static bool opens_home(const char *path, bool is_dir, const char *home)
{
	const char *const *creds = sbx_credential_dirs();

	if (sbx_path_is_beneath(home, path))
		return true;
	for (size_t i = 0; creds[i]; i++) {
		SBX_CLEANUP_FREE char *cred = sbx_path_join(home, creds[i]);
		bool harmless =
			!is_dir && is_programs_only(creds[i]) && strcmp(path, cred) != 0;

		if (touches(path, cred) && !harmless)
			return true;
	}
	return touches_agents(path, home);
}

static bool may_show(const struct sbx_host *h, const char *path)
{
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(path);
	struct stat st;
	bool is_dir;

	if (lstat(path, &st) < 0)
		return false;
	is_dir = S_ISDIR(st.st_mode);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(never_from); i++)
		if (sbx_path_is_beneath(path, never_from[i]))
			return false;
	/* No whole directory of the root, nobody's home, and no shared scratch. */
	if (is_dir && (sbx_path_depth(path) < 2 || strcmp(parent, "/home") == 0 ||
			      strcmp(path, "/var/tmp") == 0))
		return false;
	return !opens_home(path, is_dir, h->home) &&
	       !opens_home(path, is_dir, h->home_real);
}

static char *layout_of(const struct sbx_host *h, const char *real, const char **ret_why)
{
	for (const char *p = real; *p;) {
		SBX_CLEANUP_FREE char *begin = NULL;

		p += 1 + strcspn(p + 1, "/");
		begin = sbx_xasprintf("%.*s", (int)(p - real), real);
		for (size_t i = 0; i < SBX_ARRAY_SIZE(layouts); i++)
			if (fnmatch(layouts[i].glob, begin, 0) == 0 &&
				may_show(h, begin)) {
				*ret_why = layouts[i].why;
				return SBX_TAKE_PTR(begin);
			}
	}
	return NULL;
}

bool sbx_program_is_tool(const char *tree)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(layouts); i++)
		if (layouts[i].tool && fnmatch(layouts[i].glob, tree, 0) == 0)
			return true;
	return false;
}

static bool has(const char *dir, const char *name)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(dir, name);
	struct stat st;

	return stat(path, &st) == 0;
}

/* The nearest directory above that says of itself that it is a package. */
static char *package_of(const struct sbx_host *h, const char *real, const char **ret_why)
{
	char *dir = sbx_path_parent(real);

	while (sbx_path_depth(dir) > 1) {
		char *up = sbx_path_parent(dir);
		const char *base = strrchr(dir, '/') + 1;
		bool prefix = strcmp(base, "bin") == 0 && has(up, "lib");

		if (!may_show(h, dir) && !prefix) {
			free(up);
			break;
		}
		if (may_show(h, dir) &&
			(has(dir, "package.json") || has(dir, "pyvenv.cfg"))) {
			*ret_why = "the program's package";
			free(up);
			return dir;
		}
		free(dir);
		dir = up;
		if (prefix && may_show(h, dir)) {
			*ret_why = "the program's installation";
			return dir;
		}
	}
	free(dir);
	return NULL;
}

char *sbx_program_tree(const struct sbx_host *h, const char *real, const char **ret_why)
{
	char *tree = layout_of(h, real, ret_why);

	if (tree == NULL)
		tree = package_of(h, real, ret_why);
	if (tree == NULL && may_show(h, real)) {
		*ret_why = "the program";
		tree = sbx_xstrdup(real);
	}
	return tree;
}
