/* Placeholders: they stand while a sandbox lives, and no longer, however it ends. */
#include "keeper.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
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

/* Nothing of anybody else's is removed or taken. */
static void what_the_host_puts_there_stays(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FREE char *in = at(w, ".agent/settings.json");
	SBX_CLEANUP_FREE char *file = at(w, ".git/empty");
	struct sbx_keeper k;

	start(w, &k);
	write_file(in, "{}");
	write_file(file, "mine\n");
	assert_true(sbx_keeper_end(&k, 5000));
	assert_int_equal(access(in, F_OK), 0);
	assert_int_equal(access(file, F_OK), 0);
}

/* Its time alone does not make a file ours: one with a content of its own is not removed. */
static void a_file_of_that_time_with_another_content_stays(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 500000000 },
		{ .tv_sec = 500000000 } };
	static const char *const texts[] = { "x\n", ".\nx" }; /* as long, and longer */
	struct world *w = *state;
	SBX_CLEANUP_FREE char *path = at(w, ".git/commondir");
	struct sbx_keeper k;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(texts); i++) {
		write_file(path, texts[i]);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		start(w, &k);
		assert_true(sbx_keeper_end(&k, 5000));
		assert_int_equal(access(path, F_OK), 0);
		assert_int_equal(unlink(path), 0);
	}
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

/* Another program's lock on the directory holds it up, but not for ever. */
static void a_lock_that_stays_is_an_error(void **state)
{
	struct world *w = *state;
	SBX_CLEANUP_FD int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sbx_keeper k;
	struct sbx_error e = { 0 };

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(sbx_keeper_start(&k, &w->plan, &w->h, &e), -EBUSY);
	assert_int_equal(e.code, SBX_E_RESERVE);
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
		CASE(what_a_killed_one_left_is_adopted),
		CASE(what_the_host_puts_there_stays),
		CASE(a_file_of_that_time_with_another_content_stays),
		CASE(what_has_come_meanwhile_is_an_error),
		CASE(what_looks_alike_is_not_taken),
		CASE(links_are_not_followed),
		CASE(a_closed_directory_is_an_error_with_a_remedy),
		CASE(a_lock_that_stays_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
