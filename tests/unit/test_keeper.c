/* Placeholders: they stand while a sandbox lives, and no longer, however it ends. */
#include "keeper.h"
#include "keeper_mark.h"
#include "mountns.h"
#include "path.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
	char *dir;
	struct sbx_host h;
	struct sbx_plan plan;
};

static const struct {
	const char *rel;
	enum sbx_reserve reserve;
	const char *text;
	mode_t type;
} places[] = {
	{ ".plain", SBX_RESERVE_DIR, NULL, S_IFDIR },
	{ ".agent", SBX_RESERVE_DIR, "*\n", S_IFDIR },
	{ ".git/commondir", SBX_RESERVE_FILE, ".\n", S_IFREG },
	{ ".git/empty", SBX_RESERVE_FILE, "", S_IFREG },
	{ "agent.json", SBX_RESERVE_SOCKET, NULL, S_IFSOCK },
};

static char *at(const struct world *w, const char *rel)
{
	return sbx_path_join(w->dir, rel);
}

static int setup(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));
	SBX_CLEANUP_FREE char *git = NULL;

	w->dir = t_mkdir();
	git = at(w, ".git");
	assert_int_equal(mkdir(git, 0700), 0);
	t_host_debian(&w->h, w->dir);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(places); i++) {
		SBX_CLEANUP_FREE char *path = at(w, places[i].rel);
		struct sbx_op *op =
			sbx_plan_add(&w->plan, SBX_OP_RO_BIND, path, path, "test");

		op->reserve = places[i].reserve;
		op->text = places[i].text;
	}
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	t_rmdir(w->dir);
	sbx_plan_done(&w->plan);
	sbx_host_done(&w->h);
	free(w);
	return 0;
}

static bool stands(const struct world *w, size_t i)
{
	SBX_CLEANUP_FREE char *path = at(w, places[i].rel);
	struct stat st;

	if (lstat(path, &st) < 0)
		return false;
	assert_int_equal(st.st_mode & S_IFMT, places[i].type);
	assert_true(sbx_keeper_made(&st));
	return true;
}

static size_t standing(const struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(places); i++)
		n += stands(w, i);
	return n;
}

static void start(const struct world *w, struct sbx_keeper *k)
{
	struct sbx_error e = { 0 };

	if (sbx_keeper_start(k, &w->plan, &w->h, &e) < 0)
		fail_msg("%s", e.message);
	assert_int_equal(standing(w), SBX_ARRAY_SIZE(places));
}

/* As pid 1 does. */
static void send_handle(const struct sbx_keeper *k, pid_t pid)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec io = { (char[]){ 1 }, 1 };
	struct msghdr m = { .msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = pidfd_open(pid, 0);

	assert_true(fd >= 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(k->sandbox, &m, 0), 1);
	close(fd);
}

static void they_stand_and_go(void **state)
{
	struct world *w = *state;
	struct sbx_keeper k;

	start(w, &k);
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), 0);
}

static void nothing_to_keep_needs_no_keeper(void **state)
{
	struct world *w = *state;
	struct sbx_plan none = { 0 };
	struct sbx_keeper k = SBX_KEEPER_NONE;

	assert_int_equal(sbx_keeper_start(&k, &none, &w->h, NULL), 0);
	assert_int_equal(k.pid, 0);
	assert_true(sbx_keeper_end(&k, 0));
}

/* The runner may be gone by then: only the last process of the sandbox counts. */
static void they_stand_as_long_as_pid_1(void **state)
{
	struct world *w = *state;
	struct sbx_keeper k;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	start(w, &k);
	send_handle(&k, pid);
	assert_false(sbx_keeper_end(&(struct sbx_keeper){ .pid = k.pid,
					    .pidfd = dup(k.pidfd),
					    .status = -1,
					    .sandbox = dup(k.sandbox) },
		100));
	sbx_keeper_leave(&k);
	assert_int_equal(standing(w), SBX_ARRAY_SIZE(places));
	kill(pid, SIGKILL);
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), 0);
	waitpid(pid, NULL, 0);
}

static void signals_do_not_end_it(void **state)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM };
	struct world *w = *state;
	struct sbx_keeper k;

	start(w, &k);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(sigs); i++)
		kill(k.pid, sigs[i]);
	assert_false(poll(&(struct pollfd){ .fd = k.pidfd, .events = POLLIN }, 1, 50));
	assert_int_equal(getsid(k.pid), k.pid);
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), 0);
}

/* Two sandboxes in one project: the first to end leaves the second its places. */
static void the_last_one_removes_them(void **state)
{
	struct world *w = *state;
	struct sbx_keeper a, b;

	start(w, &a);
	start(w, &b);
	assert_true(sbx_keeper_end(&a, 5000));
	assert_int_equal(standing(w), SBX_ARRAY_SIZE(places));
	start(w, &a);
	assert_true(sbx_keeper_end(&b, 5000));
	assert_int_equal(standing(w), SBX_ARRAY_SIZE(places));
	assert_true(sbx_keeper_end(&a, 5000));
	assert_int_equal(standing(w), 0);
}

/* Each sees that the other is about to go. */
static void of_two_that_end_at_once_one_removes_them(void **state)
{
	struct world *w = *state;
	struct sbx_keeper a, b;

	for (int i = 0; i < 50; i++) {
		start(w, &a);
		start(w, &b);
		sbx_keeper_leave(&a);
		assert_true(sbx_keeper_end(&b, 5000));
		assert_true(sbx_keeper_end(&a, 5000));
		assert_int_equal(standing(w), 0);
	}
}

static void what_a_killed_one_left_is_adopted(void **state)
{
	struct world *w = *state;
	struct sbx_keeper k;

	start(w, &k);
	kill(k.pid, SIGKILL);
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), SBX_ARRAY_SIZE(places));
	start(w, &k);
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), 0);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* What was put into a placeholder stays; what the keeper had in it goes, or git would not show
 * the rest. */
static void what_the_host_puts_there_stays(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *in = at(w, ".agent/settings.json");
	SBX_CLEANUP_FREE char *inner = at(w, ".agent/.gitignore");
	SBX_CLEANUP_FREE char *file = at(w, ".git/empty");
	struct sbx_keeper k;

	start(w, &k);
	write_file(in, "{}");
	write_file(file, "mine\n");
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(access(in, F_OK), 0);
	assert_int_equal(access(file, F_OK), 0);
	assert_true(access(inner, F_OK) < 0);
}

/* Nor what has taken a placeholder's place, though it be as empty, and one's own .gitignore in
 * one. */
static void what_the_host_puts_in_its_place_stays(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *dir = at(w, ".plain");
	SBX_CLEANUP_FREE char *inner = at(w, ".agent/.gitignore");
	SBX_CLEANUP_FREE char *same = at(w, ".git/commondir");
	SBX_CLEANUP_FREE char *socket = at(w, "agent.json");
	SBX_CLEANUP_FREE char *other = at(w, "other");
	struct sbx_keeper k;

	start(w, &k);
	/* beside it first, so that it is another inode */
	assert_int_equal(mkdir(other, 0755), 0);
	assert_int_equal(rename(other, dir), 0);
	write_file(other, ".\n");
	assert_int_equal(rename(other, same), 0);
	write_file(other, "{}");
	assert_int_equal(rename(other, socket), 0);
	write_file(inner, "*\n");
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(access(dir, F_OK), 0);
	assert_int_equal(access(same, F_OK), 0);
	assert_int_equal(access(socket, F_OK), 0);
	assert_int_equal(access(inner, F_OK), 0);
}

static void set_time(const char *path)
{
	const struct timespec times[2] = { { .tv_sec = KEEPER_MARK },
		{ .tv_sec = KEEPER_MARK } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Its time, which anybody can set, does not make anything ours. */
static void what_has_only_the_time_is_neither_taken_nor_removed(void **state)
{
	static const struct {
		const char *rel, *text; /* NULL: a directory with something in it */
	} rows[] = {
		{ ".git/commondir", "x\n" }, /* as long */
		{ ".git/commondir", ".\nx" }, /* longer */
		{ ".git/empty", "x" },
		{ "agent.json", "{}" }, /* where a socket would stand */
		{ "agent.json", "" },
		{ ".plain", NULL },
		{ ".agent", NULL },
		{ ".agent", "*\n" },
	};
	struct world *w = *state;
	struct sbx_keeper k;
	struct sbx_error e = { 0 };

	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		SBX_CLEANUP_FREE char *path = at(w, rows[i].rel);
		SBX_CLEANUP_FREE char *in = sbx_path_join(path, ".gitignore");

		if (rows[i].text == NULL) {
			assert_int_equal(mkdir(path, 0755), 0);
			write_file(in, "mine\n");
			set_time(in);
		} else {
			write_file(path, rows[i].text);
		}
		set_time(path);
		assert_int_equal(sbx_keeper_start(&k, &w->plan, &w->h, &e), -EEXIST);
		sbx_error_done(&e);
		assert_int_equal(access(path, F_OK), 0);
		if (rows[i].text == NULL)
			assert_int_equal(unlink(in), 0);
		assert_int_equal(remove(path), 0);
		assert_int_equal(standing(w), 0);
	}
}

static void what_stands_is_told_by_kind_time_and_content(void **state)
{
	struct world *w = *state;
	struct sbx_keeper k;

	start(w, &k);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(places); i++) {
		SBX_CLEANUP_FREE char *path = at(w, places[i].rel);
		bool root_file = places[i].reserve == SBX_RESERVE_SOCKET;

		assert_true(sbx_keeper_stands(
			AT_FDCWD, path, places[i].reserve, places[i].text));
		assert_false(sbx_keeper_stands(AT_FDCWD, path,
			root_file ? SBX_RESERVE_DIR : SBX_RESERVE_SOCKET, "none"));
		/* of a directory without a text nothing else is asked */
		if (places[i].text)
			assert_false(sbx_keeper_stands(
				AT_FDCWD, path, places[i].reserve, "other"));
	}
	assert_true(sbx_keeper_end(&k, 5000));
}

/* A directory that cannot be removed: something is mounted there. In a process of its own; 0: it
 * is as it must be. */
static int end_one_that_cannot_go(const struct world *w)
{
	SBX_CLEANUP_FREE char *path = at(w, ".agent");
	struct sbx_keeper k;

	if (sbx_mountns_enter(geteuid(), getegid()) != 0)
		return 2;
	/* It shares this process's mounts, and sees them. */
	if (sbx_keeper_start(&k, &w->plan, &w->h, NULL) < 0 ||
		mount(path, path, NULL, MS_BIND, NULL) < 0)
		return 3;
	if (!sbx_keeper_end(&k, 5000))
		return 4;
	return !sbx_keeper_stands(AT_FDCWD, path, SBX_RESERVE_DIR, "*\n");
}

static void one_that_cannot_be_removed_keeps_its_mark(void **state)
{
	struct world *w = *state;
	struct sbx_keeper k;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(end_one_that_cannot_go(w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	start(w, &k); /* and the next one adopts it */
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), 0);
}

static void what_has_come_meanwhile_is_an_error(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *path = at(w, "agent.json");
	struct sbx_keeper k;
	struct sbx_error e = { 0 };
	struct stat st;

	write_file(path, "{}");
	assert_int_equal(sbx_keeper_start(&k, &w->plan, &w->h, &e), -EEXIST);
	assert_int_equal(e.code, SBX_E_PATH_CHANGED);
	assert_non_null(strstr(e.message, "agent.json"));
	sbx_error_done(&e);
	/* nothing half-made, and the file as it was */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 2);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(standing(w), 0);
}

static void what_looks_alike_is_not_taken(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *path = at(w, ".git/empty");
	struct sbx_keeper k;
	struct sbx_error e = { 0 };

	write_file(path, "");
	assert_int_equal(sbx_keeper_start(&k, &w->plan, &w->h, &e), -EEXIST);
	sbx_error_done(&e);
	assert_int_equal(access(path, F_OK), 0);
}

static void links_are_not_followed(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *git = at(w, ".git");
	SBX_CLEANUP_FREE char *to = at(w, "elsewhere");
	SBX_CLEANUP_FREE char *made = at(w, "elsewhere/commondir");
	struct sbx_keeper k;
	struct sbx_error e = { 0 };

	assert_int_equal(rename(git, to), 0);
	assert_int_equal(symlink("elsewhere", git), 0);
	assert_true(sbx_keeper_start(&k, &w->plan, &w->h, &e) < 0);
	assert_int_equal(e.code, SBX_E_PATH_CHANGED);
	sbx_error_done(&e);
	assert_true(access(made, F_OK) < 0);
	assert_int_equal(standing(w), 0);
}

static void a_closed_directory_is_an_error_with_a_remedy(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *git = at(w, ".git");
	struct sbx_keeper k;
	struct sbx_error e = { 0 };

	if (geteuid() == 0) /* whom modes do not stop; a file does */
		assert_int_equal(rmdir(git), 0);
	else
		assert_int_equal(chmod(git, 0500), 0);
	assert_true(sbx_keeper_start(&k, &w->plan, &w->h, &e) < 0);
	assert_int_equal(e.code, SBX_E_RESERVE);
	assert_non_null(e.remedy);
	sbx_error_done(&e);
	if (geteuid() != 0)
		chmod(git, 0700);
	assert_int_equal(standing(w), 0);
}

/* A payload can open the directory: no lock that it has there is of any effect. */
static void a_lock_on_the_directory_means_nothing(void **state)
{
	static const int kinds[] = { LOCK_SH, LOCK_EX };
	struct world *w = *state;
	SBX_CLEANUP_FD int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct flock all = { .l_type = F_RDLCK };
	struct sbx_keeper k;

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(kinds); i++) {
		assert_int_equal(flock(fd, kinds[i]), 0);
		start(w, &k);
		assert_true(sbx_keeper_end(&k, 5000));
		assert_int_equal(standing(w), 0);
	}
}

/* As a keeper says that it removes. The caller closes what is returned. */
static int say_removing(const struct world *w)
{
	int fd = open(KEEPER_MEETING, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct flock l = { .l_type = F_RDLCK, .l_len = 1 };
	struct stat st;

	assert_int_equal(stat(w->dir, &st), 0);
	l.l_start = keeper_meeting_byte(&st) + 1;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &l), 0);
	return fd;
}

static void who_starts_waits_for_who_removes(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *path = at(w, places[0].rel);
	int fd = say_removing(w), status;
	struct sbx_keeper k;
	pid_t pid = fork();

	/* The lock goes with the child, which still has it. */
	if (pid == 0) {
		poll(NULL, 0, 200);
		_exit(access(path, F_OK) == 0);
	}
	close(fd);
	start(w, &k);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(standing(w), 0);
}

static void one_that_removes_for_ever_is_an_error(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FD int fd = say_removing(w);
	struct sbx_keeper k;
	struct sbx_error e = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(sbx_keeper_start(&k, &w->plan, &w->h, &e), -EBUSY);
	assert_int_equal(e.code, SBX_E_RESERVE);
	assert_non_null(e.remedy);
	sbx_error_done(&e);
	assert_int_equal(standing(w), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(they_stand_and_go),
		CASE(nothing_to_keep_needs_no_keeper),
		CASE(they_stand_as_long_as_pid_1),
		CASE(signals_do_not_end_it),
		CASE(the_last_one_removes_them),
		CASE(of_two_that_end_at_once_one_removes_them),
		CASE(what_a_killed_one_left_is_adopted),
		CASE(what_the_host_puts_there_stays),
		CASE(what_the_host_puts_in_its_place_stays),
		CASE(what_has_only_the_time_is_neither_taken_nor_removed),
		CASE(what_stands_is_told_by_kind_time_and_content),
		CASE(one_that_cannot_be_removed_keeps_its_mark),
		CASE(what_has_come_meanwhile_is_an_error),
		CASE(what_looks_alike_is_not_taken),
		CASE(links_are_not_followed),
		CASE(a_closed_directory_is_an_error_with_a_remedy),
		CASE(a_lock_on_the_directory_means_nothing),
		CASE(who_starts_waits_for_who_removes),
		CASE(one_that_removes_for_ever_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
