#include "accounts.h"
#include "t.h"

static const struct row {
	const char *name;
	unsigned uid, gid;
	const char *user, *home;
	const char *passwd, *group;
} rows[] = {
	{ "ordinary", 1000, 1000, "u", "/home/u",
		"u:x:1000:1000::/home/u:/bin/sh\nroot:x:0:0:root:/root:/usr/sbin/nologin\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"u:x:1000:\nroot:x:0:\nnogroup:x:65534:\n" },
	{ "root", 0, 0, "root", "/root",
		"root:x:0:0::/root:/bin/sh\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"root:x:0:\nnogroup:x:65534:\n" },
	{ "nobody", 65534, 65534, "nobody", "/h",
		"nobody:x:65534:65534::/h:/bin/sh\nroot:x:0:0:root:/root:/usr/sbin/nologin\n",
		"nogroup:x:65534:\nroot:x:0:\n" },
	{ "fields that would be two", 7, 8, "a:b\nroot", "/h:x",
		"a_b_root:x:7:8::/h_x:/bin/sh\nroot:x:0:0:root:/root:/usr/sbin/nologin\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"a_b_root:x:8:\nroot:x:0:\nnogroup:x:65534:\n" },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct sbx_host h = { .uid = r->uid,
		.gid = r->gid,
		.user = (char *)(uintptr_t)r->user,
		.home = (char *)(uintptr_t)r->home };
	SBX_CLEANUP_FREE char *passwd = sbx_accounts_passwd(&h);
	SBX_CLEANUP_FREE char *group = sbx_accounts_group(&h);

	assert_string_equal(passwd, r->passwd);
	assert_string_equal(group, r->group);
}

T_ROWS(texts, rows, row)

int main(void)
{
	return texts();
}
