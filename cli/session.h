/* What the subcommands of 'sbx session' share. */
#pragma once

#include "cli.h"
#include "run.h"
#include "session_store.h"

/* From a row to what 'sbx run' would have been given. */
struct session_options {
	struct options o; /* borrows from the rest, and from the row */
	const struct sbx_agent *agent;
	struct session_sandbox sandbox;
	struct sbx_strv args; /* the recorded ones */
};

/* given is the command line of this run. The sandbox is the row's, to the letter. Returns 0, or -1
 * with e set; on success the caller ends *ret with session_options_done(). */
int session_options_make(struct session_options *ret, const struct options *given,
	const struct session *row, struct sbx_error *e);
void session_options_done(struct session_options *s);

/* A random UUID (version 4), owned. */
char *session_uuid(void);

/* Does the user say himself, in his arguments, which conversation it is to be? Returns the word,
 * borrowed, or NULL. */
const char *session_own_word(const struct sbx_agent *agent, char *const *args);

/* The agent's words with the id put in. */
void session_words(struct sbx_strv *ret, const char *const *words, const char *id);

/* Is a file of the conversation there? dir is where the agent keeps its conversations. */
bool session_is_kept(const struct sbx_agent *agent, const char *dir, const char *id);

/* Runs the agent of a row, which is there, with words before its arguments, and records begin and
 * end. Returns the exit status. */
int session_run(const struct session_options *s, struct session *row,
	const struct sbx_strv *words, struct run_end *ret);

/* Without a sandbox: says so, so that nobody can miss it. */
void session_warn_plain(const struct sbx_agent *agent);

/* Time as people write it, local; buf is returned. */
const char *session_time(long long t, char buf[32]);
