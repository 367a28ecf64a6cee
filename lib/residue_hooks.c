/* Where core.hooksPath says that hooks are: read at the mark, when the settings are still the
 * user's. Includes are not followed. */
#include "residue_parts.h"

#include "path.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_MAX (1 << 20)

/* The value at *p, as git reads one; *p is left at the end of its line. Owned. */
static char *read_value(const char **p)
{
	char *out = sbx_xcalloc(1, strlen(*p) + 1), *w = out, *solid = out;
	bool quoted = false;

	for (*p += strspn(*p, " \t"); **p && **p != '\n'; (*p)++) {
		char c = **p;

		if (c == '"') {
			quoted = !quoted;
			solid = w;
			continue;
		}
		if (!quoted && (c == '#' || c == ';'))
			break;
		if (c == '\\' && (*p)[1] != '\0') {
			c = *++(*p);
			if (c == '\n')
				continue;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
			*w++ = c;
			solid = w;
			continue;
		}
		*w++ = c;
		if (quoted || !isspace((unsigned char)c))
			solid = w;
	}
	*solid = '\0';
	return out;
}

/* Past a section's head; true when it is [core]. */
static bool read_section(const char **p)
{
	const char *start = *p + 1;
	size_t len = strcspn(start, "]\n");

	*p = start + len + (start[len] == ']');
	return len == 4 && strncasecmp(start, "core", 4) == 0;
}

/* The directory, as git would go there; husky's "_" only calls what lies beside it. Owned. */
static char *resolve(const char *value, const char *dir, const struct sbx_host *h)
{
	SBX_CLEANUP_FREE char *path = NULL;
	char real[PATH_MAX];
	size_t len;

	if (value[0] == '~' && value[1] == '/')
		path = sbx_path_join(h->home, value + 2);
	else
		path = sbx_path_join(value[0] == '/' ? "/" : dir, value);
	len = strlen(path);
	if (len > 2 && strcmp(path + len - 2, "/_") == 0)
		path[len - 2] = '\0';
	return sbx_xstrdup(realpath(path, real) ? real : path);
}

static void read_config(
	struct sbx_strv *ret, const char *file, const char *dir, const struct sbx_host *h)
{
	SBX_CLEANUP_FREE char *text = NULL;
	bool core = false;
	const char *p;

	if (sbx_read_file(file, CONFIG_MAX, &text, NULL) < 0)
		return;
	for (p = text; *(p += strspn(p, " \t\r\n"));) {
		size_t len = strcspn(p, " \t=#;\n");
		bool it = core && len == 9 && strncasecmp(p, "hooksPath", 9) == 0;
		SBX_CLEANUP_FREE char *value = NULL;

		if (*p == '[') {
			core = read_section(&p);
			continue;
		}
		p += len;
		p += strspn(p, " \t");
		p += *p == '=';
		value = read_value(&p);
		p += strcspn(p, "\n");
		if (it && *value)
			sbx_strv_take(ret, resolve(value, dir, h));
	}
}

void residue_hooks_read(struct sbx_strv *ret, const char *dir, const struct sbx_host *h)
{
	static const char *const own[] = { ".git/config", ".git/config.worktree" };
	static const char *const users[] = { ".gitconfig", ".config/git/config" };

	read_config(ret, "/etc/gitconfig", dir, h);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(users); i++) {
		SBX_CLEANUP_FREE char *file = sbx_path_join(h->home, users[i]);

		read_config(ret, file, dir, h);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(own); i++) {
		SBX_CLEANUP_FREE char *file = sbx_path_join(dir, own[i]);

		read_config(ret, file, dir, h);
	}
	if (h->git.real && strcmp(dir, h->workdir.real) == 0) {
		SBX_CLEANUP_FREE char *file = sbx_path_join(h->git.real, "config");

		read_config(ret, file, dir, h);
	}
}
