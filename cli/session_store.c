#include "session_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* How long one process waits for another's transaction: each takes a few fsyncs. */
#define BUSY_MS 30000
#define ID_TRIES 16

#define COLUMNS \
	"id, name, agent, workdir, sandbox, args, conversation, created, used, status"

/* ---- errors ---- */

/* What can be done about it, by sqlite's code. %s is the path. */
static const struct {
	int code, err;
	const char *remedy;
} remedies[] = {
	{ SQLITE_FULL, ENOSPC,
		"free some space on its file system; nothing was changed" },
	{ SQLITE_READONLY, EROFS,
		"make its directory writable (chmod u+w), or set XDG_STATE_HOME to one that is; "
		"nothing was changed" },
	{ SQLITE_CANTOPEN, EACCES,
		"make its directory writable (chmod u+w), or set XDG_STATE_HOME to one that is; "
		"nothing was changed" },
	{ SQLITE_BUSY, EBUSY,
		"another process has held it for half a minute: end it; nothing was changed" },
	{ SQLITE_NOTADB, EINVAL, "move it away; it is no database" },
	{ SQLITE_CORRUPT, EIO,
		"keep a copy, and save what can be read: sqlite3 FILE .recover" },
	{ SQLITE_IOERR, EIO, "look at the disk and the system log; nothing was changed" },
};

int session_store_fail(const struct session_store *s, struct sbx_error *e)
{
	int code = sqlite3_errcode(s->db) & 0xff;
	int err = EIO;
	const char *remedy = "keep a copy of it, and look what sqlite3 says about it";

	for (size_t i = 0; i < SBX_ARRAY_SIZE(remedies); i++)
		if (remedies[i].code == code) {
			err = remedies[i].err;
			remedy = remedies[i].remedy;
		}
	sbx_error_set(e, SBX_E_STORE, err, "store of sessions: '%s': %s", s->path,
		sqlite3_errmsg(s->db));
	sbx_error_remedy(e, "%s", remedy);
	return -err;
}

int session_store_exec(struct session_store *s, const char *sql, struct sbx_error *e)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : session_store_fail(s, e);
}

/* ---- opening ---- */

static int open_database(struct session_store *s, bool read_only, struct sbx_error *e)
{
	int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
		    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;

	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
		return session_store_fail(s, e);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* A file that somebody else may have made brings no code along. */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	/* EXTRA: also after a power cut a row that was acknowledged is there. */
	return session_store_exec(s, "PRAGMA synchronous = EXTRA", e);
}

int session_store_open(
	struct session_store **ret, enum session_access access, struct sbx_error *e)
{
	struct session_store *s = sbx_xcalloc(1, sizeof(*s));
	bool read_only = false;
	int r = session_file_find(s, access, &read_only, e);

	if (r > 0) {
		r = open_database(s, read_only, e);
		if (r == 0)
			r = session_schema_apply(s, e);
	}
	if (r < 0) {
		session_store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void session_store_close(struct session_store *s)
{
	if (s == NULL)
		return;
	sqlite3_close(s->db);
	free(s->dir);
	free(s->path);
	free(s);
}

/* ---- transactions ---- */

static int begin(struct session_store *s, struct sbx_error *e)
{
	return session_store_exec(s, "BEGIN IMMEDIATE", e);
}

static int end(struct session_store *s, int r, struct sbx_error *e)
{
	if (r == 0)
		r = session_store_exec(s, "COMMIT", e);
	if (r < 0 && !sqlite3_get_autocommit(s->db))
		session_store_exec(s, "ROLLBACK", NULL);
	return r;
}

static int prepare_statement(
	struct session_store *s, sqlite3_stmt **ret, const char *sql, struct sbx_error *e)
{
	return sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) == SQLITE_OK
		       ? 0
		       : session_store_fail(s, e);
}

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	if (text)
		sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, at);
}

/* ---- rows ---- */

static char *column(sqlite3_stmt *st, int at)
{
	const char *text = (const char *)sqlite3_column_text(st, at);

	return text ? sbx_xstrdup(text) : NULL;
}

static void read_row(sqlite3_stmt *st, struct session *ret)
{
	*ret = (struct session){
		.id = column(st, 0),
		.name = column(st, 1),
		.agent = column(st, 2),
		.workdir = column(st, 3),
		.sandbox = column(st, 4),
		.args = column(st, 5),
		.conversation = column(st, 6),
		.created = sqlite3_column_int64(st, 7),
		.used = sqlite3_column_int64(st, 8),
		.status = sqlite3_column_type(st, 9) == SQLITE_NULL
				  ? -1
				  : sqlite3_column_int(st, 9),
	};
}

static int unknown(const char *word, struct sbx_error *e)
{
	sbx_error_set(e, SBX_E_SESSION_UNKNOWN, ENOENT, "there is no session '%s'", word);
	sbx_error_remedy(e, "'sbx session list' shows them, by id and name");
	return -ENOENT;
}

int session_store_find(struct session_store *s, const char *word, struct session *ret,
	struct sbx_error *e)
{
	SESSION_STATEMENT st = NULL;
	int r;

	if (s->db == NULL)
		return unknown(word, e);
	r = prepare_statement(
		s, &st, "SELECT " COLUMNS " FROM session WHERE id = ?1 OR name = ?1", e);
	if (r < 0)
		return r;
	bind_text(st, 1, word);
	r = sqlite3_step(st);
	if (r == SQLITE_DONE)
		return unknown(word, e);
	if (r != SQLITE_ROW)
		return session_store_fail(s, e);
	read_row(st, ret);
	return 0;
}

int session_store_list(
	struct session_store *s, struct session **ret, size_t *ret_n, struct sbx_error *e)
{
	SESSION_STATEMENT st = NULL;
	struct session *rows = NULL;
	size_t n = 0;
	int r;

	if (s->db) {
		r = prepare_statement(s, &st,
			"SELECT " COLUMNS
			" FROM session ORDER BY used DESC, created DESC, rowid DESC",
			e);
		if (r < 0)
			return r;
		while ((r = sqlite3_step(st)) == SQLITE_ROW) {
			rows = sbx_xrealloc(rows, n + 1, sizeof(*rows));
			read_row(st, &rows[n++]);
		}
		if (r != SQLITE_DONE) {
			for (size_t i = 0; i < n; i++)
				session_done(&rows[i]);
			free(rows);
			return session_store_fail(s, e);
		}
	}
	*ret = rows;
	*ret_n = n;
	return 0;
}

static int name_is_free(struct session_store *s, const char *name, struct sbx_error *e)
{
	SESSION_STATEMENT st = NULL;
	int r = prepare_statement(s, &st, "SELECT id FROM session WHERE name = ?1", e);

	if (r < 0)
		return r;
	bind_text(st, 1, name);
	r = sqlite3_step(st);
	if (r == SQLITE_DONE)
		return 0;
	if (r != SQLITE_ROW)
		return session_store_fail(s, e);
	sbx_error_set(e, SBX_E_USAGE, EEXIST, "the name '%s' is taken by session %s",
		name, (const char *)sqlite3_column_text(st, 0));
	sbx_error_remedy(e, "take another, or: sbx session rm %s", name);
	return -EEXIST;
}

static int insert(struct session_store *s, struct session *row, struct sbx_error *e)
{
	SESSION_STATEMENT st = NULL;
	int r = prepare_statement(s, &st,
		"INSERT INTO session (" COLUMNS
		") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, "
		"NULL)",
		e);

	if (r < 0)
		return r;
	bind_text(st, 2, row->name);
	bind_text(st, 3, row->agent);
	bind_text(st, 4, row->workdir);
	bind_text(st, 5, row->sandbox);
	bind_text(st, 6, row->args ? row->args : "[]");
	bind_text(st, 7, row->conversation);
	sqlite3_bind_int64(st, 8, row->created);
	for (int i = 0; i < ID_TRIES; i++) {
		unsigned rnd;

		if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd))
			return sbx_error_set(e, SBX_E_SYSTEM, errno, "getrandom: %m");
		free(row->id);
		row->id = sbx_xasprintf("%08x", rnd);
		bind_text(st, 1, row->id);
		r = sqlite3_step(st);
		sqlite3_reset(st);
		if (r != SQLITE_CONSTRAINT)
			break;
	}
	return r == SQLITE_DONE ? 0 : session_store_fail(s, e);
}

int session_store_add(struct session_store *s, struct session *row, struct sbx_error *e)
{
	int r;

	row->created = row->used = time(NULL);
	row->status = -1;
	r = begin(s, e);
	if (r == 0 && row->name)
		r = name_is_free(s, row->name, e);
	if (r == 0)
		r = insert(s, row, e);
	return end(s, r, e);
}

/* One statement with up to two texts and one number; says how many rows it has changed. */
static int change(struct session_store *s, const char *sql, const char *const texts[2],
	const long long *number, struct sbx_error *e)
{
	SESSION_STATEMENT st = NULL;
	int r = prepare_statement(s, &st, sql, e);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++)
		if (i < sqlite3_bind_parameter_count(st))
			bind_text(st, i + 1, texts[i]);
	sqlite3_bind_int64(st, 3, time(NULL));
	if (number)
		sqlite3_bind_int64(st, 4, *number);
	if (sqlite3_step(st) != SQLITE_DONE)
		return session_store_fail(s, e);
	return sqlite3_changes(s->db);
}

static int remove_all(
	struct session_store *s, const struct sbx_strv *ids, struct sbx_error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ids->n; i++) {
		r = change(s, "DELETE FROM session WHERE id = ?1",
			(const char *[2]){ ids->v[i] }, NULL, e);
		r = r > 0 ? 0 : r; /* 0: it was named twice */
	}
	return r;
}

int session_store_remove(
	struct session_store *s, char *const *words, int n, struct sbx_error *e)
{
	struct sbx_strv ids = { 0 };
	int r;

	if (s->db == NULL)
		return unknown(words[0], e);
	r = begin(s, e);
	for (int i = 0; r == 0 && i < n; i++) {
		struct session row = { 0 };

		r = session_store_find(s, words[i], &row, e);
		if (r == 0) {
			sbx_strv_add(&ids, row.id);
			session_done(&row);
		}
	}
	if (r == 0)
		r = remove_all(s, &ids, e);
	sbx_strv_done(&ids);
	return end(s, r, e);
}

static int update(struct session_store *s, const char *sql, const char *id,
	const char *text, const long long *number, struct sbx_error *e)
{
	int r = begin(s, e);

	if (r == 0)
		r = change(s, sql, (const char *[2]){ id, text }, number, e);
	if (r == 0)
		r = unknown(id, e);
	return end(s, r > 0 ? 0 : r, e);
}

int session_store_begin(struct session_store *s, const char *id, const char *conversation,
	struct sbx_error *e)
{
	return update(s,
		"UPDATE session SET conversation = ?2, used = ?3, status = NULL WHERE id = ?1",
		id, conversation, NULL, e);
}

int session_store_end(
	struct session_store *s, const char *id, int status, struct sbx_error *e)
{
	long long number = status;

	return update(s, "UPDATE session SET used = ?3, status = ?4 WHERE id = ?1", id,
		NULL, &number, e);
}
