#include "accounts.h"

#include <string.h>

#define NOBODY 65534

/* A field with a colon or a line break in it would be two. */
static char *field(const char *text)
{
	char *s = sbx_xstrdup(text);

	for (char *p = s; *p; p++)
		if (*p == ':' || *p == '\n')
			*p = '_';
	return s;
}

char *sbx_accounts_passwd(const struct sbx_host *h)
{
	SBX_CLEANUP_FREE char *name = field(h->user);
	SBX_CLEANUP_FREE char *home = field(h->home);
	SBX_CLEANUP_FREE char *me = sbx_xasprintf("%s:x:%u:%u::%s:/bin/sh\n", name,
		(unsigned)h->uid, (unsigned)h->gid, home);

	/* The first line with a number names it, so one's own comes first. */
	return sbx_xasprintf("%s%s%s", me,
		h->uid == 0 ? "" : "root:x:0:0:root:/root:/usr/sbin/nologin\n",
		h->uid == NOBODY ? ""
				 : "nobody:x:65534:65534:nobody:/nonexistent:"
				   "/usr/sbin/nologin\n");
}

char *sbx_accounts_group(const struct sbx_host *h)
{
	SBX_CLEANUP_FREE char *name = field(h->user);
	const char *mine = h->gid == 0 ? "root" : h->gid == NOBODY ? "nogroup" : name;

	return sbx_xasprintf("%s:x:%u:\n%s%s", mine, (unsigned)h->gid,
		h->gid == 0 ? "" : "root:x:0:\n",
		h->gid == NOBODY ? "" : "nogroup:x:65534:\n");
}
