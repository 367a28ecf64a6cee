/* The file of the store, before sqlite sees it: whose it is, and what it says it is. */
#include "session_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "sessions.db"
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

/* The database header, https://www.sqlite.org/fileformat2.html: offsets. */
#define HEADER_LEN 100
#define AT_USER_VERSION 60
#define AT_APPLICATION 68

char *session_store_dir(struct sbx_error *e)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	/* A relative one is to be ignored, says the XDG specification. */
	if (state && state[0] == '/')
		return sbx_path_join(state, "sbx");
	if (home && home[0] == '/')
		return sbx_path_join(home, ".local/state/sbx");
	sbx_error_set(e, SBX_E_HOME_INVALID, ENOENT,
		"there is no place for the store of sessions: HOME is %s",
		home ? "no absolute path" : "not set");
	sbx_error_remedy(e, "set HOME, or XDG_STATE_HOME, to an absolute path");
	return NULL;
}

static int denied(struct sbx_error *e, const char *what, const char *path)
{
	int err = errno;
	int r = sbx_error_set(
		e, SBX_E_STORE, err, "store of sessions: %s '%s': %m", what, path);

	if (err == ENOSPC || err == EDQUOT)
		sbx_error_remedy(e, "free some space there; nothing was changed");
	else
		sbx_error_remedy(e,
			"give yourself the right to write there, or set XDG_STATE_HOME to a "
			"directory where you have it");
	return r;
}

/* With the parents, which are private, too, where they are missing (XDG says so). */
static int make_dirs(const char *path, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *parent = sbx_path_parent(path);
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno == EEXIST || (errno != ENOENT && stat(path, &st) == 0))
		return 0;
	if (errno != ENOENT || strcmp(path, "/") == 0)
		return denied(e, "cannot make", path);
	if (make_dirs(parent, e) < 0)
		return -EACCES;
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0
							 : denied(e, "cannot make", path);
}

/* Nobody else may have put it there, nor change it. */
static int judge(
	const struct stat *st, const char *what, const char *path, struct sbx_error *e)
{
	int r;

	if (st->st_uid != geteuid()) {
		r = sbx_error_set(e, SBX_E_STORE, EPERM,
			"store of sessions: the %s '%s' belongs to uid %u, not to you",
			what, path, (unsigned)st->st_uid);
		sbx_error_remedy(e,
			"move it away, or set XDG_STATE_HOME to a directory of "
			"your own");
		return r;
	}
	if (st->st_mode & OTHERS_WRITE) {
		r = sbx_error_set(e, SBX_E_STORE, EPERM,
			"store of sessions: others may write to the %s '%s' (mode %04o), and so "
			"decide what is run without a sandbox",
			what, path, (unsigned)st->st_mode & 07777);
		sbx_error_remedy(e,
			"look whether the sessions are yours, then: chmod go-w '%s'",
			path);
		return r;
	}
	return 0;
}

static int open_dir(struct session_store *s, enum session_access access, int *ret_fd,
	struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd = -1;
	char real[PATH_MAX];
	struct stat st;
	int r;

	r = access == SESSION_WRITE ? make_dirs(s->dir, e) : 0;
	if (r < 0)
		return r;
	fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && access == SESSION_READ)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0 || realpath(s->dir, real) == NULL)
		return denied(e, "cannot open the directory", s->dir);
	r = judge(&st, "directory", s->dir, e);
	if (r < 0)
		return r;
	if (st.st_mode & 077)
		fchmod(fd, 0700); /* where that fails the file's own mode still holds */
	free(s->dir);
	s->dir = sbx_xstrdup(real);
	*ret_fd = SBX_TAKE_FD(fd);
	return 1;
}

static int not_ours(const char *path, const char *what, struct sbx_error *e)
{
	int r = sbx_error_set(
		e, SBX_E_STORE, EINVAL, "store of sessions: '%s' is %s", path, what);

	sbx_error_remedy(
		e, "it was not touched; move it away: mv '%s' '%s.other'", path, path);
	return r;
}

static unsigned big_endian(const unsigned char *p)
{
	return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
}

/* A newer one is not even opened: with a journal of another kind that alone could change it. */
static int judge_header(int fd, const char *path, struct sbx_error *e)
{
	unsigned char h[HEADER_LEN];
	ssize_t n = pread(fd, h, sizeof(h), 0);
	unsigned version;
	int r;

	if (n < 0)
		return denied(e, "cannot read", path);
	if (n == 0)
		return 0;
	if (n < HEADER_LEN || memcmp(h, "SQLite format 3", 16) != 0)
		return not_ours(path, "no database", e);
	if (big_endian(h + AT_APPLICATION) != SESSION_APPLICATION)
		return not_ours(path, "a database of some other program", e);
	version = big_endian(h + AT_USER_VERSION);
	if (version <= SESSION_SCHEMA)
		return 0;
	r = sbx_error_set(e, SBX_E_STORE_VERSION, EPROTO,
		"store of sessions: '%s' has schema %u, and this sbx knows %d at most",
		path, version, SESSION_SCHEMA);
	sbx_error_remedy(e, "it was not touched; use the newer sbx that wrote it");
	return r;
}

static int open_file(struct session_store *s, enum session_access access, int dir,
	bool *ret_read_only, struct sbx_error *e)
{
	int how = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	int fd = openat(dir, FILE_NAME, O_RDWR | how);

	if (fd < 0 && errno == ENOENT && access == SESSION_READ)
		return -ENOENT;
	if (fd < 0 && errno == ENOENT) {
		fd = openat(dir, FILE_NAME, O_RDWR | O_CREAT | how, 0600);
		if (fd >= 0 && fchmod(fd, 0600) < 0) /* a umask may have taken it away */
			return denied(e, "cannot set the mode of", s->path);
	}
	if (fd < 0 && (errno == EACCES || errno == EROFS) && access == SESSION_READ) {
		*ret_read_only = true;
		fd = openat(dir, FILE_NAME, O_RDONLY | how);
	}
	if (fd < 0 && errno == ELOOP)
		return not_ours(s->path, "a symbolic link, which is not followed", e);
	return fd >= 0 ? fd : denied(e, "cannot open", s->path);
}

int session_file_find(struct session_store *s, enum session_access access,
	bool *ret_read_only, struct sbx_error *e)
{
	SBX_CLEANUP_FD int dir = -1, fd = -1;
	bool read_only = false;
	struct stat st;
	int r;

	s->dir = session_store_dir(e);
	if (s->dir == NULL)
		return -ENOENT;
	r = open_dir(s, access, &dir, e);
	if (r <= 0)
		return r;
	s->path = sbx_path_join(s->dir, FILE_NAME);
	fd = open_file(s, access, dir, &read_only, e);
	if (fd < 0)
		return fd == -ENOENT && access == SESSION_READ ? 0 : fd;
	if (fstat(fd, &st) < 0)
		return denied(e, "cannot look at", s->path);
	if (!S_ISREG(st.st_mode))
		return not_ours(s->path, "no regular file", e);
	r = judge(&st, "file", s->path, e);
	if (r == 0 && (st.st_mode & 077))
		fchmod(fd, 0600);
	if (r == 0)
		r = judge_header(fd, s->path, e);
	if (r < 0)
		return r;
	*ret_read_only = read_only;
	return 1;
}
