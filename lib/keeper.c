#include "keeper.h"

#include "clone.h"
#include "keeper_mark.h"
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The keeper gives up after five; one that says nothing is dead. */
#define ANSWER_MS 10000

static const unsigned char program[] = {
#include "keeper_image.h"
};

/* Its descriptors, by the numbers that it finds them at. */
enum place {
	AT_IMAGE = 3,
	AT_LIST,
	AT_STATUS,
	AT_SANDBOX,
	AT_BASE,
	AT_END = AT_BASE + 3,
};

static const char image_path[] = "/proc/self/fd/3";
static char *const words[] = { (char *)"sbx-keeper", (char *)"3", (char *)"4",
	(char *)"5", (char *)"6", NULL };
_Static_assert(AT_IMAGE == 3 && AT_LIST == 4 && AT_STATUS == 5 && AT_SANDBOX == 6,
	"the words above");

/* The directories that places lie in. */
static const struct sbx_opened *base_at(const struct sbx_host *h, int i)
{
	const struct sbx_opened *const bases[] = { &h->workdir, &h->git, &h->state };

	return bases[i];
}

static int base_of(const struct sbx_host *h, const char *path)
{
	int i = 0;

	while (AT_BASE + i < AT_END - 1 &&
		!(base_at(h, i)->real && sbx_path_is_beneath(path, base_at(h, i)->real)))
		i++;
	return i;
}

/* Where the placeholder of op stands. */
static const char *place_of(const struct sbx_op *op)
{
	return op->kind == SBX_OP_TEXT ? op->dst : op->src;
}

/* As init/keeper.c has them. */
static const char *const kinds[_SBX_RESERVE_MAX] = {
	[SBX_RESERVE_NONE] = "",
	[SBX_RESERVE_DIR] = "d",
	[SBX_RESERVE_FILE] = "f",
	[SBX_RESERVE_SOCKET] = "s",
};

static void add_word(char **list, size_t *len, const char *word)
{
	size_t more = strlen(word) + 1;

	*list = sbx_xrealloc(*list, *len + more, 1);
	memcpy(*list + *len, word, more);
	*len += more;
}

static void add_record(
	char **list, size_t *len, const struct sbx_op *op, const struct sbx_host *h)
{
	int base = base_of(h, place_of(op));
	SBX_CLEANUP_FREE char *number = sbx_xasprintf("%d", AT_BASE + base);

	add_word(list, len, number);
	add_word(list, len, kinds[op->reserve]);
	add_word(list, len, place_of(op) + strlen(base_at(h, base)->real) + 1);
	add_word(list, len, op->text ? op->text : "");
}

/* Its list as a memory file; -1 and *ret_any false when there is nothing to keep. */
static int make_list(const struct sbx_plan *plan, const struct sbx_host *h, bool *ret_any)
{
	SBX_CLEANUP_FREE char *list = NULL;
	size_t len = 0;

	for (size_t i = 0; i < plan->n; i++)
		if (plan->ops[i].reserve != SBX_RESERVE_NONE)
			add_record(&list, &len, &plan->ops[i], h);
	*ret_any = len > 0;
	return len > 0 ? sbx_memfd("sbx-places", list, len) : -1;
}

bool sbx_keeper_made(const struct stat *st)
{
	return keeper_made(st);
}

bool sbx_keeper_stands(
	int dir, const char *name, enum sbx_reserve reserve, const char *text)
{
	static const mode_t types[_SBX_RESERVE_MAX] = { [SBX_RESERVE_DIR] = S_IFDIR,
		[SBX_RESERVE_FILE] = S_IFREG,
		[SBX_RESERVE_SOCKET] = S_IFSOCK };

	/* As the plan has it for uid 0 (protect.c). */
	if (reserve == SBX_RESERVE_SOCKET && geteuid() == 0)
		reserve = SBX_RESERVE_FILE;
	return reserve != SBX_RESERVE_NONE &&
	       keeper_stands(dir, name, types[reserve], text ? text : "", NULL);
}

/* ---- the child ---- */

struct child {
	int fds[AT_END]; /* what goes where; -1: nothing */
	int *failed; /* its -errno; the memory is shared until the exec */
};

/* A copy beyond the numbers that the keeper's own will have. Owned by the caller. */
static int out_of_the_way(int fd)
{
	int r = fcntl(fd, F_DUPFD_CLOEXEC, AT_END);

	return r < 0 ? -errno : r;
}

static int arrange(const struct child *c)
{
	/* The caller's session keyring ends with the caller; EPERM: a filter around us. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
		errno != ENOSYS && errno != EPERM)
		return -errno;
	/* Out of the terminal's reach. */
	if (setsid() < 0)
		return -errno;
	for (int i = 0; i < AT_END; i++)
		if (c->fds[i] >= 0 && dup2(c->fds[i], i) < 0)
			return -errno;
	return syscall(SYS_close_range, (unsigned)AT_END, ~0U, 0) < 0 ? -errno : 0;
}

/* See clone.h: only system calls. Signals stay blocked until the program has arranged itself. */
static int child_main(void *arg)
{
	const struct child *c = arg;
	char *const envp[] = { NULL };
	int r = arrange(c);

	if (r == 0) {
		execve(image_path, words, envp);
		r = -errno;
	}
	*c->failed = r;
	_exit(127);
}

/* In a host that was made by hand, or whose descriptor is not to be used, by its path. */
static int copy_base(const struct sbx_opened *base)
{
	SBX_CLEANUP_FD int fd = -1;

	if (base->fd >= 0)
		return out_of_the_way(base->fd);
	fd = open(base->real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : out_of_the_way(fd);
}

static int copy_fds(struct child *c, const struct sbx_host *h, const int own[AT_BASE])
{
	int r = 0;

	for (int i = 0; i < AT_END; i++)
		c->fds[i] = -1;
	for (int i = 0; r == 0 && i < AT_END; i++) {
		if (i >= AT_BASE && base_at(h, i - AT_BASE)->real == NULL)
			continue;
		c->fds[i] = i < AT_BASE ? out_of_the_way(own[i])
					: copy_base(base_at(h, i - AT_BASE));
		if (c->fds[i] < 0)
			r = c->fds[i];
	}
	return r;
}

static int start(struct sbx_keeper *k, int list, int status, int sandbox,
	const struct sbx_host *h, struct sbx_error *e)
{
	SBX_CLEANUP_FD int image =
		sbx_memfd_program("sbx-keeper", program, sizeof(program));
	SBX_CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int own[AT_BASE] = { null, null, null, image, list, status, sandbox };
	struct child c;
	sigset_t mask;
	int r = copy_fds(&c, h, own), failed = 0;

	c.failed = &failed;
	if (r == 0) {
		k->pid = sbx_clone(child_main, &c, &mask);
		r = k->pid < 0 ? -errno : failed;
	}
	for (int i = 0; i < AT_END; i++)
		sbx_close_fd(&c.fds[i]);
	if (r < 0 && k->pid > 0)
		waitpid(k->pid, NULL, 0);
	if (r < 0) {
		k->pid = 0;
		return sbx_error_set(e, SBX_E_RESERVE, -r,
			"the keeper of reserved paths cannot be started: %s",
			strerror(-r));
	}
	k->pidfd = sbx_fd_high(pidfd_open(k->pid, 0));
	return 0;
}

static int explain(
	int err, const char *path, const struct sbx_host *h, struct sbx_error *e)
{
	int r;

	if (err == EEXIST || err == ENOTDIR || err == ELOOP) {
		r = sbx_error_set(e, SBX_E_PATH_CHANGED, err,
			"'%s' came to be in '%s' while the sandbox was being prepared",
			path, h->workdir.real);
		sbx_error_remedy(e, "run it again: it will be protected as it is now");
	} else if (err == EBUSY) {
		r = sbx_error_set(e, SBX_E_RESERVE, err,
			"'%s' cannot be reserved in '%s': another program removes "
			"placeholders there, and does not end",
			path, h->workdir.real);
		sbx_error_remedy(e, "'lslocks' shows who has an OFDLCK lock on /");
	} else {
		r = sbx_error_set(e, SBX_E_RESERVE, err,
			"'%s' cannot be reserved in '%s': %s", path, h->workdir.real,
			strerror(err));
		sbx_error_remedy(e,
			"a path that the host obeys must not be made by the agent, so "
			"something has to stand there: make it yourself, or let this user write "
			"to the directory, or run with the file system mode ro");
	}
	return r;
}

/* Its one line: "kept" or "error ERRNO PATH". */
static int hear(struct sbx_keeper *k, const struct sbx_host *h, struct sbx_error *e)
{
	long long deadline = sbx_now_ms() + ANSWER_MS;
	char line[4200] = "", *path;
	size_t len = 0;

	while (len < sizeof(line) - 1 && strchr(line, '\n') == NULL) {
		struct pollfd p = { .fd = k->status, .events = POLLIN };
		long long left = deadline - sbx_now_ms();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			break;
		n = read(k->status, line + len, sizeof(line) - 1 - len);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		len += n > 0 ? (size_t)n : 0;
		line[len] = '\0';
	}
	if (strcmp(line, "kept\n") == 0)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "error ", 6) != 0)
		return sbx_error_set(e, SBX_E_RESERVE, EIO,
			"the keeper of reserved paths ended without a word");
	path = strchr(line + 6, ' ');
	return explain((int)strtol(line + 6, NULL, 10), path ? path + 1 : "", h, e);
}

int sbx_keeper_start(struct sbx_keeper *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, struct sbx_error *e)
{
	struct sbx_keeper k = SBX_KEEPER_NONE;
	int status[2] = { -1, -1 }, sandbox[2] = { -1, -1 }, r = 0;
	bool any;
	SBX_CLEANUP_FD int list = make_list(plan, h, &any);

	if (any && list >= 0)
		r = sbx_pipe(status);
	if (any && list >= 0 && r == 0)
		r = sbx_socketpair(sandbox);
	if (any && (list < 0 || r < 0))
		r = sbx_error_set(e, SBX_E_SYSTEM, list < 0 ? -list : -r, "keeper: %s",
			strerror(list < 0 ? -list : -r));
	else if (any)
		r = start(&k, list, status[1], sandbox[1], h, e);
	sbx_close_fd(&status[1]);
	sbx_close_fd(&sandbox[1]);
	k.status = status[0];
	k.sandbox = sandbox[0];
	if (any && r == 0)
		r = hear(&k, h, e);
	if (r < 0)
		sbx_keeper_end(&k, ANSWER_MS);
	else
		*ret = k;
	return r;
}

void sbx_keeper_leave(struct sbx_keeper *k)
{
	sbx_close_fd(&k->sandbox);
	k->sandbox = -1;
}

bool sbx_keeper_end(struct sbx_keeper *k, int timeout_ms)
{
	struct pollfd p = { .fd = k->pidfd, .events = POLLIN };
	long long deadline = sbx_now_ms() + timeout_ms;
	bool ended = k->pid == 0;

	sbx_keeper_leave(k);
	sbx_close_fd(&k->status);
	while (!ended && sbx_now_ms() <= deadline) {
		int n = poll(&p, 1, (int)(deadline - sbx_now_ms()));

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		ended = n > 0;
	}
	/* ECHILD: the caller ignores SIGCHLD, or has waited for it. */
	while (ended && k->pid > 0 && waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	sbx_close_fd(&k->pidfd);
	*k = SBX_KEEPER_NONE;
	return ended;
}
