/* The store of sessions: its schemas, its file, and who else may be at it. */
#include "session_store.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct scene {
	char *root; /* XDG_STATE_HOME */
	char *dir, *path;
};

static int set_up(void **state)
{
	struct scene *s = sbx_xcalloc(1, sizeof(*s));

	s->root = t_mkdir();
	s->dir = sbx_path_join(s->root, "sbx");
	s->path = sbx_path_join(s->dir, "sessions.db");
	setenv("XDG_STATE_HOME", s->root, 1);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	t_rmdir(s->root);
	free(s->dir);
	free(s->path);
	free(s);
	return 0;
}

static struct session_store *opened(enum session_access access)
{
	struct session_store *store = NULL;
	struct sbx_error e = { 0 };

	if (session_store_open(&store, access, &e) < 0)
		fail_msg("%s", e.message);
	return store;
}

/* Refused with that code and word, and nothing on the disk has changed. */
static void refused(const struct scene *s, enum sbx_code code, const char *word)
{
	SBX_CLEANUP_FREE char *before = NULL, *after = NULL;
	size_t len = 0, now = 0;
	bool is_file = sbx_read_file(s->path, 1 << 20, &before, &len) == 0;

	for (int access = SESSION_READ; access <= SESSION_WRITE; access++) {
		struct session_store *store = NULL;
		struct sbx_error e = { 0 };

		assert_true(
			session_store_open(&store, (enum session_access)access, &e) < 0);
		assert_null(store);
		assert_int_equal(e.code, code);
		assert_non_null(e.remedy);
		if (strstr(e.message, word) == NULL)
			fail_msg("'%s' does not speak of '%s'", e.message, word);
		sbx_error_done(&e);
	}
	if (!is_file)
		return;
	assert_int_equal(sbx_read_file(s->path, 1 << 20, &after, &now), 0);
	assert_int_equal(now, len);
	assert_memory_equal(before, after, len);
}

static void add(struct session_store *store, const char *name, struct session *ret)
{
	struct session row = {
		.name = name ? sbx_xstrdup(name) : NULL,
		.agent = sbx_xstrdup("claude"),
		.workdir = sbx_xstrdup("/w"),
		.args = sbx_xstrdup("[\"-x\"]"),
	};
	struct sbx_error e = { 0 };

	if (session_store_add(store, &row, &e) < 0)
		fail_msg("%s", e.message);
	assert_int_equal(strlen(row.id), 8);
	*ret = row;
}

static size_t count(struct session_store *store)
{
	struct session *rows;
	size_t n;

	assert_int_equal(session_store_list(store, &rows, &n, NULL), 0);
	for (size_t i = 0; i < n; i++)
		session_done(&rows[i]);
	free(rows);
	return n;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* ---- rows ---- */

static void rows_come_back(void **state)
{
	struct session_store *store = opened(SESSION_WRITE);
	struct session row, back = { 0 };
	struct sbx_error e = { 0 };

	(void)state;
	add(store, "one", &row);
	assert_int_equal(session_store_find(store, "one", &back, &e), 0);
	assert_string_equal(back.id, row.id);
	assert_string_equal(back.agent, "claude");
	assert_string_equal(back.args, "[\"-x\"]");
	assert_null(back.sandbox);
	assert_null(back.conversation);
	assert_int_equal(back.status, -1);
	assert_true(back.created > 0 && back.created == back.used);
	session_done(&back);
	assert_int_equal(session_store_begin(store, row.id, "c", &e), 0);
	assert_int_equal(session_store_end(store, row.id, 143, &e), 0);
	assert_int_equal(session_store_find(store, row.id, &back, &e), 0);
	assert_int_equal(back.status, 143);
	assert_string_equal(back.conversation, "c");
	session_done(&back);
	assert_int_equal(session_store_begin(store, row.id, NULL, &e), 0);
	assert_int_equal(session_store_find(store, row.id, &back, &e), 0);
	assert_int_equal(back.status, -1);
	session_done(&back);
	assert_int_equal(session_store_find(store, "two", &back, &e), -ENOENT);
	assert_int_equal(e.code, SBX_E_SESSION_UNKNOWN);
	sbx_error_done(&e);
	assert_int_equal(session_store_end(store, "nothing", 0, &e), -ENOENT);
	sbx_error_done(&e);
	session_done(&row);
	session_store_close(store);
}

static void a_name_is_taken_once(void **state)
{
	struct session_store *store = opened(SESSION_WRITE);
	struct session row, second = { .name = sbx_xstrdup("x"),
		.agent = sbx_xstrdup("claude"),
		.workdir = sbx_xstrdup("/w") };
	struct sbx_error e = { 0 };

	(void)state;
	add(store, "x", &row);
	assert_int_equal(session_store_add(store, &second, &e), -EEXIST);
	assert_non_null(strstr(e.message, row.id));
	sbx_error_done(&e);
	assert_int_equal(count(store), 1);
	session_done(&row);
	session_done(&second);
	session_store_close(store);
}

static void all_are_removed_or_none(void **state)
{
	struct session_store *store = opened(SESSION_WRITE);
	struct session a, b, c;
	struct sbx_error e = { 0 };

	(void)state;
	add(store, "a", &a);
	add(store, "b", &b);
	add(store, "c", &c);
	assert_int_equal(session_store_remove(store,
				 (char *[]){ a.id, (char *)"b", (char *)"d" }, 3, &e),
		-ENOENT);
	assert_non_null(strstr(e.message, "'d'"));
	sbx_error_done(&e);
	assert_int_equal(count(store), 3);
	/* by id and by name: it is the same one */
	assert_int_equal(session_store_remove(store,
				 (char *[]){ a.id, (char *)"a", (char *)"c" }, 3, &e),
		0);
	assert_int_equal(count(store), 1);
	session_done(&a);
	session_done(&b);
	session_done(&c);
	session_store_close(store);
}

/* ---- the file ---- */

static void the_file_is_private(void **state)
{
	struct scene *s = *state;
	mode_t mask = umask(0);

	session_store_close(opened(SESSION_WRITE));
	umask(mask);
	assert_int_equal(mode_of(s->dir), 0700);
	assert_int_equal(mode_of(s->path), 0600);
	assert_int_equal(chmod(s->dir, 0755) | chmod(s->path, 0644), 0);
	session_store_close(opened(SESSION_READ));
	assert_int_equal(mode_of(s->dir), 0700);
	assert_int_equal(mode_of(s->path), 0600);
}

static void a_hostile_umask_does_not_lock_us_out(void **state)
{
	struct scene *s = *state;
	struct session_store *store;
	struct session row;
	mode_t mask;

	assert_int_equal(mkdir(s->dir, 0700), 0);
	mask = umask(0777);
	store = opened(SESSION_WRITE);
	umask(mask);
	assert_int_equal(mode_of(s->path), 0600);
	add(store, NULL, &row);
	session_done(&row);
	session_store_close(store);
}

static void reading_makes_nothing(void **state)
{
	struct scene *s = *state;
	struct session_store *store = opened(SESSION_READ);
	struct session row;

	assert_int_equal(count(store), 0);
	assert_int_equal(session_store_find(store, "x", &row, NULL), -ENOENT);
	assert_int_equal(
		session_store_remove(store, (char *[]){ (char *)"x" }, 1, NULL), -ENOENT);
	session_store_close(store);
	assert_int_equal(access(s->dir, F_OK), -1);
}

static void where_it_is(void **state)
{
	SBX_CLEANUP_FREE char *home = sbx_xstrdup(getenv("HOME") ? getenv("HOME") : "/");
	SBX_CLEANUP_FREE char *xdg = NULL, *dir = NULL, *relative = NULL;
	struct scene *s = *state;
	struct sbx_error e = { 0 };

	xdg = session_store_dir(&e);
	assert_string_equal(xdg, s->dir);
	setenv("XDG_STATE_HOME", "relative", 1);
	setenv("HOME", "/home/u", 1);
	relative = session_store_dir(&e);
	assert_string_equal(relative, "/home/u/.local/state/sbx");
	unsetenv("XDG_STATE_HOME");
	dir = session_store_dir(&e);
	assert_string_equal(dir, "/home/u/.local/state/sbx");
	setenv("HOME", "", 1);
	assert_null(session_store_dir(&e));
	assert_int_equal(e.code, SBX_E_HOME_INVALID);
	sbx_error_done(&e);
	unsetenv("HOME");
	assert_null(session_store_dir(&e));
	sbx_error_done(&e);
	setenv("HOME", home, 1);
}

static void put_file(const char *path, const void *data, size_t len)
{
	SBX_CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, data, len), 0);
}

static void what_others_may_write_to_is_refused(void **state)
{
	struct scene *s = *state;

	session_store_close(opened(SESSION_WRITE));
	assert_int_equal(chmod(s->dir, 0770), 0);
	refused(s, SBX_E_STORE, "others may write to the directory");
	assert_int_equal(chmod(s->dir, 0700) | chmod(s->path, 0602), 0);
	refused(s, SBX_E_STORE, "others may write to the file");
	assert_int_equal(chmod(s->path, 0600), 0);
	session_store_close(opened(SESSION_READ));
	if (geteuid() == 0) {
		assert_int_equal(chown(s->path, 12345, 0), 0);
		refused(s, SBX_E_STORE, "belongs to uid 12345");
		assert_int_equal(chown(s->dir, 12345, 0), 0);
		refused(s, SBX_E_STORE, "belongs to uid 12345");
	}
}

static void links_and_foreign_files_are_refused(void **state)
{
	struct scene *s = *state;
	SBX_CLEANUP_FREE char *other = sbx_path_join(s->root, "other");
	char junk[300];

	memset(junk, 'x', sizeof(junk));
	assert_int_equal(mkdir(s->dir, 0700), 0);
	put_file(other, junk, sizeof(junk));
	assert_int_equal(symlink(other, s->path), 0);
	refused(s, SBX_E_STORE, "a symbolic link");
	unlink(s->path);
	assert_int_equal(symlink("/nonexistent/x", s->path), 0);
	refused(s, SBX_E_STORE, "a symbolic link");
	unlink(s->path);
	put_file(s->path, junk, sizeof(junk));
	refused(s, SBX_E_STORE, "no database");
	put_file(s->path, "SQLite", 6);
	refused(s, SBX_E_STORE, "no database");
	unlink(s->path);
	assert_int_equal(mkfifo(s->path, 0600), 0);
	refused(s, SBX_E_STORE, "no regular file");
	unlink(s->path);
	assert_int_equal(rmdir(s->dir), 0);
	put_file(s->dir, "x", 1);
	refused(s, SBX_E_STORE, "cannot open the directory");
}

/* ---- schemas ---- */

static void make_database(const struct scene *s, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	mkdir(s->dir, 0700);
	assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
	assert_int_equal(chmod(s->path, 0600), 0);
}

/* As sbx wrote it when that was the schema; never to be changed. */
static const char schema_1[] =
	"PRAGMA application_id = 0x73627873;"
	"CREATE TABLE session (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE,"
	" agent TEXT NOT NULL, workdir TEXT NOT NULL, sandbox TEXT, created INTEGER NOT NULL,"
	" used INTEGER NOT NULL, status INTEGER) STRICT;"
	"INSERT INTO session VALUES"
	" ('00000001', 'plain', 'claude', '/a', NULL, 1000, 1001, NULL),"
	" ('00000002', 'boxed', 'codex', '/b', '{\"fs\":\"ro\",\"net\":\"off\"}', 1002, 1003, 7),"
	" ('00000003', 'odd', 'codex', '/c', '{\"fs\":\"sideways\"}', 1004, 1005, 0);"
	"PRAGMA user_version = 1;";

static void check_upgraded(struct session_store *store)
{
	struct session row;
	struct session_sandbox choice;
	struct sbx_error e = { 0 };

	assert_int_equal(count(store), 3);
	assert_int_equal(session_store_find(store, "plain", &row, &e), 0);
	assert_null(row.sandbox); /* what had none has none: never the other way round */
	assert_string_equal(row.args, "[]");
	assert_null(row.conversation);
	assert_int_equal(row.created, 1000);
	assert_int_equal(row.used, 1001);
	assert_int_equal(row.status, -1);
	session_done(&row);
	assert_int_equal(session_store_find(store, "boxed", &row, &e), 0);
	assert_int_equal(session_sandbox_parse(&choice, row.sandbox, &e), 0);
	assert_int_equal(choice.policy.fs, SBX_FS_RO);
	assert_int_equal(choice.policy.net, SBX_NET_OFF);
	assert_int_equal(choice.policy.profile, SBX_PROFILE_LENIENT);
	assert_true(choice.skip);
	assert_int_equal(row.status, 7);
	session_sandbox_done(&choice);
	session_done(&row);
	/* It is kept as it was, and stays a session with a sandbox, which cannot be read. */
	assert_int_equal(session_store_find(store, "odd", &row, &e), 0);
	assert_string_equal(row.sandbox, "{\"fs\":\"sideways\"}");
	session_done(&row);
}

static void schema_1_is_brought_up_to_date(void **state)
{
	struct scene *s = *state;
	struct session_store *store;
	struct session row;

	make_database(s, schema_1);
	store = opened(SESSION_READ);
	check_upgraded(store);
	session_store_close(store);
	store = opened(SESSION_WRITE);
	check_upgraded(store);
	add(store, "new", &row);
	session_done(&row);
	session_store_close(store);
}

static void two_processes_bring_it_up_to_date(void **state)
{
	enum { N = 8 };
	struct scene *s = *state;
	struct session_store *store;
	pid_t pids[N];

	make_database(s, schema_1);
	for (int i = 0; i < N; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(session_store_open(&store, SESSION_WRITE, NULL) < 0);
	}
	for (int i = 0; i < N; i++) {
		int st;

		assert_int_equal(waitpid(pids[i], &st, 0), pids[i]);
		assert_int_equal(st, 0);
	}
	store = opened(SESSION_READ);
	check_upgraded(store);
	session_store_close(store);
}

static void an_empty_file_is_a_new_store(void **state)
{
	struct scene *s = *state;
	struct session_store *store;

	mkdir(s->dir, 0700);
	put_file(s->path, "", 0);
	store = opened(SESSION_READ);
	assert_int_equal(count(store), 0);
	session_store_close(store);
}

/* A database whose writer was killed: with a log that whoever opens it folds in. */
static void leave_log(const struct scene *s, const char *sql)
{
	pid_t pid = fork();
	int st;

	if (pid == 0) {
		sqlite3 *db;

		if (sqlite3_open(s->path, &db) != SQLITE_OK ||
			sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_true(WIFSIGNALED(st));
}

/* Nor one with a write-ahead log, to which a mere look at it would do something. */
static void a_newer_schema_is_not_touched(void **state)
{
	struct scene *s = *state;
	SBX_CLEANUP_FREE char *log = sbx_xasprintf("%s-wal", s->path);

	make_database(s, "PRAGMA application_id = 0x73627873; CREATE TABLE other (x);"
			 "PRAGMA user_version = 3;");
	refused(s, SBX_E_STORE_VERSION, "schema 3");
	unlink(s->path);
	make_database(s, "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x73627873;"
			 "CREATE TABLE other (x); PRAGMA user_version = 99;");
	leave_log(s, "INSERT INTO other VALUES (hex(zeroblob(9000)));");
	assert_int_equal(access(log, F_OK), 0);
	refused(s, SBX_E_STORE_VERSION, "schema 99");
	assert_int_equal(access(log, F_OK), 0);
}

static void a_database_of_others_is_not_touched(void **state)
{
	struct scene *s = *state;

	make_database(s, "CREATE TABLE bookmarks (x); INSERT INTO bookmarks VALUES (1);");
	refused(s, SBX_E_STORE, "some other program");
}

/* ---- a crash ---- */

/* In the middle of a transaction whose pages are on the disk already. */
static void a_killed_writer_loses_nothing(void **state)
{
	struct scene *s = *state;
	SBX_CLEANUP_FREE char *journal = sbx_xasprintf("%s-journal", s->path);
	struct session_store *store = opened(SESSION_WRITE);
	struct session row;
	pid_t pid;
	int st;

	for (int i = 0; i < 50; i++) {
		add(store, NULL, &row);
		session_done(&row);
	}
	session_store_close(store);
	pid = fork();
	if (pid == 0) {
		sqlite3 *db;

		if (sqlite3_open(s->path, &db) != SQLITE_OK ||
			sqlite3_exec(db,
				"PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
				"UPDATE session SET workdir = hex(zeroblob(20000));",
				NULL, NULL, NULL) != SQLITE_OK)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_true(WIFSIGNALED(st));
	assert_int_equal(access(journal, F_OK), 0); /* it was in the middle */
	store = opened(SESSION_READ);
	assert_int_equal(count(store), 50);
	session_store_close(store);
	assert_int_equal(access(journal, F_OK), -1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rows_come_back),
		T(a_name_is_taken_once),
		T(all_are_removed_or_none),
		T(the_file_is_private),
		T(a_hostile_umask_does_not_lock_us_out),
		T(reading_makes_nothing),
		T(where_it_is),
		T(what_others_may_write_to_is_refused),
		T(links_and_foreign_files_are_refused),
		T(schema_1_is_brought_up_to_date),
		T(two_processes_bring_it_up_to_date),
		T(an_empty_file_is_a_new_store),
		T(a_newer_schema_is_not_touched),
		T(a_database_of_others_is_not_touched),
		T(a_killed_writer_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
