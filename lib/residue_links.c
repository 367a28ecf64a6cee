/* Names of changed files, counted. A link that the command makes stays within the places that it
 * may write to, and so do those of package stores and build trees. A file that has a name
 * elsewhere had it before: what was written to it arrived there too. */
#include "residue_parts.h"

#include <string.h>

#define BUCKETS 4096

struct link {
	struct link *next;
	uint64_t ino;
	uint32_t major, minor;
	uint32_t names; /* seen */
	uint32_t nlink;
	char *path; /* of the first */
};

struct residue_links {
	struct link *buckets[BUCKETS];
	size_t n;
	char *beyond; /* the first file that found no room, or NULL */
};

struct residue_links *residue_links_new(void)
{
	return sbx_xcalloc(1, sizeof(struct residue_links));
}

static struct link **find(struct residue_links *l, const struct statx *st)
{
	struct link **p = &l->buckets[(st->stx_ino ^ st->stx_dev_minor) % BUCKETS];

	while (*p && ((*p)->ino != st->stx_ino || (*p)->major != st->stx_dev_major ||
			     (*p)->minor != st->stx_dev_minor))
		p = &(*p)->next;
	return p;
}

static void drop(struct residue_links *l, struct link **at)
{
	struct link *gone = *at;

	*at = gone->next;
	free(gone->path);
	free(gone);
	l->n--;
}

void residue_links_see(struct residue_links *l, const struct statx *st, const char *path)
{
	struct link **at = find(l, st);

	if (*at == NULL && l->n >= RESIDUE_LINKS_MAX) {
		if (l->beyond == NULL)
			l->beyond = sbx_xstrdup(path);
		return;
	}
	if (*at == NULL) {
		*at = sbx_xcalloc(1, sizeof(**at));
		**at = (struct link){ .ino = st->stx_ino,
			.major = st->stx_dev_major,
			.minor = st->stx_dev_minor,
			.nlink = st->stx_nlink,
			.path = sbx_xstrdup(path) };
		l->n++;
	}
	if (++(*at)->names >= (*at)->nlink)
		drop(l, at);
}

void residue_links_end(struct residue_links *l, struct sbx_residue *out)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (l->buckets[i]) {
			const struct link *k = l->buckets[i];
			SBX_CLEANUP_FREE char *detail = sbx_xasprintf(
				"%u of its %u names are here", k->names, k->nlink);

			residue_add(out, SBX_RESIDUE_HARDLINK, k->path, detail);
			drop(l, &l->buckets[i]);
		}
	if (l->beyond)
		residue_add(out, SBX_RESIDUE_UNREADABLE, l->beyond,
			"too many changed files with several names: from here on they were not "
			"counted");
	free(l->beyond);
	free(l);
}
