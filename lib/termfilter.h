/* What of a command's output may reach the user's terminal: text, colours, the cursor, whole
 * screens. Not what acts on the machine behind the screen (clipboard, files, printer, window,
 * title), nor questions whose answers would be typed with words of the command's choice.
 *
 * A pure state machine. What it passes is complete and well formed: a sequence that has not
 * ended, or that terminals disagree about, is held back or left out, so that the terminal and the
 * filter never differ in what they are reading. The terminal is taken to read UTF-8; the 8-bit
 * forms of the control characters, for which UTF-8 has no room, do not pass. */
#pragma once

#include "util.h"

#include <stdint.h>

enum sbx_term_kind {
	SBX_TERM_CONTROL, /* one control character; text is its name */
	SBX_TERM_ESC, /* ESC and the characters of text */
	SBX_TERM_CSI, /* ESC [ ... ; text: a mark of <=>? if there is one, then the end */
	SBX_TERM_OSC, /* ESC ] number ; ... ; text: the number, and the number after it */
	SBX_TERM_DCS, /* ESC P ... ; text: what stands after the numbers */
	SBX_TERM_STRING, /* another string up to ESC \; text: what follows ESC */
};

/* What is not in the table: CSI and ESC pass; control strings do not. */
struct sbx_term_row {
	enum sbx_term_kind kind;
	const char *text;
	const char *
		only; /* CSI: only with one of these first numbers, as " 11 13 "; or NULL */
	bool pass;
	const char *why;
};

const struct sbx_term_row *sbx_termfilter_rows(size_t *ret_n);

/* What a command may leave behind in the terminal, and that would hurt there. */
struct sbx_term_mode {
	const char *set,
		*reset; /* a CSI or ESC, named as in the rows; reset may be NULL */
	unsigned number; /* one of its numbers; 0: whatever they are */
	const char *undo; /* what takes it back */
	const char *why;
};

const struct sbx_term_mode *sbx_termfilter_modes(size_t *ret_n);

#define SBX_TERM_HOLD 256
/* Room for what may come out of n bytes: what was held, and an end for each string without. */
#define SBX_TERM_ROOM(n) (2 * (n) + SBX_TERM_HOLD + 4)

/* Zero-initialise. */
struct sbx_termfilter {
	int state;
	unsigned char hold[SBX_TERM_HOLD]; /* of a sequence that is not decided */
	size_t n;
	int more; /* bytes of a UTF-8 character that are to come */
	int skip; /* bytes to be left out */
	bool inside_esc; /* an ESC within a string, maybe its end */
	uint64_t hurting; /* modes by their place in the table */
	bool asks; /* something passed that terminals answer; the caller takes it off */
	unsigned
		reports; /* how often CSI 5 n passed, which all terminals answer in the same way */
};

/* Writes to out, which has room for SBX_TERM_ROOM(n) bytes, what of the n bytes at in passes.
 * Returns how many. */
size_t sbx_termfilter_run(struct sbx_termfilter *f, const char *in, size_t n, char *out);

/* What takes back all modes. */
#define SBX_TERM_UNDO 512

/* Writes what takes back the modes that were left behind; SBX_TERM_UNDO bytes at most. */
size_t sbx_termfilter_undo(struct sbx_termfilter *f, char *out);
