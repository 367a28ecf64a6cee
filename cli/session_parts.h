/* What the files of the store share. */
#pragma once

#include "session_store.h"

#include <sqlite3.h>

/* "sbxs", big-endian: PRAGMA application_id. */
#define SESSION_APPLICATION 0x73627873

struct session_store {
	sqlite3 *db; /* NULL: there is no store, and nothing was to be made */
	char *dir, *path; /* resolved */
};

/* ---- session_file.c: the file, before sqlite sees it ---- */

/* Finds or makes directory and file, and judges both and the file's header. Sets dir and path of
 * s. Returns 1; 0 when there is no file and access is SESSION_READ; a negative errno with e set.
 * *ret_read_only: the file can be read, but not written to. */
int session_file_find(struct session_store *s, enum session_access access,
	bool *ret_read_only, struct sbx_error *e);

/* ---- session_schema.c ---- */

/* Brings the database to SESSION_SCHEMA, in one transaction. */
int session_schema_apply(struct session_store *s, struct sbx_error *e);

/* ---- session_store.c ---- */

/* Sets e from sqlite's last error; returns the negative errno. */
int session_store_fail(const struct session_store *s, struct sbx_error *e);
int session_store_exec(struct session_store *s, const char *sql, struct sbx_error *e);

static inline void session_finalize(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}
#define SESSION_STATEMENT __attribute__((cleanup(session_finalize))) sqlite3_stmt *
