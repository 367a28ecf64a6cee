/* The New Session dialog without a screen: a key goes in, a state comes out. Pure: nothing here
 * reads the machine or draws. dialog_screen.c draws it, dialog_plain.c asks it line by line. */
#pragma once

#include "sbx.h"

enum dialog_field {
	DIALOG_AGENT,
	DIALOG_COMMAND, /* of generic, which has none of its own */
	DIALOG_DIR,
	DIALOG_SANDBOX,
	DIALOG_FS,
	DIALOG_NET,
	DIALOG_START,
	DIALOG_CANCEL,
	_DIALOG_MAX,
};

/* Keys that are no text; text comes as bytes 32 to 255. */
enum dialog_key {
	DIALOG_KEY_NEXT = 256, /* Tab, Down */
	DIALOG_KEY_PREVIOUS, /* Shift-Tab, Up */
	DIALOG_KEY_LEFT,
	DIALOG_KEY_RIGHT,
	DIALOG_KEY_HOME,
	DIALOG_KEY_END,
	DIALOG_KEY_BACKSPACE,
	DIALOG_KEY_DELETE,
	DIALOG_KEY_KILL, /* Ctrl-U: the whole line */
	DIALOG_KEY_ENTER,
	DIALOG_KEY_CANCEL, /* Escape, Ctrl-C */
};

#define DIALOG_TEXT_MAX 4096

/* A line of UTF-8 that is edited; at is a byte offset, never within a character. */
struct dialog_text {
	char s[DIALOG_TEXT_MAX];
	size_t len, at;
};

struct dialog_agent {
	const char *name; /* borrowed */
	bool found; /* its program is on this machine */
};

enum dialog_outcome {
	DIALOG_OPEN,
	DIALOG_SUBMITTED, /* to be checked; dialog_refuse() opens it again */
	DIALOG_CANCELLED,
};

struct dialog {
	struct dialog_agent *agents; /* those found first; owned */
	size_t n_agents, agent;
	struct dialog_text command, dir;
	bool sandbox;
	char *unavailable; /* why no sandbox can be had here; NULL: it can; owned */
	char *mend; /* how to mend that, or NULL; owned */
	enum sbx_fs fs;
	bool net;
	enum dialog_field focus;
	char *error; /* of the last attempt, until something is changed; owned */
	enum dialog_outcome outcome;
};

/* Fills the agents (found by name), and the defaults: sandboxed when unavailable is NULL, rw, net
 * on, the directory. All strings are copied but the names. */
void dialog_init(struct dialog *d, const struct dialog_agent *agents, size_t n,
	const char *dir, const char *unavailable, const char *mend);
void dialog_done(struct dialog *d);

/* The one way to change it. Does nothing once it is no longer open. */
void dialog_key(struct dialog *d, int key);

/* What was submitted is wrong: it is open again, with the reason, at that field. */
void dialog_refuse(struct dialog *d, enum dialog_field field, const char *error);

/* Is the field there, and may it be changed? The switch is there, but not to be changed, where no
 * sandbox can be had. */
bool dialog_is_shown(const struct dialog *d, enum dialog_field field);
bool dialog_is_enabled(const struct dialog *d, enum dialog_field field);

void dialog_text_set(struct dialog_text *t, const char *s);
/* The part of it that fits into so many columns with the cursor in it: where it starts, and how
 * many characters are before the cursor from there. One column a character. */
size_t dialog_text_window(
	const struct dialog_text *t, size_t columns, size_t *ret_cursor);
