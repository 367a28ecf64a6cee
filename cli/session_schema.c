/* The schema and its history. A step is never changed once it was released: a new one is added,
 * SESSION_SCHEMA counts up, and a test makes a database of the version before by hand. */
#include "session_parts.h"

#include <errno.h>
#include <string.h>

/* 1: the minimum. The sandbox choice is {"fs", "net"} or NULL. */
static const char schema_1[] =
	"PRAGMA application_id = 1935833203;" /* SESSION_APPLICATION */
	"CREATE TABLE session ("
	" id TEXT NOT NULL PRIMARY KEY,"
	" name TEXT UNIQUE,"
	" agent TEXT NOT NULL,"
	" workdir TEXT NOT NULL,"
	" sandbox TEXT," /* NULL: not sandboxed */
	" created INTEGER NOT NULL,"
	" used INTEGER NOT NULL,"
	" status INTEGER" /* NULL: no run has ended */
	") STRICT;";

/* 2: what resume needs to rebuild the same sandbox: the choice names profile, binds, variables
 * and the rest (session_sandbox_upgrade()), and there are the arguments and the conversation. */
static const char schema_2[] =
	"ALTER TABLE session ADD COLUMN args TEXT NOT NULL DEFAULT '[]';"
	"ALTER TABLE session ADD COLUMN conversation TEXT;";

static int upgrade_choices(struct session_store *s, struct sbx_error *e)
{
	SESSION_STATEMENT get = NULL;
	SESSION_STATEMENT set = NULL;
	int r;

	if (sqlite3_prepare_v2(s->db,
		    "SELECT rowid, sandbox FROM session WHERE sandbox IS NOT NULL", -1,
		    &get, NULL) != SQLITE_OK ||
		sqlite3_prepare_v2(s->db,
			"UPDATE session SET sandbox = ?2 WHERE rowid = ?1", -1, &set,
			NULL) != SQLITE_OK)
		return session_store_fail(s, e);
	while ((r = sqlite3_step(get)) == SQLITE_ROW) {
		SBX_CLEANUP_FREE char *text = session_sandbox_upgrade(
			(const char *)sqlite3_column_text(get, 1));

		/* One that makes no sense stays, and is refused when it is used. */
		if (text == NULL)
			continue;
		sqlite3_bind_int64(set, 1, sqlite3_column_int64(get, 0));
		sqlite3_bind_text(set, 2, text, -1, SQLITE_STATIC);
		if (sqlite3_step(set) != SQLITE_DONE)
			return session_store_fail(s, e);
		sqlite3_reset(set);
	}
	return r == SQLITE_DONE ? 0 : session_store_fail(s, e);
}

/* steps[n] leads from schema n to n + 1. */
static const struct {
	const char *sql;
	int (*rows)(struct session_store *s, struct sbx_error *e);
	const char *done;
} steps[SESSION_SCHEMA] = {
	{ schema_1, NULL, "PRAGMA user_version = 1" },
	{ schema_2, upgrade_choices, "PRAGMA user_version = 2" },
};

static int version_of(struct session_store *s, int *ret, struct sbx_error *e)
{
	SESSION_STATEMENT st = NULL;

	if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL) !=
			SQLITE_OK ||
		sqlite3_step(st) != SQLITE_ROW)
		return session_store_fail(s, e);
	*ret = sqlite3_column_int(st, 0);
	return 0;
}

static int climb(struct session_store *s, struct sbx_error *e)
{
	int version = 0, r = version_of(s, &version, e);

	for (int v = version; r == 0 && v < SESSION_SCHEMA; v++) {
		r = session_store_exec(s, steps[v].sql, e);
		if (r == 0 && steps[v].rows)
			r = steps[v].rows(s, e);
		if (r == 0)
			r = session_store_exec(s, steps[v].done, e);
	}
	return r;
}

int session_schema_apply(struct session_store *s, struct sbx_error *e)
{
	int version = 0, r = version_of(s, &version, e);

	/* A newer one was refused by its header; this is for one that has changed since. */
	if (r == 0 && (version < 0 || version > SESSION_SCHEMA)) {
		r = sbx_error_set(e, SBX_E_STORE_VERSION, EPROTO,
			"store of sessions: '%s' has schema %d, and this sbx knows %d at most",
			s->path, version, SESSION_SCHEMA);
		sbx_error_remedy(e, "use the newer sbx that wrote it");
	}
	if (r < 0 || version == SESSION_SCHEMA)
		return r;
	r = session_store_exec(s, "BEGIN IMMEDIATE", e);
	if (r == 0)
		r = climb(s,
			e); /* which asks again: another process may have been faster */
	if (r == 0)
		r = session_store_exec(s, "COMMIT", e);
	if (r < 0 && !sqlite3_get_autocommit(s->db))
		session_store_exec(s, "ROLLBACK", NULL);
	return r;
}
