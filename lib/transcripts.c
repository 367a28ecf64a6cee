#include "transcripts.h"

#include "look.h"
#include "path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define UNITS_MAX 200
#define MARKER ".project_root"
#define MARKER_MAX 8192
#define HASH_DIGITS 16

/* Bytes of the UTF-8 sequence at p; 0: it is none. */
static size_t sequence(const unsigned char *p)
{
	size_t n = p[0] < 0x80                   ? 1
		   : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		   : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
		   : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						 : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static char *by_path(const char *workdir)
{
	SBX_CLEANUP_FREE char *name = sbx_xcalloc(1, UNITS_MAX + 3);
	const unsigned char *p = (const unsigned char *)workdir;
	size_t len = 0;

	while (*p) {
		size_t n = sequence(p), units = n == 4 ? 2 : 1;

		if (n == 0 || len + units > UNITS_MAX)
			return NULL;
		for (; units > 0; units--)
			name[len++] = (char)(n == 1 && isalnum(*p) ? *p : '-');
		p += n;
	}
	return SBX_TAKE_PTR(name);
}

static bool is_marked(int dir, const char *name, const char *workdir)
{
	SBX_CLEANUP_FREE char *rel = sbx_xasprintf("%s/" MARKER, name);
	SBX_CLEANUP_FD int fd =
		openat(dir, rel, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[MARKER_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, workdir) == 0;
}

/* gemini: the last part of the path in small letters, each run of anything but ASCII letters and
 * digits as one '-', none at the ends. */
static char *slug_of(const char *workdir)
{
	const char *base = strrchr(workdir, '/');
	SBX_CLEANUP_FREE char *slug = sbx_xstrdup(base ? base + 1 : workdir);
	size_t len = 0;

	for (const char *p = slug; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x80 && isalnum(c))
			slug[len++] = (char)tolower(c);
		else if (len > 0 && slug[len - 1] != '-')
			slug[len++] = '-';
	}
	if (len > 0 && slug[len - 1] == '-')
		len--;
	slug[len] = '\0';
	return len > 0 ? SBX_TAKE_PTR(slug) : sbx_xstrdup("project");
}

char *sbx_transcripts_new_name(const char *workdir, char **ret_shown)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a; nobody has to trust it */
	char *slug = slug_of(workdir);

	for (const char *p = workdir; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
	*ret_shown = slug;
	return sbx_xasprintf("%s-%016" PRIx64, slug, hash);
}

/* "SLUG-" and sixteen hexadecimal digits: a name of ours. */
static bool is_new_name(const char *name)
{
	size_t n = strlen(name);

	return n > HASH_DIGITS && name[n - HASH_DIGITS - 1] == '-' &&
	       strspn(name + n - HASH_DIGITS, "0123456789abcdef") == HASH_DIGITS;
}

/* The marker in a directory of ours was written inside, by whom the transcripts belong to; which
 * project's it is, its name says. */
static char *by_marker(const char *dir, const char *workdir)
{
	SBX_CLEANUP_FREE char *shown = NULL;
	SBX_CLEANUP_FREE char *own = sbx_transcripts_new_name(workdir, &shown);
	DIR *d = opendir(dir);
	struct dirent *de;
	char *name = NULL;

	while (d && name == NULL && (de = readdir(d)))
		if (de->d_name[0] != '.' &&
			(!is_new_name(de->d_name) || strcmp(de->d_name, own) == 0) &&
			is_marked(dirfd(d), de->d_name, workdir))
			name = sbx_xstrdup(de->d_name);
	if (d)
		closedir(d);
	return name;
}

char *sbx_transcripts_name(enum sbx_by by, const char *dir, const char *workdir)
{
	switch (by) {
	case SBX_BY_PATH:
		return by_path(workdir);
	case SBX_BY_MARKER:
		return by_marker(dir, workdir);
	default:
		return NULL;
	}
}

void sbx_transcripts_read(struct sbx_host *h, const struct sbx_agent_path *p)
{
	SBX_CLEANUP_FREE char *path = sbx_path_join(h->home, p->path);
	char real[PATH_MAX];

	if (p->mode != SBX_PATH_STATE || p->by == SBX_BY_NOTHING ||
		realpath(path, real) == NULL || !sbx_look_open(&h->state, real))
		return;
	h->state_name = sbx_transcripts_name(p->by, real, h->workdir.real);
	if (h->state_name == NULL && p->by == SBX_BY_MARKER)
		h->state_name =
			sbx_transcripts_new_name(h->workdir.real, &h->state_shown);
	if (h->state_name == NULL)
		return;
	sbx_look_protected(h, real, h->state_name);
	if (p->by == SBX_BY_MARKER) {
		h->state_marker = sbx_xasprintf("%s/" MARKER, h->state_name);
		sbx_look_beneath(h, real, h->state_marker);
	}
}
