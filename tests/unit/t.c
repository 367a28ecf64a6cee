#include "t.h"

#include <ftw.h>
#include <unistd.h>

static const char *const debian_files[] = { "/etc/bash.bashrc", "/etc/group",
	"/etc/hosts", "/etc/ld.so.cache", "/etc/passwd", "/etc/profile",
	"/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/services", "/etc/ssl/openssl.cnf",
	"/proc/keys", "/proc/key-users" };
static const char *const debian_dirs[] = { "/usr", "/etc/alternatives", "/etc/profile.d",
	"/etc/ssl/certs" };
static const char *const debian_links[] = { "/bin", "/sbin", "/lib", "/lib64" };

/* Every option of bubblewrap 0.8 as Debian 12 ships it that sbx may use. */
static const char *const debian_options[] = { "--args", "--bind", "--bind-fd",
	"--cap-drop", "--chdir", "--dev", "--die-with-parent", "--dir",
	"--disable-userns", "--file", "--hostname", "--json-status-fd", "--new-session",
	"--perms", "--proc", "--remount-ro", "--ro-bind", "--ro-bind-fd", "--seccomp",
	"--symlink", "--tmpfs", "--unshare-cgroup", "--unshare-ipc", "--unshare-net",
	"--unshare-pid", "--unshare-user", "--unshare-uts" };

void t_host_file(struct sbx_host *h, const char *path)
{
	sbx_host_add_fact(h, path, SBX_FT_FILE, SBX_FT_FILE, NULL, NULL);
}

void t_host_dir(struct sbx_host *h, const char *path)
{
	sbx_host_add_fact(h, path, SBX_FT_DIR, SBX_FT_DIR, NULL, NULL);
}

void t_host_debian(struct sbx_host *h, const char *workdir)
{
	*h = (struct sbx_host){
		.uid = 1000,
		.gid = 1000,
		.home = sbx_xstrdup("/home/u"),
		.home_real = sbx_xstrdup("/home/u"),
		.user = sbx_xstrdup("u"),
		.bwrap.path = sbx_xstrdup("/usr/bin/bwrap"),
		.workdir = { .real = sbx_xstrdup(workdir), .fd = -1, .is_dir = true },
	};
	memset(h->max, 0xff, sizeof(h->max));
	for (size_t i = 0; i < SBX_ARRAY_SIZE(debian_files); i++)
		t_host_file(h, debian_files[i]);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(debian_dirs); i++)
		t_host_dir(h, debian_dirs[i]);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(debian_links); i++) {
		SBX_CLEANUP_FREE char *target = sbx_xasprintf("usr%s", debian_links[i]);
		SBX_CLEANUP_FREE char *real = sbx_xasprintf("/usr%s", debian_links[i]);

		sbx_host_add_fact(
			h, debian_links[i], SBX_FT_LINK, SBX_FT_DIR, target, real);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(debian_options); i++)
		sbx_strv_add(&h->bwrap.options, debian_options[i]);
}

char *t_mkdir(void)
{
	char *path = sbx_xstrdup("/var/tmp/sbx-test-XXXXXX");

	assert_non_null(mkdtemp(path));
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void t_rmdir(char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

const struct sbx_op *t_find_op(const struct sbx_plan *plan, const char *dst)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->ops[i].dst, dst) == 0)
			return &plan->ops[i];
	return NULL;
}
