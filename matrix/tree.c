#include "tree.h"

#include "probe_hash.h"
#include "sbx.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WORK "projects/app"
#define SIBLING "projects/other"

/* Relative to home. Directories follow from the files. Most are plain, and one that begins with
 * WORK looks like two that lack a comma. */
/* NOLINTBEGIN(bugprone-suspicious-missing-comma) */
static const char *const files[] = {
	/* secrets and start files of the user */
	".ssh/id_ed25519",
	".ssh/authorized_keys",
	".ssh/known_hosts",
	".ssh/config",
	".aws/credentials",
	".gnupg/secring.gpg",
	".netrc",
	".config/gh/hosts.yml",
	".docker/config.json",
	".kube/config",
	".git-credentials",
	".npmrc",
	".pypirc",
	".bashrc",
	".profile",
	".bash_history",
	".gitconfig",
	".local/bin/tool",
	".local/share/keyrings/login.keyring",
	".config/systemd/user/job.service",
	".config/autostart/app.desktop",
	".mozilla/firefox/logins.json",
	/* agents: what the table binds, and what it must not */
	".claude/settings.json",
	".claude/.credentials.json",
	".claude/CLAUDE.md",
	".claude/projects/old/session.jsonl",
	".claude/daemon/dispatch/keep",
	".claude/history.jsonl",
	".claude.json",
	".codex/config.toml",
	".codex/auth.json",
	".codex/sessions/old.jsonl",
	".codex/queue_1.sqlite",
	".gemini/settings.json",
	".gemini/oauth_creds.json",
	".gemini/tmp/old/chat.json",
	".gemini/tmp/app/.project_root",
	".gemini/history/old/.project_root",
	".config/opencode/opencode.json",
	".local/share/opencode/auth.json",
	".local/share/opencode/opencode.db",
	".cursor/cli-config.json",
	".cursor/mcp.json",
	".cursor/chats/old.json",
	".config/cursor/auth.json",
	".kiro/settings/mcp.json",
	".kiro/sessions/cli/old.json",
	".local/share/kiro-cli/data.sqlite3",
	/* the project; a handmade but valid git repository */
	WORK "/README.md",
	WORK "/src/main.c",
	WORK "/.env",
	WORK "/.git/HEAD",
	WORK "/.git/config",
	WORK "/.git/hooks/pre-commit.sample",
	WORK "/.git/objects/info/keep",
	WORK "/.git/refs/heads/keep",
	/* a submodule's repository and a linked work tree's own files */
	WORK "/.git/modules/own/HEAD",
	WORK "/.git/modules/own/config",
	WORK "/.git/modules/own/hooks/keep",
	WORK "/.git/modules/own/objects/keep",
	WORK "/.git/worktrees/own/HEAD",
	WORK "/.git/worktrees/own/gitdir",
	WORK "/.git/worktrees/own/commondir",
	WORK "/.claude/settings.json",
	WORK "/.mcp.json",
	/* and the one next to it */
	SIBLING "/secret.txt",
	SIBLING "/.git/config",
	/* a read-only directory of the caller's own, for every way to change a file */
	WORK "/.git/hooks/ro/file",
	WORK "/.git/hooks/ro/unlink_me",
	WORK "/.git/hooks/ro/rename_me",
	WORK "/.git/hooks/ro/take_me",
	WORK "/.git/hooks/ro/dir/keep",
	/* what an agent runs or obeys, one directory each */
	".claude/hooks/mine",
	".codex/skills/mine",
	".gemini/extensions/mine",
	".config/opencode/plugin/mine",
	".cursor/rules/mine",
	".kiro/hooks/mine",
	/* more secrets */
	".azure/msal_token_cache.json",
	".config/gcloud/credentials.db",
	".config/gcloud/application_default_credentials.json",
	".aws/config",
	".aws/sso/cache/token.json",
	".ssh/id_rsa",
	".config/op/config",
	".config/Bitwarden CLI/data.json",
	"Documents/passwords.kdbx",
	".password-store/mail.gpg",
	".local/share/kwalletd/kdewallet.kwl",
	".config/hub",
	".config/glab-cli/config.yml",
	".config/git/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".config/composer/auth.json",
	".m2/settings.xml",
	".gradle/gradle.properties",
	".config/containers/auth.json",
	".config/helm/registry/config.json",
	".config/google-chrome/Default/Cookies",
	".config/chromium/Default/Cookies",
	".config/BraveSoftware/Brave-Browser/Default/Cookies",
	".thunderbird/profile/logins.json",
	".zsh_history",
	".local/share/fish/fish_history",
	".python_history",
	".psql_history",
	".mysql_history",
	".node_repl_history",
	".vault-token",
	".terraform.d/credentials.tfrc.json",
	".s3cfg",
	".boto",
	".config/rclone/rclone.conf",
	".config/doctl/config.yaml",
	".fly/config.yml",
	".pgpass",
	".my.cnf",
	".msmtprc",
	".cache/huggingface/token",
	".subversion/auth/svn.simple/cache",
	".hgrc",
	".config/sops/age/keys.txt",
	".bitcoin/wallet.dat",
	".Xauthority",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

/* Fifos that programs of the host could be reading. */
static const char *const fifos[] = { WORK "/host.fifo", WORK "/.git/hooks/ro/fifo" };

/* Files that a program must be able to read, instead of a canary. */
static const struct {
	const char *rel;
	const char *text;
} plain[] = {
	{ ".gemini/tmp/app/.project_root", "%W" },
	{ WORK "/.git/HEAD", "ref: refs/heads/main\n" },
	{ WORK "/.git/modules/own/HEAD", "ref: refs/heads/main\n" },
	{ WORK "/.git/worktrees/own/HEAD", "ref: refs/heads/main\n" },
	{ WORK "/.git/worktrees/own/commondir", "../..\n" },
	{ ".gitconfig", "[user]\n\tname = sbx\n\temail = sbx@localhost\n" },
	{ WORK "/.git/config",
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n" },
};

/* Links planted in the project, as a prompt-injected earlier run could have left them. */
static const struct {
	const char *rel;
	const char *target_rel; /* to home */
} links[] = {
	{ WORK "/link_secret", ".ssh/id_ed25519" },
	{ WORK "/link_new", ".sbx_through_link" },
	{ WORK "/link_dir", SIBLING },
};

static const char *const transcripts[] = { ".claude/projects", ".codex/sessions",
	".gemini/tmp", ".cursor/chats", ".kiro/sessions/cli" };

static const char *const protected_rel[] = { WORK "/.git/hooks", WORK "/.git/config",
	WORK "/.git/modules/own/hooks", WORK "/.git/modules/own/config",
	WORK "/.git/worktrees/own/gitdir", WORK "/.git/worktrees/own/commondir",
	WORK "/.claude", WORK "/.mcp.json", WORK "/.codex", WORK "/.gemini",
	WORK "/.opencode", WORK "/opencode.json", WORK "/.cursor", WORK "/.kiro" };

/* The runner's own in the work dir: they belong, and are in no fingerprint. */
static const char *const own_dirs[] = { WORK "/" TREE_PROBES, WORK "/" TREE_MATERIAL };

static bool beneath(const char *rel, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(dirs[i]);

		if (strncmp(rel, dirs[i], len) == 0 &&
			(rel[len] == '\0' || rel[len] == '/'))
			return true;
	}
	return false;
}

char *tree_slug(const struct tree *t)
{
	char *slug = sbx_xstrdup(t->work);

	for (char *p = slug; *p; p++)
		if (strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			      "0123456789") == 0)
			*p = '-';
	return slug;
}

char *tree_canary(const struct tree *t, const char *rel)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(plain); i++)
		if (strcmp(plain[i].rel, rel) == 0)
			return sbx_xstrdup(strcmp(plain[i].text, "%W") == 0
						   ? t->work
						   : plain[i].text);
	return sbx_xasprintf("sbx-canary %s %s\n", t->nonce, rel);
}

uint64_t tree_text_hash(const char *text)
{
	return probe_hash(text, strlen(text));
}

uint64_t tree_canary_hash(const struct tree *t, const char *rel)
{
	SBX_CLEANUP_FREE char *text = tree_canary(t, rel);

	return tree_text_hash(text);
}

static int make_parents(const char *path)
{
	SBX_CLEANUP_FREE char *p = sbx_xstrdup(path);

	for (char *s = p + 1; (s = strchr(s, '/')) != NULL; *s++ = '/') {
		*s = '\0';
		if (mkdir(p, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int write_file(const char *path, const char *text)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	SBX_CLEANUP_FD int fd = open(path, flags, 0600);

	if (fd < 0 && errno == ENOENT) {
		int r = make_parents(path);

		if (r < 0)
			return r;
		fd = open(path, flags, 0600);
	}
	if (fd < 0)
		return -errno;
	return sbx_write_all(fd, text, strlen(text));
}

static int write_canary(const struct tree *t, const char *rel)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", t->home, rel);
	SBX_CLEANUP_FREE char *text = tree_canary(t, rel);
	SBX_CLEANUP_FREE char *now = NULL;

	if (sbx_read_file(path, 65536, &now, NULL) == 0 && strcmp(now, text) == 0)
		return 0;
	return write_file(path, text);
}

static int make_link(const struct tree *t, size_t i)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", t->home, links[i].rel);
	SBX_CLEANUP_FREE char *target =
		sbx_xasprintf("%s/%s", t->home, links[i].target_rel);

	return symlink(target, path) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_fifo(const struct tree *t, size_t i)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", t->home, fifos[i]);

	return mkfifo(path, 0600) < 0 && errno != EEXIST ? -errno : 0;
}

int tree_create(struct tree *t)
{
	int r = 0;

	t->work = sbx_xasprintf("%s/" WORK, t->home);
	t->sibling = sbx_xasprintf("%s/" SIBLING, t->home);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(files); i++)
		r = write_canary(t, files[i]);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(links); i++)
		r = make_link(t, i);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(fifos); i++)
		r = make_fifo(t, i);
	return r;
}

static const char *below_home(const struct tree *t, const char *path)
{
	size_t len = strlen(t->home);

	return strncmp(path, t->home, len) == 0 && path[len] == '/' ? path + len + 1
								    : NULL;
}

bool tree_is_material(const struct tree *t, const char *path)
{
	const char *rel = below_home(t, path);

	return rel && beneath(rel, &own_dirs[1], 1);
}

bool tree_is_transcripts(const struct tree *t, const char *path)
{
	const char *rel = below_home(t, path);

	return rel && beneath(rel, transcripts, SBX_ARRAY_SIZE(transcripts));
}

bool tree_has(const struct tree *t, const char *path)
{
	const char *rel = below_home(t, path);

	for (size_t i = 0; rel && i < SBX_ARRAY_SIZE(files); i++)
		if (strcmp(files[i], rel) == 0)
			return true;
	return false;
}

void tree_restore_file(const struct tree *t, const char *path)
{
	if (tree_has(t, path))
		write_canary(t, below_home(t, path));
}

/* Does rel belong: a canary, a link, or a directory above one? */
static bool belongs(const char *rel)
{
	size_t len = strlen(rel);

	if (beneath(rel, own_dirs, SBX_ARRAY_SIZE(own_dirs)))
		return true;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(files); i++)
		if (strncmp(files[i], rel, len) == 0 &&
			(files[i][len] == '\0' || files[i][len] == '/'))
			return true;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(links); i++)
		if (strcmp(links[i].rel, rel) == 0)
			return true;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(fifos); i++)
		if (strcmp(fifos[i], rel) == 0)
			return true;
	return false;
}

static FTS *walk(const char *path)
{
	char *const roots[] = { (char *)path, NULL };

	return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
}

void tree_remove(const char *path)
{
	FTS *fts = walk(path);

	if (fts == NULL)
		return;
	for (FTSENT *e; (e = fts_read(fts)) != NULL;) {
		if (e->fts_info == FTS_D)
			/* A mode without search permission must not stop the cleaning. */
			chmod(e->fts_accpath, 0700);
		else if (e->fts_info == FTS_DP)
			rmdir(e->fts_accpath);
		else if (e->fts_info != FTS_NS && e->fts_info != FTS_ERR)
			unlink(e->fts_accpath);
	}
	fts_close(fts);
}

/* Collects what does not belong; removal while walking would confuse the walk. */
static void remove_strangers(const struct tree *t)
{
	struct sbx_strv strangers = { 0 };
	FTS *fts = walk(t->home);

	if (fts == NULL)
		return;
	for (FTSENT *e; (e = fts_read(fts)) != NULL;) {
		const char *rel = below_home(t, e->fts_path);

		if (rel == NULL || e->fts_info == FTS_DP || belongs(rel) ||
			(e->fts_statp && S_ISSOCK(e->fts_statp->st_mode)))
			continue;
		if (e->fts_statp && sbx_keeper_made(e->fts_statp)) {
			fts_set(fts, e, FTS_SKIP);
			continue;
		}
		sbx_strv_add(&strangers, e->fts_path);
		fts_set(fts, e, FTS_SKIP);
	}
	fts_close(fts);
	for (size_t i = 0; i < strangers.n; i++)
		tree_remove(strangers.v[i]);
	sbx_strv_done(&strangers);
}

int tree_restore(const struct tree *t)
{
	int r = 0;

	remove_strangers(t);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(files); i++)
		r = write_canary(t, files[i]);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(links); i++)
		r = make_link(t, i);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(fifos); i++)
		r = make_fifo(t, i);
	return r;
}

/* -1: belongs to no part. */
static int part_of(const char *rel)
{
	if (beneath(rel, own_dirs, SBX_ARRAY_SIZE(own_dirs)))
		return -1;
	if (beneath(rel, protected_rel, SBX_ARRAY_SIZE(protected_rel)))
		return TREE_PROTECTED;
	if (beneath(rel, (const char *const[]){ WORK }, 1))
		return TREE_WORK;
	if (beneath(rel, (const char *const[]){ SIBLING }, 1))
		return TREE_SIBLING;
	if (beneath(rel, transcripts, SBX_ARRAY_SIZE(transcripts)))
		return -1;
	return TREE_HOME;
}

static uint64_t entry_hash(const char *rel, const struct stat *st)
{
	struct {
		uint64_t name, mode, uid, gid, ino, size, nlink, sec, nsec, csec, cnsec;
	} k = { tree_text_hash(rel), st->st_mode, st->st_uid, st->st_gid, st->st_ino };

	/* A directory's size, times and link count follow its entries, which are counted. */
	if (!S_ISDIR(st->st_mode)) {
		k.size = (uint64_t)st->st_size;
		k.nlink = st->st_nlink;
		k.sec = (uint64_t)st->st_mtim.tv_sec;
		k.nsec = (uint64_t)st->st_mtim.tv_nsec;
		/* Nobody can set this one back. */
		k.csec = (uint64_t)st->st_ctim.tv_sec;
		k.cnsec = (uint64_t)st->st_ctim.tv_nsec;
	}
	return probe_hash(&k, sizeof(k));
}

/* Adds what lies in the directory fd (taken), whose path from home is rel[0..len]. The sum of
 * the entries' hashes does not depend on their order. */
static int add_directory(struct tree_print *p, int fd, char *rel, size_t len)
{
	DIR *d = fdopendir(fd);
	int r = 0;

	if (d == NULL) {
		r = -errno;
		close(fd);
		return r;
	}
	for (struct dirent *e; r == 0 && (e = readdir(d)) != NULL;) {
		struct stat st;
		int part, n;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		n = snprintf(
			rel + len, PATH_MAX - len, "%s%s", len ? "/" : "", e->d_name);
		if ((size_t)n >= PATH_MAX - len)
			r = -ENAMETOOLONG;
		else if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			r = -errno;
		if (r < 0)
			break;
		/* The next cell's sandbox may be there already, and keep its places. */
		if (sbx_keeper_made(&st))
			continue;
		part = part_of(rel);
		if (part >= 0)
			p->part[part] += entry_hash(rel, &st);
		if (S_ISDIR(st.st_mode) && part >= 0) {
			int sub = openat(dirfd(d), e->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			r = sub < 0 ? -errno
				    : add_directory(p, sub, rel, len + (size_t)n);
		}
	}
	closedir(d);
	return r;
}

int tree_fingerprint(const struct tree *t, struct tree_print *ret)
{
	struct tree_print p = { { 0 } };
	int fd = open(t->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	char rel[PATH_MAX] = "";

	if (fd < 0)
		return -errno;
	r = add_directory(&p, fd, rel, 0);
	if (r == 0)
		*ret = p;
	return r;
}

int tree_mark(const struct tree *t, const char *token, bool make)
{
	static const char *const dirs[] = { ".ssh", SIBLING, WORK, WORK "/.git/hooks" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(dirs); i++) {
		SBX_CLEANUP_FREE char *path =
			sbx_xasprintf("%s/%s/mark-%s", t->home, dirs[i], token);

		if (make)
			r = write_file(path, token);
		else
			unlink(path);
	}
	return r;
}

/* As it should be: made when missing, emptied of what is too much in it by the caller. */
static int make_material(const char *path)
{
	static const char text[] = "material\n";
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
		st.st_size != (off_t)strlen(text)) {
		unlink(path);
		return write_file(path, text);
	}
	if ((st.st_mode & 07777) != 0600 && chmod(path, 0600) < 0)
		return -errno;
	return 0;
}

int tree_make_material(const struct tree *t)
{
	static const char *const names[] = { "file", "trunc_me", "rename_me",
		"rename_out", "rename_in", "plain", "sgid" };
	SBX_CLEANUP_FREE char *empty =
		sbx_xasprintf("%s/" TREE_MATERIAL "/empty", t->work);
	SBX_CLEANUP_FREE char *spare =
		sbx_xasprintf("%s/" TREE_MATERIAL "/rename_out", t->work);
	SBX_CLEANUP_FREE char *victim =
		sbx_xasprintf("%s/" TREE_MATERIAL "/unlink_me", t->work);
	int r = 0;

	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(names); i++) {
		SBX_CLEANUP_FREE char *path =
			sbx_xasprintf("%s/" TREE_MATERIAL "/%s", t->work, names[i]);

		r = make_material(path);
	}
	if (r == 0 && link(spare, victim) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0 && mkdir(empty, 0700) < 0 && errno != EEXIST)
		r = -errno;
	return r;
}
