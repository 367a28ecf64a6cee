/* The store of sessions: one sqlite database, $XDG_STATE_HOME/sbx/sessions.db.
 *
 * Whoever can write to it decides that a session is resumed without a sandbox. So its directory
 * is the user's own (0700), the file too (0600), no link is followed to it, and prepare() shows
 * neither to a sandbox.
 *
 * Every change is one transaction behind a rollback journal (docs/sessions.md says why no WAL):
 * after a kill at any moment a row is there as it was before or as it is after. */
#pragma once

#include "session_row.h"

struct session_store;

enum session_access {
	SESSION_READ, /* nothing is made; no store is an empty one */
	SESSION_WRITE, /* makes directory and database when they are not there */
};

/* The schema that this sbx writes; PRAGMA user_version. */
#define SESSION_SCHEMA 2

/* $XDG_STATE_HOME/sbx, or ~/.local/state/sbx; owned. Nothing is looked at. NULL with e set when
 * HOME is no use. */
char *session_store_dir(struct sbx_error *e);

/* Opens it, and brings an older schema up to date. One that a newer sbx has written is refused
 * and not touched. On success the caller ends *ret with session_store_close(). */
int session_store_open(
	struct session_store **ret, enum session_access access, struct sbx_error *e);
void session_store_close(struct session_store *s);

/* Adds a row, whose id is made up and set in *row. -EEXIST with e set: the name is taken. */
int session_store_add(struct session_store *s, struct session *row, struct sbx_error *e);

/* The row with that id or name; the caller ends *ret with session_done(). -ENOENT with e set. */
int session_store_find(struct session_store *s, const char *word, struct session *ret,
	struct sbx_error *e);

/* All rows, the last used first; the caller ends each, and frees *ret. */
int session_store_list(struct session_store *s, struct session **ret, size_t *ret_n,
	struct sbx_error *e);

/* Removes those that the words name: all, or, when one is not known, none. */
int session_store_remove(
	struct session_store *s, char *const *words, int n, struct sbx_error *e);

/* A run of the session begins now, with that conversation (NULL: none). */
int session_store_begin(struct session_store *s, const char *id, const char *conversation,
	struct sbx_error *e);
/* It has ended now, with that exit status. -ENOENT with e set: somebody has removed it. */
int session_store_end(
	struct session_store *s, const char *id, int status, struct sbx_error *e);
