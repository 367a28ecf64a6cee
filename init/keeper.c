/* sbx-keeper: holds places on the host while a sandbox lives.
 *
 *     sbx-keeper IMAGE LIST STATUS SANDBOX
 *
 * A path that the host obeys and that is not there yet can only be kept from the payload by
 * something that stands there: a mount needs a name to stand on. This program makes the
 * placeholders before bwrap starts, and removes them when the last process of the sandbox is
 * gone; also when the runner is killed, for no signal but KILL ends it.
 *
 * All arguments are descriptors. IMAGE: of this program. LIST: records of four strings, each
 * ended by a NUL:
 *     BASE   the descriptor of the directory that PATH starts from
 *     KIND   of the placeholder: see kinds[]
 *     PATH   relative; its parent exists
 *     TEXT   of the file that is, or lies in, the placeholder; may be empty
 * STATUS: where one line is said: "kept", or "error ERRNO PATH". SANDBOX: a socket; pid 1 of the
 * sandbox sends a handle on itself. Its end without one means that nothing will run.
 *
 * A placeholder is known by its time, which any use of it changes, and by what is in it. What a
 * dead keeper has left behind the next one adopts.
 *
 * Several sandboxes may hold one, and the last removes it. Keepers tell each other by locks. A
 * directory of the project would not do: a payload can open it, and hold a lock that stops the
 * removal, or every start. So the locks are on bytes of the root directory, which no sandbox shows
 * and which is one and the same for every user; each directory that holds placeholders has a byte
 * for "mine are there" and one for "I am removing" (keeper_meeting_byte()). Open file description
 * locks for reading need no right to write, leave nothing behind, and go with their process. Who
 * starts says the first and then looks for the second; who ends says the second, takes back the
 * first, and then looks whether anybody else says the first. In whatever order that happens, one
 * of them sees the other.
 */
#include "keeper_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES_MAX 1024
#define DIRS_MAX 1024
#define PATIENCE_MS 5000 /* for another keeper that is removing */
#define MARK_MS 500 /* for one that has made its placeholder and not marked it yet */

struct place;

struct kind {
	char letter;
	mode_t type;
	int (*make)(const struct place *p);
	void (*remove)(const struct place *p);
};

struct place {
	const struct kind *kind;
	const char *text;
	int parent; /* places in one directory share it */
	dev_t dev;
	ino_t ino;
	char name[256];
};

/* One that places stand in. */
struct dir {
	int fd;
	off_t byte; /* see the top */
};

static struct place places[PLACES_MAX];
static size_t n_places;
static struct dir dirs[DIRS_MAX];
static size_t n_dirs;
static int meeting; /* KEEPER_MEETING */

/* ---- kinds ---- */

static int mark(int parent, const char *name)
{
	const struct timespec times[2] = { { .tv_sec = KEEPER_MARK },
		{ .tv_sec = KEEPER_MARK } };

	return utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int put(int parent, const char *name, const char *text)
{
	int fd = openat(
		parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	size_t len = strlen(text);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len) {
		r = -errno;
		unlinkat(parent, name, 0);
	}
	close(fd);
	return r;
}

static int make_dir(const struct place *p)
{
	int fd, r = 0;

	if (mkdirat(p->parent, p->name, 0755) < 0)
		return -errno;
	if (*p->text == '\0')
		return 0;
	fd = openat(p->parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : put(fd, KEEPER_INNER, p->text);
	if (r == 0)
		r = mark(fd, KEEPER_INNER);
	if (fd >= 0)
		close(fd);
	if (r < 0)
		unlinkat(p->parent, p->name, AT_REMOVEDIR);
	return r;
}

/* One in which the host has put something stays, without what is ours in it: git shows it then.
 * One that cannot be removed is made whole again, for the next keeper. */
static void remove_dir(const struct place *p)
{
	int fd = openat(
		p->parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (keeper_inner_stands(fd, KEEPER_INNER, p->text))
		unlinkat(fd, KEEPER_INNER, 0);
	if (unlinkat(p->parent, p->name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
		errno != EEXIST && errno != ENOENT) {
		if (*p->text && put(fd, KEEPER_INNER, p->text) == 0)
			mark(fd, KEEPER_INNER);
		mark(p->parent, p->name);
	}
	close(fd);
}

static int make_file(const struct place *p)
{
	return put(p->parent, p->name, p->text);
}

/* git does not list it, and nobody can open it. */
static int make_socket(const struct place *p)
{
	return mknodat(p->parent, p->name, S_IFSOCK, 0) < 0 ? -errno : 0;
}

static void remove_file(const struct place *p)
{
	unlinkat(p->parent, p->name, 0);
}

static const struct kind kinds[] = {
	{ 'd', S_IFDIR, make_dir, remove_dir },
	{ 'f', S_IFREG, make_file, remove_file },
	{ 's', S_IFSOCK, make_socket, remove_file },
};

/* ---- holding ---- */

static int set_lock(short type, off_t byte)
{
	struct flock l = { .l_type = type, .l_start = byte, .l_len = 1 };

	return fcntl(meeting, F_OFD_SETLK, &l) < 0 ? -errno : 0;
}

/* Does another keeper hold the byte? For a lock to read, one to write would have to wait. When
 * that cannot be told: yes, so that nothing is removed that may be in use. */
static bool is_locked(off_t byte)
{
	struct flock l = { .l_type = F_WRLCK, .l_start = byte, .l_len = 1 };

	return fcntl(meeting, F_OFD_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}

/* Takes fd. Nobody removes from it from now on. */
static int add_dir(int fd)
{
	static int left_ms = PATIENCE_MS;
	struct dir *d = &dirs[n_dirs];
	struct stat st;
	int r = n_dirs == DIRS_MAX ? -E2BIG : fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0) {
		*d = (struct dir){ .fd = fd, .byte = keeper_meeting_byte(&st) };
		r = set_lock(F_RDLCK, d->byte);
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	n_dirs++;
	while (is_locked(d->byte + 1)) {
		if (left_ms-- == 0)
			return -EBUSY;
		poll(NULL, 0, 1);
	}
	return fd;
}

/* -1: it is the first place there. */
static int known_dir(int fd)
{
	struct stat a, b;

	for (size_t i = 0; i < n_dirs; i++)
		if (fstat(fd, &a) == 0 && fstat(dirs[i].fd, &b) == 0 &&
			a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return dirs[i].fd;
	return -1;
}

/* The directory that path lies in; borrowed. */
static int open_parent(int base, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *slash = strrchr(path, '/');
	char dir[4096] = ".";
	int fd, known;

	if (slash && (size_t)(slash - path) >= sizeof(dir))
		return -ENAMETOOLONG;
	if (slash) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
	}
	fd = (int)syscall(SYS_openat2, base, dir, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	known = known_dir(fd);
	if (known < 0)
		return add_dir(fd);
	close(fd);
	return known;
}

static bool stands(const struct place *p, struct stat *ret)
{
	return keeper_stands(p->parent, p->name, p->kind->type, p->text, ret);
}

/* Makes it, or takes over one that is there. */
static int hold(struct place *p)
{
	int r = p->kind->make(p);
	struct stat st;
	bool is;

	if (r == 0) {
		r = mark(p->parent, p->name);
		if (r < 0)
			p->kind->remove(p);
	}
	if (r < 0 && r != -EEXIST)
		return r;
	/* One that its keeper has not marked yet will be; another thing never is. */
	for (int ms = 0; !(is = stands(p, &st)) && ms < MARK_MS &&
			 (st.st_mode & S_IFMT) == p->kind->type && !keeper_made(&st);
		ms++)
		poll(NULL, 0, 1);
	if (!is)
		return -EEXIST;
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	return 0;
}

/* A directory that the host has used is looked into all the same: our own is in it. */
static void give_back(const struct place *p)
{
	struct stat st;

	if ((stands(p, &st) || S_ISDIR(st.st_mode)) && st.st_dev == p->dev &&
		st.st_ino == p->ino)
		p->kind->remove(p);
}

/* The payload may have taken the right to write to a directory from its owner, who is us: nothing
 * could be removed then. Returns the mode to set again, or 0. */
static mode_t open_up(int dir)
{
	const mode_t needed = S_IWUSR | S_IXUSR;
	struct stat st;

	if (fstat(dir, &st) < 0 || st.st_uid != geteuid() ||
		(st.st_mode & needed) == needed ||
		fchmod(dir, (st.st_mode & 07777) | needed) < 0)
		return 0;
	return st.st_mode;
}

static void give_dir_back(const struct dir *d)
{
	mode_t was;

	if (is_locked(d->byte))
		return;
	was = open_up(d->fd);
	for (size_t i = n_places; i-- > 0;)
		if (places[i].parent == d->fd)
			give_back(&places[i]);
	if (was)
		fchmod(d->fd, was & 07777);
}

/* See the top. What lies deeper came later. */
static void give_all_back(void)
{
	for (size_t i = 0; i < n_dirs; i++) {
		set_lock(F_RDLCK, dirs[i].byte + 1);
		set_lock(F_UNLCK, dirs[i].byte);
	}
	for (size_t i = n_dirs; i-- > 0;)
		give_dir_back(&dirs[i]);
	close(meeting);
}

static const struct kind *find_kind(const char *word)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (word[0] == kinds[i].letter && word[1] == '\0')
			return &kinds[i];
	return NULL;
}

static int hold_record(int base, const char *kind, const char *path, const char *text)
{
	struct place *p = &places[n_places];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int r;

	if (n_places == PLACES_MAX || strlen(name) >= sizeof(p->name) ||
		strlen(text) > KEEPER_TEXT_MAX)
		return -E2BIG;
	*p = (struct place){ .kind = find_kind(kind), .text = text };
	if (p->kind == NULL)
		return -EINVAL;
	strcpy(p->name, name);
	p->parent = open_parent(base, path);
	if (p->parent < 0)
		return p->parent;
	r = hold(p);
	n_places += r == 0;
	return r;
}

static const char *next(const char **at, const char *end)
{
	const char *s = *at;

	if (s >= end)
		return NULL;
	*at = s + strlen(s) + 1;
	return s;
}

/* 0, or -errno with the path that could not be had. */
static int hold_all(int list, const char **ret_path)
{
	struct stat st;
	const char *at, *end, *base, *kind, *path, *text;
	int r = 0;

	*ret_path = "";
	if (fstat(list, &st) < 0)
		return -errno;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, list, 0);
	if (at == MAP_FAILED)
		return -errno;
	end = at + st.st_size;
	if (end[-1] != '\0')
		return -EINVAL;
	while (r == 0 && (base = next(&at, end)) && (kind = next(&at, end)) &&
		(path = next(&at, end)) && (text = next(&at, end))) {
		*ret_path = path;
		r = hold_record(atoi(base), kind, path, text);
	}
	return r;
}

/* ---- the sandbox ---- */

/* The handle of pid 1, -1 when nothing will run. */
static int receive(int sandbox)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	ssize_t n;
	int fd = -1;

	do
		n = recvmsg(sandbox, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Until the last process of the sandbox is gone: pid 1 ends after all others. */
static void wait_for_end(int sandbox)
{
	struct pollfd p = { .fd = receive(sandbox), .events = POLLIN };

	if (p.fd >= 0)
		while (poll(&p, 1, -1) < 0)
			;
}

static void say(int status, int r, const char *path)
{
	if (r == 0)
		dprintf(status, "kept\n");
	else
		dprintf(status, "error %d %s\n", -r, path);
	close(status);
}

static void arrange_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	const char *path = KEEPER_MEETING;
	int r, status, sandbox;

	if (argc != 5)
		return 125;
	close(atoi(argv[1]));
	status = atoi(argv[3]);
	sandbox = atoi(argv[4]);
	arrange_signals();
	umask(0);
	meeting = open(KEEPER_MEETING, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = meeting < 0 ? -errno : hold_all(atoi(argv[2]), &path);
	say(status, r, path);
	if (r == 0)
		wait_for_end(sandbox);
	give_all_back();
	return r < 0;
}
