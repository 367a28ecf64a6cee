#include "facts.h"

#include "subprocess.h"

#include <openssl/evp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

static const char *const sysctls[] = {
	"sysctl.user.max_user_namespaces",
	"sysctl.kernel.unprivileged_userns_clone",
	"sysctl.kernel.apparmor_restrict_unprivileged_userns",
	"sysctl.kernel.unprivileged_bpf_disabled",
	"sysctl.kernel.io_uring_disabled",
	"sysctl.kernel.yama.ptrace_scope",
	"sysctl.kernel.core_pattern",
	"sysctl.dev.tty.legacy_tiocsti",
};

void facts_sha256(const void *data, size_t len, char *buf)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(data, len, md, &n, EVP_sha256(), NULL) != 1)
		n = 0;
	buf[0] = '\0';
	for (unsigned i = 0; i < n; i++)
		sprintf(buf + (size_t)2 * i, "%02x", md[i]);
}

static void add(struct facts *f, const char *key, char *value)
{
	if (f->n < FACTS_MAX) {
		value[strcspn(value, "\n")] = '\0';
		f->v[f->n++] = (struct fact){ key, value };
	} else {
		free(value);
	}
}

static void add_file(struct facts *f, const char *key, const char *path)
{
	SBX_CLEANUP_FREE char *text = NULL;

	add(f, key, sbx_xstrdup(sbx_read_file(path, 4096, &text, NULL) == 0 ? text : ""));
}

static void add_sysctl(struct facts *f, const char *key)
{
	SBX_CLEANUP_FREE char *path =
		sbx_xasprintf("/proc/sys/%s", key + strlen("sysctl."));

	for (char *p = path; *p; p++)
		if (*p == '.')
			*p = '/';
	add_file(f, key, path);
}

static void add_version(struct facts *f, const char *bwrap)
{
	SBX_CLEANUP_FREE char *out = NULL;

	if (sbx_subprocess_output(
		    (char *const[]){ (char *)bwrap, (char *)"--version", NULL }, 5000,
		    4096, &out) < 0)
		out = sbx_xstrdup("");
	add(f, "bwrap.version",
		sbx_xstrdup(strncmp(out, "bubblewrap ", 11) == 0 ? out + 11 : out));
}

static void add_bwrap(struct facts *f, const char *path)
{
	SBX_CLEANUP_FREE char *data = NULL;
	char sha[65] = "";
	struct stat st;
	size_t len;

	if (path == NULL || stat(path, &st) < 0)
		return;
	if (sbx_read_file(path, 64U << 20, &data, &len) == 0)
		facts_sha256(data, len, sha);
	add(f, "bwrap.path", sbx_xstrdup(path));
	add_version(f, path);
	add(f, "bwrap.sha256", sbx_xstrdup(sha));
	add(f, "bwrap.owner", sbx_xasprintf("%u", (unsigned)st.st_uid));
	add(f, "bwrap.mode", sbx_xasprintf("%04o", (unsigned)st.st_mode & 07777));
	add(f, "bwrap.setuid",
		sbx_xstrdup(st.st_mode & (S_ISUID | S_ISGID) ? "yes" : "no"));
}

static void add_distribution(struct facts *f)
{
	SBX_CLEANUP_FREE char *text = NULL;
	const char *name;
	char buf[128] = "";

	if (sbx_read_file("/etc/os-release", 8192, &text, NULL) == 0 &&
		(name = strstr(text, "PRETTY_NAME=\"")) != NULL)
		snprintf(buf, sizeof(buf), "%.*s", (int)strcspn(name + 13, "\""),
			name + 13);
	add(f, "distribution", sbx_xstrdup(buf));
}

int facts_landlock_abi(void)
{
	long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* version */);

	return abi < 0 ? 0 : (int)abi;
}

void facts_read(struct facts *ret, const char *bwrap, const void *probe, size_t probe_len)
{
	struct facts f = { 0 };
	struct passwd *pw = getpwuid(getuid());
	struct utsname u;
	char sha[65];

	if (uname(&u) == 0) {
		add(&f, "kernel", sbx_xasprintf("%s %s", u.sysname, u.release));
		add(&f, "machine", sbx_xstrdup(u.machine));
	}
	add_distribution(&f);
	add(&f, "uid", sbx_xasprintf("%u", (unsigned)getuid()));
	add(&f, "user", sbx_xstrdup(pw ? pw->pw_name : ""));
	add_bwrap(&f, bwrap);
	facts_sha256(probe, probe_len, sha);
	add(&f, "probe.sha256", sbx_xstrdup(sha));
	add(&f, "landlock", sbx_xasprintf("ABI %d", facts_landlock_abi()));
	add_file(&f, "lsm", "/sys/kernel/security/lsm");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(sysctls); i++)
		add_sysctl(&f, sysctls[i]);
	*ret = f;
}

const char *facts_get(const struct facts *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].key, key) == 0)
			return f->v[i].value;
	return "";
}

void facts_done(struct facts *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].value);
	*f = (struct facts){ 0 };
}
