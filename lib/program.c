#include "program.h"

#include "baseline.h"
#include "path.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD_MAX 4096
#define HOPS_MAX 40 /* as the kernel's */
#define NESTING_MAX 4 /* a script whose interpreter is a script ... */

/* Stand-ins of version managers, which look up the real program when they run, in files that
 * are not there inside. %s is the program; the highest version is taken. */
static const struct {
	const char *dir; /* glob of the directory in which the stand-in was found */
	const char *places[3]; /* from there; the first that has it */
} shims[] = {
	{ "*/.volta/bin",
		{ "../tools/image/packages/*/bin", "../tools/image/packages/@*/*/bin",
			"../tools/image/node/*/bin" } },
	{ "*/mise/shims", { "../installs/*/latest/bin", "../installs/*/*/bin" } },
	{ "*/.asdf/shims", { "../installs/*/*/bin" } },
	{ "*/.pyenv/shims", { "../versions/*/bin" } },
};

/* Parents of every program inside. */
static const char *const always_visible[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32",
	"/lib64", "/libx32", "/etc/alternatives" };
/* The kernel's, and what is absent inside: no link is made there. */
static const char *const no_links_in[] = { "/proc", "/sys", "/dev", "/run", "/boot",
	"/etc", "/var/run" };

static bool beneath_any(const char *path, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sbx_path_is_beneath(path, dirs[i]))
			return true;
	return false;
}

static bool is_visible(const struct sbx_host *h, const char *path)
{
	if (beneath_any(path, always_visible, SBX_ARRAY_SIZE(always_visible)) ||
		sbx_path_is_beneath(path, h->workdir.real))
		return true;
	for (size_t i = 0; i < h->n_binds; i++)
		if (sbx_path_is_beneath(path, h->binds[i].real))
			return true;
	for (size_t i = 0; i < h->n_needs; i++)
		if (h->needs[i].link ? strcmp(path, h->needs[i].path) == 0
				     : sbx_path_is_beneath(path, h->needs[i].path))
			return true;
	return false;
}

/* Could an agent have written what stands there, in this session or in one before? */
static bool is_projects(const struct sbx_host *h, const char *path)
{
	if (sbx_path_is_beneath(path, h->workdir.real))
		return true;
	for (size_t i = 0; i < h->n_binds; i++)
		if (h->binds[i].rw && sbx_path_is_beneath(path, h->binds[i].real))
			return true;
	return false;
}

/* ---- looking for it ---- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

/* The first program of that name in search (as PATH), owned, or NULL. *ret_almost: something of
 * the name that is none; owned. */
static char *search(const char *path, const char *name, char **ret_almost)
{
	while (path && *path) {
		size_t len = strcspn(path, ":");
		SBX_CLEANUP_FREE char *raw =
			sbx_xasprintf("%.*s/%s", (int)len, path, name);
		SBX_CLEANUP_FREE char *found = len ? sbx_path_normalise(raw) : NULL;
		struct stat st;

		if (found && is_program(found))
			return SBX_TAKE_PTR(found);
		if (found && ret_almost && *ret_almost == NULL && lstat(found, &st) == 0)
			*ret_almost = SBX_TAKE_PTR(found);
		path += len + (path[len] == ':');
	}
	return NULL;
}

static int not_found(const char *name, const char *almost, struct sbx_error *e)
{
	int r;

	if (almost) {
		r = sbx_error_set(e, SBX_E_PROGRAM_MISSING, EACCES,
			"%s: %s is no program that this user may execute, or a link that leads "
			"nowhere",
			name, almost);
		sbx_error_remedy(e, "look at it: ls -lL %s", almost);
	} else {
		r = sbx_error_set(e, SBX_E_PROGRAM_MISSING, ENOENT,
			"%s was not found in PATH", name);
		sbx_error_remedy(e,
			"install %s, or add the directory in which it is to PATH", name);
	}
	return r;
}

/* The highest version that a pattern matches, owned, or NULL. */
static char *highest(const char *pattern)
{
	char *best = NULL;
	glob_t g;

	if (glob(pattern, GLOB_NOSORT, NULL, &g) != 0)
		return NULL;
	for (size_t i = 0; i < g.gl_pathc; i++)
		if (is_program(g.gl_pathv[i]) &&
			(best == NULL || strverscmp(g.gl_pathv[i], best) > 0))
			best = g.gl_pathv[i];
	best = best ? sbx_path_normalise(best) : NULL;
	globfree(&g);
	return best;
}

/* Replaces a stand-in by what it stands for. */
static int see_through(char **path, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *dir = sbx_path_parent(*path);
	const char *name = strrchr(*path, '/') + 1;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(shims); i++) {
		int r;

		if (sbx_path_is_beneath(*path, "/usr") ||
			fnmatch(shims[i].dir, dir, 0) != 0)
			continue;
		for (size_t k = 0; k < 3 && shims[i].places[k]; k++) {
			SBX_CLEANUP_FREE char *pattern =
				sbx_xasprintf("%s/%s/%s", dir, shims[i].places[k], name);
			char *real = highest(pattern);

			if (real) {
				free(*path);
				*path = real;
				return 0;
			}
		}
		r = sbx_error_set(e, SBX_E_PROGRAM_MISSING, ENOENT,
			"%s is the stand-in of a version manager, and what it stands for was not "
			"found beside it",
			*path);
		sbx_error_remedy(
			e, "put the real program's directory into PATH before %s", dir);
		return r;
	}
	return 0;
}

/* ---- showing it ---- */

static int hidden(const char *path, const char *real, struct sbx_error *e)
{
	int r = sbx_error_set(e, SBX_E_PROGRAM_HIDDEN, EPERM,
		"%s%s%s%s cannot be shown inside: it lies with credentials, an agent's state or the "
		"system's own files",
		path, strcmp(path, real) ? ", which leads to " : "",
		strcmp(path, real) ? real : "", strcmp(path, real) ? "," : "");

	sbx_error_remedy(e,
		"install it elsewhere, for example in ~/.local/share, in /opt or with 'npm "
		"install -g'");
	return r;
}

/* Replaces *cur (owned) by where its link leads. False when it is none. */
static bool follow(char **cur)
{
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(*cur);
	char dir[PATH_MAX], text[PATH_MAX];
	SBX_CLEANUP_FREE char *node = NULL;
	ssize_t n;

	if (realpath(parent, dir) == NULL)
		return false;
	node = sbx_path_join(dir, strrchr(*cur, '/') + 1);
	n = readlink(node, text, sizeof(text) - 1);
	if (n < 0)
		return false;
	text[n] = '\0';
	free(*cur);
	*cur = sbx_path_join(text[0] == '/' ? "/" : dir, text);
	return true;
}

/* Every link between path and the file is made inside as well: a shown one may lead over it. */
static void show_links(struct sbx_host *h, const char *path, const char *real)
{
	char *cur = sbx_xstrdup(path);

	for (int hops = 0; hops < HOPS_MAX && strcmp(cur, real) != 0; hops++) {
		if (!is_visible(h, cur) &&
			!beneath_any(cur, no_links_in, SBX_ARRAY_SIZE(no_links_in)))
			sbx_host_add_need(h, cur, real, "the name it is called by");
		if (!follow(&cur))
			break;
	}
	free(cur);
}

/* Does the way from path to the file lead through a link of the project's? */
static bool led_by_project(const struct sbx_host *h, const char *path, const char *real)
{
	char *cur = sbx_xstrdup(path);
	bool led = false;

	for (int hops = 0; !led && hops < HOPS_MAX && strcmp(cur, real) != 0; hops++) {
		led = is_projects(h, cur);
		if (!follow(&cur))
			break;
	}
	free(cur);
	return led;
}

/* Does the user's own PATH lead to this file by its name? */
static bool is_in_path(const struct sbx_host *h, const char *real)
{
	const char *path = sbx_env_get(h->environ.v, "PATH");
	SBX_CLEANUP_FREE char *found =
		search(path ? path : baseline_path, strrchr(real, '/') + 1, NULL);
	char same[PATH_MAX];

	return found && !is_projects(h, found) && realpath(found, same) &&
	       strcmp(same, real) == 0;
}

/* What an agent can write must not choose what of the host's is shown. */
static int chosen_by_project(const char *path, const char *real, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *dir = sbx_path_parent(real);
	int r = sbx_error_set(e, SBX_E_PROGRAM_HIDDEN, EPERM,
		"%s%s%s is not shown inside: only a file in the project names it, which an "
		"agent may have changed",
		path, strcmp(path, real) ? ", that is " : "",
		strcmp(path, real) ? real : "");

	sbx_error_remedy(e,
		"if that is what you want, --ro-bind %s, or add its directory to PATH",
		dir);
	return r;
}

/* Makes path visible; *ret_exec (owned) is the path by which it can be executed inside.
 * by_project: it was named by something that an agent may have written. */
static int show(struct sbx_host *h, const char *path, bool by_project, char **ret_exec,
	struct sbx_error *e)
{
	char real[PATH_MAX];

	if (realpath(path, real) == NULL)
		return not_found(path, path, e);
	if (!is_visible(h, real)) {
		const char *why = NULL;
		SBX_CLEANUP_FREE char *tree = sbx_program_tree(h, real, &why);

		if (tree == NULL)
			return hidden(path, real, e);
		if ((by_project || led_by_project(h, path, real)) &&
			!sbx_program_is_tool(tree) && !is_in_path(h, real))
			return chosen_by_project(path, real, e);
		sbx_host_add_need(h, tree, NULL, why);
	}
	show_links(h, path, real);
	*ret_exec = sbx_xstrdup(is_visible(h, path) ? path : real);
	return 0;
}

/* ---- what it needs ---- */

static int find(struct sbx_host *h, const char *word, int nesting, bool by_project,
	char **ret_exec, struct sbx_error *e);

static ssize_t read_head(const char *path, char *head, size_t max)
{
	SBX_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, max - 1, 0);

	/* One that may be executed, but not read, is a program without an interpreter of its
	 * own: the kernel could not read its first line for this user either. */
	if (n >= 0)
		head[n] = '\0';
	return n;
}

static bool is_in_list(const char *list, const char *dir)
{
	SBX_CLEANUP_FREE char *in_list = sbx_xasprintf(":%s:", dir);
	SBX_CLEANUP_FREE char *all = sbx_xasprintf(":%s:", list);

	return strstr(all, in_list) != NULL;
}

/* Does dir come after one of the system's directories in the user's PATH? */
static bool is_late(const char *path, const char *dir)
{
	for (const char *p = path; p && *p;) {
		size_t len = strcspn(p, ":");
		SBX_CLEANUP_FREE char *raw = sbx_xasprintf("%.*s", (int)len, p);
		SBX_CLEANUP_FREE char *entry = sbx_path_normalise(raw);

		if (entry && strcmp(entry, dir) == 0)
			return false;
		if (entry && is_in_list(baseline_path, entry))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

/* found: where PATH led; exec: where it is inside. */
static void add_path_dir(struct sbx_host *h, const char *found, const char *exec)
{
	SBX_CLEANUP_FREE char *outside = sbx_path_parent(found);
	SBX_CLEANUP_FREE char *dir = sbx_path_parent(exec);
	bool late = is_late(sbx_env_get(h->environ.v, "PATH"), outside);

	if (!is_in_list(baseline_path, dir) && !sbx_strv_contains(&h->path_dirs, dir) &&
		!sbx_strv_contains(&h->path_dirs_after, dir))
		sbx_strv_add(late ? &h->path_dirs_after : &h->path_dirs, dir);
}

/* The program that "env ARGUMENTS" executes: options and assignments are passed over. */
static char *env_program(char *arguments)
{
	char *save = NULL;

	for (char *w = strtok_r(arguments, " \t", &save); w;
		w = strtok_r(NULL, " \t", &save)) {
		if (strncmp(w, "-S", 2) == 0 && w[2])
			return w + 2;
		if (*w != '-' && strchr(w, '=') == NULL)
			return w;
	}
	return NULL;
}

static bool is_shell(const char *interpreter)
{
	static const char *const shells[] = { "sh", "bash", "dash", "ash", "zsh", "ksh" };
	const char *base = strrchr(interpreter, '/');

	for (size_t i = 0; i < SBX_ARRAY_SIZE(shells); i++)
		if (strcmp(base ? base + 1 : interpreter, shells[i]) == 0)
			return true;
	return false;
}

/* by: the program that names it. */
static int need_program(struct sbx_host *h, const char *word, const char *by, int nesting,
	struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *exec = NULL;
	char real[PATH_MAX];
	bool by_project = realpath(by, real) == NULL || is_projects(h, real);

	return find(h, word, nesting + 1, by_project, &exec, e);
}

/* A shell script of an installer's that starts node, as pnpm's do, does not say so in its first
 * line. It may do without, so node need not be there. */
static void need_node(
	struct sbx_host *h, const char *script, const char *text, int nesting)
{
	const char *path = sbx_env_get(h->environ.v, "PATH");
	SBX_CLEANUP_FREE char *node = search(path, "node", NULL);
	struct sbx_error e = { 0 };

	if (node && strstr(text, "node") &&
		need_program(h, "node", script, nesting, &e) < 0)
		sbx_error_done(&e);
}

static int need_interpreter(struct sbx_host *h, const char *script, char *head,
	int nesting, struct sbx_error *e)
{
	char *line = head + 2, *rest, *name;
	size_t len = strcspn(line, "\n");
	const char *text = line[len] ? line + len + 1 : "";
	int r;

	line[len] = '\0';
	line += strspn(line, " \t");
	rest = line + strcspn(line, " \t\r");
	if (*rest)
		*rest++ = '\0';
	if (*line != '/')
		return 0; /* the kernel takes it from the work dir, which is there */
	name = strcmp(strrchr(line, '/'), "/env") == 0 ? env_program(rest) : NULL;
	r = need_program(h, line, script, nesting, e);
	if (r == 0 && name)
		r = need_program(h, name, script, nesting, e);
	if (r < 0) {
		SBX_CLEANUP_FREE char *why = sbx_xstrdup(e->message);
		SBX_CLEANUP_FREE char *remedy = sbx_xstrdup(e->remedy ? e->remedy : "");

		r = sbx_error_set(
			e, e->code, e->err, "interpreter of %s: %s", script, why);
		sbx_error_remedy(e, "%s", remedy);
		return r;
	}
	if (is_shell(name ? name : line))
		need_node(h, script, text, nesting);
	return 0;
}

/* The loader of a dynamic program; where it is not the system's, as in nix, it is shown. */
static int need_loader(struct sbx_host *h, const char *program, const char *head,
	size_t n, int nesting, struct sbx_error *e)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)(const void *)head;

	if (n < sizeof(*eh) || head[EI_CLASS] != ELFCLASS64)
		return 0;
	for (size_t i = 0; i < eh->e_phnum; i++) {
		size_t at = eh->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (at > n || n - at < sizeof(ph))
			break;
		memcpy(&ph, head + at, sizeof(ph));
		if (ph.p_type != PT_INTERP || ph.p_offset >= n ||
			ph.p_filesz > n - ph.p_offset || ph.p_filesz == 0 ||
			head[ph.p_offset] != '/' ||
			head[ph.p_offset + ph.p_filesz - 1] != '\0')
			continue;
		return need_program(h, head + ph.p_offset, program, nesting, e);
	}
	return 0;
}

static int need_more(
	struct sbx_host *h, const char *path, int nesting, struct sbx_error *e)
{
	_Alignas(Elf64_Ehdr) char head[HEAD_MAX];
	ssize_t n = read_head(path, head, sizeof(head));

	if (n > 2 && head[0] == '#' && head[1] == '!')
		return need_interpreter(h, path, head, nesting, e);
	if (n > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return need_loader(h, path, head, (size_t)n, nesting, e);
	return 0;
}

static int find(struct sbx_host *h, const char *word, int nesting, bool by_project,
	char **ret_exec, struct sbx_error *e)
{
	const char *path = sbx_env_get(h->environ.v, "PATH");
	SBX_CLEANUP_FREE char *found = NULL, *almost = NULL, *exec = NULL, *real = NULL;
	int r;

	if (nesting > NESTING_MAX)
		return sbx_error_set(e, SBX_E_PROGRAM_MISSING, ELOOP,
			"%s: too many interpreters of interpreters", word);
	if (strchr(word, '/'))
		found = sbx_path_join(word[0] == '/' ? "/" : h->workdir.real, word);
	else
		found = search(path ? path : baseline_path, word, &almost);
	if (found == NULL || !is_program(found))
		return not_found(word, found ? found : almost, e);
	real = sbx_xstrdup(found);
	r = see_through(&real, e);
	if (r == 0)
		r = show(h, real, by_project, &exec, e);
	if (r == 0)
		r = need_more(h, real, nesting, e);
	if (r == 0 && strchr(word, '/') == NULL)
		add_path_dir(h, found, exec);
	if (r == 0)
		*ret_exec = SBX_TAKE_PTR(exec);
	return r;
}

/* Does a look-up by name inside lead to the same file? */
static bool same_inside(const char *name, const char *exec)
{
	SBX_CLEANUP_FREE char *inside = search(baseline_path, name, NULL);
	struct stat a, b;

	return inside && stat(inside, &a) == 0 && stat(exec, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int sbx_program_find(struct sbx_host *h, char **word, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *exec = NULL;
	bool by_name = strchr(*word, '/') == NULL;
	int r = find(h, *word, 0, false, &exec, e);

	if (r < 0 || exec == NULL)
		return r;
	if (by_name && same_inside(*word, exec))
		return 0;
	if (by_name || (*word)[0] == '/') {
		free(*word);
		*word = SBX_TAKE_PTR(exec);
	}
	return 0;
}
