#include "path.h"

#include <string.h>

char *sbx_path_normalise(const char *path)
{
	char *out, *w;

	if (path == NULL || path[0] != '/')
		return NULL;
	out = sbx_xcalloc(1, strlen(path) + 2);
	w = out;
	for (const char *p = path; *p != '\0';) {
		size_t len;

		p += strspn(p, "/");
		len = strcspn(p, "/");
		if (len == 2 && p[0] == '.' && p[1] == '.') {
			while (w > out && *--w != '/')
				;
		} else if (len > 0 && !(len == 1 && p[0] == '.')) {
			*w++ = '/';
			memcpy(w, p, len);
			w += len;
		}
		p += len;
	}
	if (w == out)
		*w++ = '/';
	*w = '\0';
	return out;
}

char *sbx_path_join(const char *dir, const char *rest)
{
	SBX_CLEANUP_FREE char *raw = sbx_xasprintf("%s/%s", dir, rest);

	return sbx_path_normalise(raw);
}

bool sbx_path_is_beneath(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1) /* "/" */
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

size_t sbx_path_depth(const char *path)
{
	size_t n = 0;

	if (path[0] == '/' && path[1] == '\0')
		return 0;
	for (; *path; path++)
		n += *path == '/';
	return n;
}

char *sbx_path_parent(const char *path)
{
	char *out = sbx_xstrdup(path);
	char *slash = strrchr(out, '/');

	if (slash == out || slash == NULL)
		strcpy(out, "/");
	else
		*slash = '\0';
	return out;
}
