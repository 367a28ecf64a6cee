/* The New Session dialog: who is asked, and how. */
#pragma once

#include "dialog_model.h"
#include "options.h"

struct dialog_answers {
	char *words[2]; /* the agent; owned */
	struct sbx_strv args; /* of generic: sh -c COMMAND */
	char *workdir; /* owned */
	enum sbx_fs fs;
	enum sbx_net net;
	bool sandbox;
};

/* Asks, on a screen where the terminal has one, else line by line; o's work dir, fs, net and
 * sandbox are what is proposed. Returns 0 with *ret filled, the exit status when the user left it,
 * or -1 with e set. The caller ends *ret with dialog_answers_done(). */
int dialog_ask(struct dialog_answers *ret, const struct options *o, struct sbx_error *e);
void dialog_answers_done(struct dialog_answers *a);

/* ---- between its files ---- */

/* Would 'sbx session new' take it? What it says is for people. NULL: yes; else owned, and
 * *ret_field is the field that it is about. */
typedef char *dialog_check(
	const struct dialog *d, const struct options *o, enum dialog_field *ret_field);

/* What is wrong and how to mend it, in one line; ends e. Owned. */
char *dialog_sentence(struct sbx_error *e);
/* ~ and ~/x mean HOME. Owned. */
char *dialog_expand(const char *dir);

/* Draws and reads keys until it is left. 0: submitted and checked; 1: this terminal cannot show
 * it, and nothing was drawn; else the exit status. */
#define DIALOG_NO_SCREEN 1
int dialog_on_screen(struct dialog *d, const struct options *o, dialog_check *check);

/* Asks line by line on standard input and output. 0, or the exit status. */
int dialog_in_lines(struct dialog *d, const struct options *o, dialog_check *check);
