#include "agents_user.h"

#include "json_where.h"
#include "path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX 65536
#define STEPS_MAX 4

/* One file while it is read. What the rows point to stays for as long as the process. */
struct source {
	const char *path;
	char *text;
	json_t *root;
	struct sbx_error *e;
};

/* All rows: those that are built in, and the user's. */
static struct sbx_agent *rows;
static size_t n_rows;

static const char *const modes[_SBX_PATH_MODE_MAX] = {
	[SBX_PATH_CONFIG] = "config",
	[SBX_PATH_EXEC] = "exec",
	[SBX_PATH_CREDENTIAL] = "credential",
	[SBX_PATH_STATE] = "state",
	[SBX_PATH_COPY] = "copy",
};

/* ---- errors ---- */

static int wrong(const struct source *s, const struct json_step *steps, size_t n,
	const char *fmt, ...) SBX_PRINTF(4, 5);

static int wrong(const struct source *s, const struct json_step *steps, size_t n,
	const char *fmt, ...)
{
	SBX_CLEANUP_FREE char *what = NULL;
	int line, column;
	va_list ap;

	va_start(ap, fmt);
	what = sbx_xvasprintf(fmt, ap);
	va_end(ap);
	json_where(s->text, steps, n, &line, &column);
	sbx_error_set(
		s->e, SBX_E_USAGE, EINVAL, "%s:%d:%d: %s", s->path, line, column, what);
	sbx_error_remedy(s->e, "sbx-agents(5) has the form; or move the file away");
	return -EINVAL;
}

#define AT(...) ((const struct json_step[]){ __VA_ARGS__ })
#define KEY(k)             \
	{                  \
		.key = (k) \
	}
#define ELEMENT(i)           \
	{                    \
		.index = (i) \
	}

/* ---- values ---- */

static int take_string(const struct source *s, const char *key, const char **ret)
{
	const json_t *j = json_object_get(s->root, key);

	if (j == NULL)
		return 0;
	if (!json_is_string(j) || *json_string_value(j) == '\0' ||
		strpbrk(json_string_value(j), "\n\r\t"))
		return wrong(s, AT(KEY(key)), 1, "\"%s\" is one line of text", key);
	*ret = json_string_value(j);
	return 0;
}

static int take_words(const struct source *s, const char *key, const char *const **ret)
{
	const json_t *j = json_object_get(s->root, key), *one;
	const char **words;
	size_t i;

	if (j == NULL)
		return 0;
	if (!json_is_array(j))
		return wrong(s, AT(KEY(key)), 1, "\"%s\" is a list of texts", key);
	words = sbx_xcalloc(json_array_size(j) + 1, sizeof(*words));
	*ret = words;
	json_array_foreach (j, i, one) {
		if (!json_is_string(one) || *json_string_value(one) == '\0')
			return wrong(s, AT(KEY(key), ELEMENT(i)), 2,
				"\"%s\" is a list of texts, and this is none", key);
		words[i] = json_string_value(one);
	}
	return 0;
}

static int check_names(const struct source *s, const char *key, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		if (!sbx_env_name_valid(names[i]))
			return wrong(s, AT(KEY(key), ELEMENT(i)), 2,
				"'%s' is no name of a variable", names[i]);
	return 0;
}

/* ---- paths ---- */

static bool touches(const char *a, const char *b)
{
	return sbx_path_is_beneath(a, b) || sbx_path_is_beneath(b, a);
}

/* Whose the place is, when it is somebody else's: a row must not be a way to a key of the user's,
 * nor to another agent's. NULL: it may be named. */
static const char *taken_by(const char *name, const char *path)
{
	const char *const *creds = sbx_credential_dirs();
	SBX_CLEANUP_FREE char *full = sbx_path_join("/", path);

	for (size_t i = 0; creds[i]; i++) {
		SBX_CLEANUP_FREE char *cred = sbx_path_join("/", creds[i]);

		if (touches(full, cred))
			return creds[i];
	}
	for (size_t i = 0; i < n_rows; i++)
		for (size_t k = 0; strcmp(rows[i].name, name) != 0 && rows[i].roots[k];
			k++) {
			SBX_CLEANUP_FREE char *root =
				sbx_path_join("/", rows[i].roots[k]);

			if (touches(full, root))
				return rows[i].roots[k];
		}
	return NULL;
}

/* Below HOME, or of the administrator's below /etc, where in_etc allows that. */
static int check_path(const struct source *s, const char *name, const char *path,
	bool in_etc, const struct json_step *at, size_t n)
{
	SBX_CLEANUP_FREE char *full = sbx_path_join("/", path);
	SBX_CLEANUP_FREE char *same =
		path[0] == '/' ? sbx_xstrdup(path) : sbx_xasprintf("/%s", path);
	const char *owner;

	if (strcmp(full, same) != 0 || strcmp(full, "/") == 0)
		return wrong(s, at, n,
			"'%s' is not plainly a path below HOME: no '~', '.', '..' or "
			"doubled slashes",
			path);
	if (path[0] == '~')
		return wrong(s, at, n, "'%s': leave out '~/'", path);
	if (path[0] == '/' && (!in_etc || strncmp(path, "/etc/", 5) != 0))
		return wrong(s, at, n,
			"'%s': paths are below HOME; those of mode config may be below /etc",
			path);
	owner = path[0] == '/' ? NULL : taken_by(name, path);
	if (owner)
		return wrong(s, at, n,
			"'%s' lies in, is, or holds '%s', which is not %s's", path, owner,
			name);
	return 0;
}

static int check_roots(const struct source *s, const char *name, const char *const *roots)
{
	int r = 0;

	for (size_t i = 0; r == 0 && roots[i]; i++)
		r = check_path(s, name, roots[i], false, AT(KEY("roots"), ELEMENT(i)), 2);
	return r;
}

static int mode_of(const char *text)
{
	for (int i = 0; text && i < _SBX_PATH_MODE_MAX; i++)
		if (strcmp(modes[i], text) == 0)
			return i;
	return -1;
}

static int take_path(const struct source *s, const char *name, const json_t *j, size_t i,
	struct sbx_agent_path *ret)
{
	const char *path = json_string_value(json_object_get(j, "path"));
	const char *why = json_string_value(json_object_get(j, "why"));
	int mode = mode_of(json_string_value(json_object_get(j, "mode")));

	if (!json_is_object(j))
		return wrong(s, AT(KEY("paths"), ELEMENT(i)), 2,
			"a path is {\"path\": ..., \"mode\": ...}");
	for (void *it = json_object_iter((json_t *)j); it;
		it = json_object_iter_next((json_t *)j, it)) {
		const char *member = json_object_iter_key(it);

		if (strcmp(member, "path") != 0 && strcmp(member, "mode") != 0 &&
			strcmp(member, "why") != 0)
			return wrong(s, AT(KEY("paths"), ELEMENT(i), KEY(member)), 3,
				"a path has no \"%s\"", member);
	}
	if (path == NULL)
		return wrong(s, AT(KEY("paths"), ELEMENT(i), KEY("path")), 3,
			"\"path\" is missing, or no text");
	if (mode < 0)
		return wrong(s, AT(KEY("paths"), ELEMENT(i), KEY("mode")), 3,
			"\"mode\" is one of config, exec, credential, state, copy");
	*ret = (struct sbx_agent_path){ .path = path,
		.mode = (enum sbx_path_mode)mode,
		.why = why ? why : "the user's own row" };
	return check_path(s, name, path, mode == SBX_PATH_CONFIG,
		AT(KEY("paths"), ELEMENT(i), KEY("path")), 3);
}

static int take_paths(
	const struct source *s, const char *name, const struct sbx_agent_path **ret)
{
	const json_t *j = json_object_get(s->root, "paths"), *one;
	struct sbx_agent_path *paths;
	size_t i;
	int r = 0;

	if (j == NULL)
		return 0;
	if (!json_is_array(j))
		return wrong(s, AT(KEY("paths")), 1, "\"paths\" is a list");
	paths = sbx_xcalloc(json_array_size(j) + 1, sizeof(*paths));
	*ret = paths;
	json_array_foreach (j, i, one) {
		r = take_path(s, name, one, i, &paths[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- variables ---- */

static int take_set_env(const struct source *s, const struct sbx_agent_env **ret)
{
	json_t *j = json_object_get(s->root, "set_env");
	struct sbx_agent_env *set;
	size_t n = 0;

	if (j == NULL)
		return 0;
	if (!json_is_object(j))
		return wrong(
			s, AT(KEY("set_env")), 1, "\"set_env\" is {\"NAME\": \"VALUE\"}");
	set = sbx_xcalloc(json_object_size(j) + 1, sizeof(*set));
	*ret = set;
	for (void *it = json_object_iter(j); it; it = json_object_iter_next(j, it)) {
		const char *member = json_object_iter_key(it);
		const json_t *value = json_object_iter_value(it);

		if (!sbx_env_name_valid(member) || !json_is_string(value))
			return wrong(s, AT(KEY("set_env"), KEY(member)), 2,
				"\"%s\": a name of a variable has a text", member);
		set[n++] = (struct sbx_agent_env){ .name = member,
			.value = json_string_value(value),
			.why = "the user's own row" };
	}
	return 0;
}

/* ---- a row ---- */

static int check_keys(const struct source *s)
{
	static const char *const keys[] = { "name", "command", "why", "skip_flags",
		"key_flags", "skip_behind", "roots", "paths", "env", "set_env" };

	for (void *it = json_object_iter(s->root); it;
		it = json_object_iter_next(s->root, it)) {
		const char *key = json_object_iter_key(it);
		size_t i = 0;

		while (i < SBX_ARRAY_SIZE(keys) && strcmp(keys[i], key) != 0)
			i++;
		if (i == SBX_ARRAY_SIZE(keys))
			return wrong(s, AT(KEY(key)), 1, "an agent has no \"%s\"", key);
	}
	return 0;
}

static int take_name(const struct source *s, const char **ret)
{
	const char *name = NULL;
	int r = take_string(s, "name", &name);

	if (r < 0)
		return r;
	if (name == NULL)
		return wrong(s, NULL, 0, "\"name\" is missing");
	if (strlen(name) > 32 || name[0] == '-' ||
		name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return wrong(s, AT(KEY("name")), 1,
			"a name is of small letters, digits and '-', 32 at most");
	if (strcmp(name, "generic") == 0)
		return wrong(s, AT(KEY("name")), 1, "generic stands for any command");
	*ret = name;
	return 0;
}

static struct sbx_agent *row_named(const char *name)
{
	for (size_t i = 0; i < n_rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static int fill_row(const struct source *s, struct sbx_agent *a)
{
	int r = take_string(s, "command", &a->command);

	if (r == 0)
		r = take_string(s, "why", &a->why);
	if (r == 0)
		r = take_words(s, "skip_flags", &a->skip_flags);
	if (r == 0)
		r = take_words(s, "key_flags", &a->key_flags);
	if (r == 0)
		r = take_words(s, "skip_behind", &a->skip_behind);
	if (r == 0)
		r = take_words(s, "roots", &a->roots);
	if (r == 0)
		r = take_words(s, "env", &a->env);
	if (r == 0)
		r = check_names(s, "env", a->env);
	if (r == 0)
		r = take_set_env(s, &a->set_env);
	if (r == 0 && json_object_get(s->root, "roots"))
		r = check_roots(s, a->name, a->roots);
	if (r == 0)
		r = take_paths(s, a->name, &a->paths);
	if (r == 0 && a->command == NULL)
		r = wrong(s, NULL, 0, "\"command\" is missing");
	return r;
}

static int add_row(const struct source *s)
{
	static const char *const none[] = { NULL };
	static const struct sbx_agent_path no_paths[] = { { 0 } };
	static const struct sbx_agent_env no_sets[] = { { 0 } };
	struct sbx_agent a = { .skip_flags = none,
		.roots = none,
		.paths = no_paths,
		.env = none,
		.set_env = no_sets,
		.why = "the user's own row" };
	const char *name = NULL;
	struct sbx_agent *there;
	int r = check_keys(s);

	if (r == 0)
		r = take_name(s, &name);
	if (r < 0 || name == NULL)
		return r;
	there = row_named(name);
	if (there && there->source)
		return wrong(
			s, AT(KEY("name")), 1, "'%s' is in %s, too", name, there->source);
	if (there)
		a = *there;
	a.name = name;
	a.verified = false;
	a.source = sbx_xstrdup(s->path);
	r = fill_row(s, &a);
	if (r < 0)
		return r;
	if (there) {
		*there = a;
	} else {
		/* generic stays the last */
		rows = sbx_xrealloc(rows, n_rows + 1, sizeof(*rows));
		rows[n_rows] = rows[n_rows - 1];
		rows[n_rows - 1] = a;
		n_rows++;
	}
	return 0;
}

/* ---- files ---- */

/* Who could write the file, or put another in its place, would choose what is shown. */
static int read_source(struct source *s)
{
	SBX_CLEANUP_FD int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_error_set(s->e, SBX_E_USAGE, errno, "%s: %m", s->path);
	if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
		(st.st_mode & 022)) {
		sbx_error_set(s->e, SBX_E_USAGE, EPERM,
			"%s: it is no file of yours that nobody else can write", s->path);
		sbx_error_remedy(s->e, "chmod go-w %s, or move it away", s->path);
		return -EPERM;
	}
	s->text = sbx_xcalloc(1, FILE_MAX + 1);
	n = read(fd, s->text, FILE_MAX + 1);
	if (n < 0 || n > FILE_MAX)
		return sbx_error_set(s->e, SBX_E_USAGE, n < 0 ? errno : EFBIG,
			"%s: it cannot be read, or is larger than %d bytes", s->path,
			FILE_MAX);
	s->text[n] = '\0';
	return 0;
}

static int load_file(const char *path, struct sbx_error *e)
{
	struct source s = { .path = path, .e = e };
	json_error_t bad;
	int r = read_source(&s);

	if (r == 0) {
		s.root = json_loads(s.text, JSON_REJECT_DUPLICATES, &bad);
		if (s.root == NULL || !json_is_object(s.root)) {
			sbx_error_set(e, SBX_E_USAGE, EINVAL, "%s:%d:%d: %s", path,
				s.root ? 1 : bad.line, s.root ? 1 : bad.column,
				s.root ? "an agent is an object: { \"name\": ... }"
				       : bad.text);
			sbx_error_remedy(
				e, "sbx-agents(5) has the form; or move the file away");
			r = -EINVAL;
		}
	}
	if (r == 0)
		r = add_row(&s); /* its strings are the document's, which stays */
	free(s.text);
	if (r < 0)
		json_decref(s.root);
	return r;
}

static int is_row_file(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".json") == 0;
}

static char *directory(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && config[0] == '/')
		return sbx_path_join(config, "sbx/agents.d");
	return home && home[0] == '/' ? sbx_path_join(home, ".config/sbx/agents.d")
				      : NULL;
}

static void copy_built_in(void)
{
	const struct sbx_agent *built_in = sbx_agents(&n_rows);

	rows = sbx_xcalloc(n_rows, sizeof(*rows));
	memcpy(rows, built_in, n_rows * sizeof(*rows));
}

int agents_user_load(struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *dir = geteuid() == 0 ? NULL : directory();
	struct dirent **found = NULL;
	int n = dir ? scandir(dir, &found, is_row_file, alphasort) : 0, r = 0;

	if (n < 0 && errno != ENOENT && errno != ENOTDIR)
		return sbx_error_set(e, SBX_E_USAGE, errno, "%s: %m", dir);
	if (n > 0)
		copy_built_in();
	for (int i = 0; i < n; i++) {
		SBX_CLEANUP_FREE char *path = sbx_path_join(dir, found[i]->d_name);

		if (r == 0)
			r = load_file(path, e);
		free(found[i]);
	}
	free(found);
	if (r == 0 && n > 0)
		sbx_agents_use(rows, n_rows);
	return r;
}
