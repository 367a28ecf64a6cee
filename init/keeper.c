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
 * A placeholder is known by its time, which any use of it changes. Several sandboxes may hold
 * one: each has a shared lock on the directory above, and who can have that alone removes it. What
 * a dead keeper has left behind the next one adopts.
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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES_MAX 1024
#define TEXT_MAX 255
#define PATIENCE_S 5 /* for another keeper that is removing */
#define MARK_MS 500 /* for one that has made its placeholder and not marked it yet */
#define INNER \
	".gitignore" /* of a directory with a text: keeps git from clearing it away */

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
	int parent; /* holds the lock; places in one directory share it */
	dev_t dev;
	ino_t ino;
	char name[256];
};

static struct place places[PLACES_MAX];
static size_t n_places;

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
	r = fd < 0 ? -errno : put(fd, INNER, p->text);
	if (r == 0)
		r = mark(fd, INNER);
	if (fd >= 0)
		close(fd);
	if (r < 0)
		unlinkat(p->parent, p->name, AT_REMOVEDIR);
	return r;
}

/* One in which the host has put something stays. */
static void remove_dir(const struct place *p)
{
	int fd = openat(
		p->parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && *p->text && fstatat(fd, INNER, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		keeper_made(&st))
		unlinkat(fd, INNER, 0);
	if (fd >= 0)
		close(fd);
	unlinkat(p->parent, p->name, AT_REMOVEDIR);
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

/* A time can be set by anybody: one with another content is somebody's own. */
static void remove_file(const struct place *p)
{
	size_t len = strlen(p->text);
	char text[TEXT_MAX + 1];
	int fd = openat(
		p->parent, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	if (n >= 0 && (size_t)n == len && memcmp(text, p->text, len) == 0)
		unlinkat(p->parent, p->name, 0);
}

static void remove_socket(const struct place *p)
{
	unlinkat(p->parent, p->name, 0);
}

static const struct kind kinds[] = {
	{ 'd', S_IFDIR, make_dir, remove_dir },
	{ 'f', S_IFREG, make_file, remove_file },
	{ 's', S_IFSOCK, make_socket, remove_socket },
};

/* ---- holding ---- */

/* Only to interrupt a wait. */
static void on_alarm(int sig)
{
	(void)sig;
}

/* Two locks of our own would stand in each other's way. -1: it is the first there. */
static int locked_already(int fd)
{
	struct stat a, b;

	for (size_t i = 0; i < n_places; i++)
		if (fstat(fd, &a) == 0 && fstat(places[i].parent, &b) == 0 &&
			a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return places[i].parent;
	return -1;
}

/* The directory that path lies in, with a shared lock; nobody removes from it then. */
static int lock_parent(int base, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *slash = strrchr(path, '/');
	char dir[4096] = ".";
	int fd, r;

	if (slash && (size_t)(slash - path) >= sizeof(dir))
		return -ENAMETOOLONG;
	if (slash) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
	}
	fd = (int)syscall(SYS_openat2, base, dir, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	r = locked_already(fd);
	if (r < 0 && flock(fd, LOCK_SH) == 0)
		return fd;
	if (r < 0)
		r = errno == EINTR ? -EBUSY : -errno;
	close(fd);
	return r;
}

static bool look(const struct place *p, struct stat *ret)
{
	return fstatat(p->parent, p->name, ret, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (ret->st_mode & S_IFMT) == p->kind->type;
}

/* Makes it, or takes over one that is there. */
static int hold(struct place *p)
{
	int r = p->kind->make(p);
	struct stat st;

	if (r == 0) {
		r = mark(p->parent, p->name);
		if (r < 0)
			p->kind->remove(p);
	}
	if (r < 0 && r != -EEXIST)
		return r;
	/* One that its keeper has not marked yet will be; another thing never is. */
	for (int ms = 0; ms < MARK_MS && look(p, &st) && !keeper_made(&st); ms++)
		poll(NULL, 0, 1);
	if (!look(p, &st) || !keeper_made(&st))
		return -EEXIST;
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	return 0;
}

static void give_back(const struct place *p)
{
	struct stat st;

	if (flock(p->parent, LOCK_EX | LOCK_NB) == 0 && look(p, &st) &&
		st.st_dev == p->dev && st.st_ino == p->ino && keeper_made(&st))
		p->kind->remove(p);
}

/* The lock of a directory belongs to all places in it. */
static void give_all_back(void)
{
	for (size_t i = n_places; i-- > 0;)
		give_back(&places[i]);
	n_places = 0;
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
		strlen(text) > TEXT_MAX)
		return -E2BIG;
	*p = (struct place){ .kind = find_kind(kind), .text = text };
	if (p->kind == NULL)
		return -EINVAL;
	strcpy(p->name, name);
	p->parent = lock_parent(base, path);
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
	struct sigaction alarmed = { .sa_handler = on_alarm };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	sigaction(SIGALRM, &alarmed, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	const char *path;
	int r, status, sandbox;

	if (argc != 5)
		return 125;
	close(atoi(argv[1]));
	status = atoi(argv[3]);
	sandbox = atoi(argv[4]);
	arrange_signals();
	umask(0);
	alarm(PATIENCE_S);
	r = hold_all(atoi(argv[2]), &path);
	alarm(0);
	say(status, r, path);
	if (r == 0)
		wait_for_end(sandbox);
	give_all_back();
	return r < 0;
}
