#include "termfilter.h"

#include <stdio.h>
#include <string.h>

#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a
#define ESC 0x1b

#define HOST "acts on the machine, not on the screen"
#define ECHOES "the answer is typed as input, with words that the question has chosen"
#define TUI \
	"full-screen programs ask it to choose colours; the answer has no words of theirs"
#define COLOUR "the screen's own colour"

/* clang-format off: a table, one thing a line */
static const struct sbx_term_row rows[] = {
	{ SBX_TERM_CONTROL, "\005", NULL, false,
		"ENQ: typed as input is what the user has set as answer" },

	{ SBX_TERM_ESC, "%G", NULL, true, "UTF-8, which it is already" },
	{ SBX_TERM_ESC, "%*", NULL, false,
		"no UTF-8 any more: what is a letter here would be a control there" },
	{ SBX_TERM_ESC, " G", NULL, false,
		"8-bit controls in answers, which no program reads" },

	{ SBX_TERM_CSI, "t", " 11 13 14 15 16 18 19 22 23 ", true,
		"state and size of the window, in numbers: programs that draw pictures ask; 22 and 23 keep a title that nothing changes" },
	{ SBX_TERM_CSI, "t", NULL, false,
		"moves, sizes, hides the window; 20 and 21 type its title as input" },
	{ SBX_TERM_CSI, ">t", NULL, false, "how titles are told" },
	{ SBX_TERM_CSI, "i", NULL, false, "prints" },
	{ SBX_TERM_CSI, "?i", NULL, false, "prints" },
	{ SBX_TERM_CSI, "*y", NULL, false,
		"sums of what is on the screen: reads what others wrote there" },
	{ SBX_TERM_CSI, "*z", NULL, false, "runs a macro, which may be a question" },
	{ SBX_TERM_CSI, "?l", " 2 ", false,
		"VT52: sequences would mean something else from here on" },
	{ SBX_TERM_CSI, "?h", " 1042 1043 ", false,
		"calls for attention on the desktop, raises the window" },
	{ SBX_TERM_CSI, "?h", " 38 ", false,
		"another terminal, with a language of its own" },
	{ SBX_TERM_CSI, "?s", NULL, false, "keeps modes, so that ?r" },
	{ SBX_TERM_CSI, "?r", NULL, false,
		"brings modes back, unseen: none is taken back then" },

	{ SBX_TERM_OSC, "0", NULL, false,
		"the title stays when the command is gone, and other programs read it" },
	{ SBX_TERM_OSC, "1", NULL, false, "as 0" },
	{ SBX_TERM_OSC, "2", NULL, false, "as 0" },
	{ SBX_TERM_OSC, "4", NULL, true, TUI },
	{ SBX_TERM_OSC, "5", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "7", NULL, false,
		"tells the terminal in which directory to start the next shell" },
	{ SBX_TERM_OSC, "8", NULL, true,
		"a link on the screen; nothing is opened before the user does" },
	{ SBX_TERM_OSC, "9;4", NULL, true, "how far it is, in a bar" },
	{ SBX_TERM_OSC, "9", NULL, false,
		"a message of the desktop's; in some terminals commands" },
	{ SBX_TERM_OSC, "10", NULL, true, TUI },
	{ SBX_TERM_OSC, "11", NULL, true, TUI },
	{ SBX_TERM_OSC, "12", NULL, true, TUI },
	{ SBX_TERM_OSC, "17", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "19", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "22", NULL, true, "the shape of the pointer" },
	{ SBX_TERM_OSC, "50", NULL, false, "the font: " ECHOES },
	{ SBX_TERM_OSC, "52", NULL, false, "reads and writes the clipboard" },
	{ SBX_TERM_OSC, "99", NULL, false, "a message of the desktop's" },
	{ SBX_TERM_OSC, "104", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "105", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "110", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "111", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "112", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "117", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "119", NULL, true, COLOUR },
	{ SBX_TERM_OSC, "133", NULL, true, "marks a prompt on the screen" },
	{ SBX_TERM_OSC, "633", NULL, false,
		"tells an editor which command was run, and in which directory" },
	{ SBX_TERM_OSC, "777", NULL, false, "a message of the desktop's; extensions" },
	{ SBX_TERM_OSC, "1337", NULL, false,
		"saves files, fills the clipboard, opens addresses" },

	{ SBX_TERM_DCS, "q", NULL, true, "a picture, in sixels" },
	{ SBX_TERM_DCS, "$q", NULL, false, "a setting: " ECHOES " in old terminals" },
	{ SBX_TERM_DCS, "+q", NULL, false, "what the terminal can: " ECHOES },
	{ SBX_TERM_DCS, "|", NULL, false, "what keys type" },
	{ SBX_TERM_DCS, "!z", NULL, false, "a macro" },
	{ SBX_TERM_DCS, "t", NULL, false,
		"tmux: passes on what it holds, to the terminal around it" },

	{ SBX_TERM_STRING, "_", NULL, false, "kitty: opens, and removes, files by name" },
	{ SBX_TERM_STRING, "^", NULL, false, HOST },
	{ SBX_TERM_STRING, "X", NULL, false, HOST },
	{ SBX_TERM_STRING, "k", NULL, false, "screen: a title" },
};

static const struct sbx_term_mode modes[] = {
	{ "?l", "?h", 25, "\033[?25h", "no cursor" },
	{ "?h", "?l", 1049, "\033[?1049l", "the shell's screen is hidden" },
	{ "?h", "?l", 1047, "\033[?1047l", "likewise" },
	{ "?h", "?l", 47, "\033[?47l", "likewise" },
	{ "?h", "?l", 9, "\033[?9l", "a click is typed as input" },
	{ "?h", "?l", 1000, "\033[?1000l", "likewise" },
	{ "?h", "?l", 1002, "\033[?1002l", "likewise" },
	{ "?h", "?l", 1003, "\033[?1003l", "each move of the mouse is typed as input" },
	{ "?h", "?l", 1005, "\033[?1005l", "how it is typed" },
	{ "?h", "?l", 1006, "\033[?1006l", "likewise" },
	{ "?h", "?l", 1015, "\033[?1015l", "likewise" },
	{ "?h", "?l", 1016, "\033[?1016l", "likewise" },
	{ "?h", "?l", 1004, "\033[?1004l",
		"each change of the window is typed as input" },
	{ "?h", "?l", 2004, "\033[?2004l", "what is pasted comes in marks" },
	{ "?h", "?l", 2031, "\033[?2031l", "changes of colour are typed as input" },
	{ "?h", "?l", 2026, "\033[?2026l", "nothing is drawn" },
	{ "?h", "?l", 2048, "\033[?2048l", "changes of size are typed as input" },
	{ "?h", "?l", 1, "\033[?1l", "cursor keys type something else" },
	{ "?l", "?h", 7, "\033[?7h", "long lines end at the edge" },
	{ "?h", "?l", 1001, "\033[?1001l", "the mouse waits for an answer" },
	{ "?h", "?l", 5522, "\033[?5522l", "what is pasted is announced as input" },
	{ "?h", "?l", 9001, "\033[?9001l", "keys are typed as numbers" },
	{ "?h", "?l", 1337, "\033[?1337l", "keys are typed again when they are let go" },
	{ "?h", "?l", 66, "\033[?66l", "keys type something else" },
	{ "?h", "?l", 67, "\033[?67l", "likewise" },
	{ "?l", "?h", 8, "\033[?8h", "keys do not repeat" },
	{ "?h", "?l", 5, "\033[?5l", "black is white" },
	{ "?h", "?l", 6, "\033[?6l", "the cursor counts from another corner" },
	{ "?h", "?l", 69, "\033[?69l", "margins" },
	{ "h", "l", 2, "\033[2l", "the keyboard is locked" },
	{ "h", "l", 4, "\033[4l", "what is written moves the rest aside" },
	{ "l", "h", 12, "\033[12h", "what is typed is shown twice" },
	{ "h", "l", 20, "\033[20l", "the return key types two characters" },
	/* Of a stack: how many there are is not counted. */
	{ ">u", NULL, 0, "\033[<9u", "keys type something else" },
	{ "=u", NULL, 0, "\033[=0;1u", "likewise" },
	{ ">m", NULL, 0, "\033[>0m\033[>1m\033[>2m\033[>3m\033[>4m\033[>6m\033[>7m",
		"likewise" },
	{ ">n", NULL, 0, "\033[>1m\033[>2m\033[>4m", "likewise" },
	{ "=", ">", 0, "\033>", "likewise" },
};
/* clang-format on */

/* CSI that terminals answer. What else passes with a question mark in a string, too. */
static const char *const questions[] = { "n", "?n", "c", ">c", "=c", "?u", ">q", "t",
	"$p", "?$p", "x", "?S", "$u", "$w", "&u", "'|" };

/* How many numbers every terminal reads. */
#define NUMBERS_READ 16

const struct sbx_term_row *sbx_termfilter_rows(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(rows);
	return rows;
}

const struct sbx_term_mode *sbx_termfilter_modes(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(modes);
	return modes;
}

enum state {
	GROUND,
	ESCAPE, /* ESC, and characters between it and the end */
	CSI,
	CSI_DROP, /* one that is not well formed, to its end */
	HEAD, /* a control string, not decided */
	PASS, /* one that passes */
	DROP, /* one that does not */
};

/* One sequence, as the table names it. */
struct named {
	char key[8];
	unsigned long num[32];
	size_t n_num;
	bool parts; /* some are parts of others, by a colon */
};

/* ---- looking it up ---- */

static bool text_matches(const char *text, const char *key)
{
	size_t n = strlen(text);

	return text[n - 1] == '*' ? strncmp(text, key, n - 1) == 0
				  : strcmp(text, key) == 0;
}

static bool listed(const char *list, unsigned long number)
{
	char word[32];

	snprintf(word, sizeof(word), " %lu ", number);
	return strstr(list, word) != NULL;
}

/* To pass, the first number must be on the list, which says what it is about, and have no parts;
 * to be kept out, any. */
static bool numbers_match(const struct sbx_term_row *row, const struct named *s)
{
	if (row->only == NULL)
		return true;
	if (row->pass)
		return !s->parts && listed(row->only, s->num[0]);
	for (size_t i = 0; i < s->n_num; i++)
		if (listed(row->only, s->num[i]))
			return true;
	return false;
}

static const struct sbx_term_row *find(enum sbx_term_kind kind, const struct named *s)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++)
		if (rows[i].kind == kind && text_matches(rows[i].text, s->key) &&
			numbers_match(&rows[i], s))
			return &rows[i];
	return NULL;
}

/* Marks, numbers and end of a held CSI or DCS. False: it is not well formed, or terminals might
 * read a number differently. */
static bool name_it(const unsigned char *p, size_t n, struct named *ret)
{
	struct named s = { .n_num = 1 };
	size_t k = 0, i = 0;

	if (i < n && p[i] >= '<' && p[i] <= '?')
		s.key[k++] = (char)p[i++];
	for (; i < n && p[i] >= '0' && p[i] <= ';'; i++) {
		if (p[i] >= ':' && s.n_num == SBX_ARRAY_SIZE(s.num))
			return false;
		s.parts |= p[i] == ':';
		if (p[i] >= ':')
			s.n_num++;
		else
			s.num[s.n_num - 1] = 10 * s.num[s.n_num - 1] + (p[i] - '0');
		if (s.num[s.n_num - 1] > 65535)
			return false;
	}
	for (; i < n; i++) {
		if (k + 1 == sizeof(s.key) || (p[i] >= '0' && p[i] <= '?'))
			return false;
		s.key[k++] = (char)p[i];
	}
	*ret = s;
	return true;
}

/* A mode counts as set wherever its number stands, and as reset only where every terminal reads
 * it so. */
static void note_modes(struct sbx_termfilter *f, const struct named *s)
{
	for (size_t m = 0; m < SBX_ARRAY_SIZE(modes); m++)
		for (size_t i = 0; i < s->n_num; i++) {
			if (modes[m].number && s->num[i] != modes[m].number)
				continue;
			if (strcmp(s->key, modes[m].set) == 0)
				f->hurting |= UINT64_C(1) << m;
			else if (modes[m].reset && !s->parts && i < NUMBERS_READ &&
				 strcmp(s->key, modes[m].reset) == 0)
				f->hurting &= ~(UINT64_C(1) << m);
		}
}

static void note_questions(struct sbx_termfilter *f, const struct named *s)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(questions); i++)
		f->asks |= strcmp(s->key, questions[i]) == 0;
	f->reports += strcmp(s->key, "n") == 0 && s->num[0] == 5;
}

/* ---- what comes out ---- */

static char *put(char *out, const void *p, size_t n)
{
	memcpy(out, p, n);
	return out + n;
}

static char *release(struct sbx_termfilter *f, char *out)
{
	out = put(out, f->hold, f->n);
	f->n = 0;
	return out;
}

static void restart(struct sbx_termfilter *f, enum state state)
{
	f->state = (int)state;
	f->n = 0;
	f->inside_esc = false;
	f->more = 0;
}

/* Held in hold: it goes on. False: it has become too long. */
static bool keep(struct sbx_termfilter *f, unsigned char c)
{
	if (f->n == sizeof(f->hold))
		return false;
	f->hold[f->n++] = c;
	return true;
}

/* A byte of 0x80 and more. Characters pass; U+0080 to U+009F, which are controls, do not, nor
 * does what can only be a control of 8 bits. more is -1 after 0xC2, which may begin one. */
static char *high(struct sbx_termfilter *f, unsigned char c, char *out)
{
	bool continues = c < 0xc0;
	int more = f->more;

	f->more = 0;
	if (more == -1 && continues)
		return c < 0xa0 ? out : put(out, (const unsigned char[]){ 0xc2, c }, 2);
	if (more > 0 && continues)
		f->more = more - 1;
	else if (c == 0xc2)
		f->more = -1;
	else if (!continues)
		f->more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	else if (c < 0xa0)
		return out;
	return f->more == -1 ? out : put(out, &c, 1);
}

/* ---- the states ---- */

static char *ground(struct sbx_termfilter *f, unsigned char c, char *out)
{
	const struct named s = { .key = { (char)c } };
	const struct sbx_term_row *row;

	if (c >= 0x80)
		return high(f, c, out);
	f->more = 0;
	if (c == ESC) {
		restart(f, ESCAPE);
		keep(f, c);
		return out;
	}
	row = c < ' ' && c ? find(SBX_TERM_CONTROL, &s) : NULL;
	return row && !row->pass ? out : put(out, &c, 1);
}

/* Terminals obey controls within a sequence at once; so they come first. False: c is none. */
static bool control(struct sbx_termfilter *f, unsigned char c, char **out)
{
	if (c >= ' ' && c < 0x7f)
		return false;
	if (c >= 0x80 || c == CAN || c == SUB || c == ESC)
		restart(f, GROUND);
	if (c != 0x7f && c != CAN && c != SUB)
		*out = ground(f, c, *out);
	return true;
}

static void begin_string(struct sbx_termfilter *f, unsigned char c)
{
	f->state = c == ']' || c == 'P' ? HEAD : DROP;
	f->inside_esc = false;
	f->more = 0;
}

static char *escape(struct sbx_termfilter *f, unsigned char c, char *out)
{
	const struct sbx_term_row *row;
	struct named s = { .n_num = 1 };

	if (control(f, c, &out))
		return out;
	if (!keep(f, c) || f->n > sizeof(s.key)) {
		restart(f, GROUND);
	} else if (f->n == 2 && c == '[') {
		f->state = CSI;
	} else if (f->n == 2 && strchr("]P_^Xk", c)) {
		begin_string(f, c);
	} else if (c >= '0') {
		memcpy(s.key, f->hold + 1, f->n - 1);
		row = find(SBX_TERM_ESC, &s);
		note_modes(f, &s);
		f->asks |= strcmp(s.key, "Z") == 0;
		if (strcmp(s.key, "c") == 0)
			f->hurting = 0;
		if (row == NULL || row->pass)
			out = release(f, out);
		restart(f, GROUND);
	}
	return out;
}

static char *csi(struct sbx_termfilter *f, unsigned char c, char *out)
{
	const struct sbx_term_row *row;
	struct named s;

	if (control(f, c, &out))
		return out;
	if (f->state == CSI && !keep(f, c))
		f->state = CSI_DROP;
	if (c < '@')
		return out;
	if (f->state == CSI && name_it(f->hold + 2, f->n - 2, &s)) {
		row = find(SBX_TERM_CSI, &s);
		if (row == NULL || row->pass) {
			note_modes(f, &s);
			note_questions(f, &s);
			out = release(f, out);
		}
	}
	restart(f, GROUND);
	return out;
}

/* What is known of an OSC: -1 not enough, else whether it passes. ended: there is no more. */
static int judge_osc(const struct sbx_termfilter *f, bool ended)
{
	struct named s = { .n_num = 1 };
	size_t n = 0, fields = 0;
	const struct sbx_term_row *row;

	for (; n < f->n - 2; n++) {
		if (n + 1 == sizeof(s.key))
			return false;
		s.key[n] = (char)f->hold[2 + n];
		if (s.key[n] != ';' && (s.key[n] < '0' || s.key[n] > '9'))
			return false;
		fields += s.key[n] == ';';
	}
	if (fields == 0 && !ended)
		return -1;
	/* Of one number only 9 needs another to be told what it is about. */
	if (strncmp(s.key, "9;", 2) == 0 && fields == 1 && !ended)
		return -1;
	if (strncmp(s.key, "9;", 2) != 0)
		s.key[strcspn(s.key, ";")] = '\0';
	else if (fields == 2)
		s.key[n - 1] = '\0';
	row = find(SBX_TERM_OSC, &s);
	return row && row->pass;
}

static int judge_dcs(const struct sbx_termfilter *f, bool ended)
{
	const struct sbx_term_row *row;
	struct named s;

	if (ended || f->hold[f->n - 1] < '@')
		return ended ? false : -1;
	if (!name_it(f->hold + 2, f->n - 2, &s))
		return false;
	row = find(SBX_TERM_DCS, &s);
	return row && row->pass;
}

/* Decides what is held of a string; it goes on in PASS or DROP. */
static char *judge(struct sbx_termfilter *f, bool ended, char *out)
{
	int pass = f->hold[1] == ']' ? judge_osc(f, ended) : judge_dcs(f, ended);

	if (pass < 0)
		return out;
	f->state = pass ? PASS : DROP;
	if (!pass) {
		f->n = 2; /* what kind it was is needed still */
		return out;
	}
	out = put(out, f->hold, f->n);
	f->n = 2;
	return out;
}

/* The Linux console's own, which have no end: ESC ] R, and ESC ] P with seven digits. */
static bool is_console(struct sbx_termfilter *f, unsigned char c)
{
	if (f->n != 2 || f->hold[1] != ']' || (c != 'P' && c != 'R'))
		return false;
	restart(f, GROUND);
	f->skip = c == 'P' ? 7 : 0;
	return true;
}

/* The end of a string: the terminal is told one that all of them know. */
static char *end_string(struct sbx_termfilter *f, bool bel, char *out)
{
	if (f->state == HEAD)
		out = judge(f, true, out);
	if (f->state == PASS)
		out = bel ? put(out, "\a", 1) : put(out, "\033\\", 2);
	restart(f, GROUND);
	return out;
}

static char *string(struct sbx_termfilter *f, unsigned char c, char *out)
{
	bool was_esc = f->inside_esc;

	f->inside_esc = false;
	if (was_esc && c == '\\')
		return end_string(f, false, out);
	if (was_esc) { /* given up for another sequence */
		if (f->state == PASS)
			out = end_string(f, false, out);
		restart(f, ESCAPE);
		f->hold[f->n++] = ESC;
		return escape(f, c, out);
	}
	if (c == ESC) {
		f->inside_esc = true;
	} else if (c == CAN || c == SUB) {
		if (f->state == PASS)
			out = end_string(f, false, out);
		restart(f, GROUND);
	} else if (c == BEL && f->hold[1] == ']') {
		out = end_string(f, true, out);
	} else if (f->state == HEAD && !is_console(f, c)) {
		if (c < ' ' || c >= 0x7f || !keep(f, c))
			f->state = DROP;
		else
			out = judge(f, false, out);
	} else if (f->state == PASS && c >= 0x80) {
		out = high(f, c, out);
	} else if (f->state == PASS && c >= ' ' && c != 0x7f) {
		f->more = 0;
		f->asks |= c == '?';
		out = put(out, &c, 1);
	}
	return out;
}

static char *step(struct sbx_termfilter *f, unsigned char c, char *out)
{
	if (f->skip > 0 && c >= ' ') {
		f->skip--;
		return out;
	}
	f->skip = 0;
	switch ((enum state)f->state) {
	case GROUND:
		return ground(f, c, out);
	case ESCAPE:
		return escape(f, c, out);
	case CSI:
	case CSI_DROP:
		return csi(f, c, out);
	default:
		return string(f, c, out);
	}
}

size_t sbx_termfilter_run(struct sbx_termfilter *f, const char *in, size_t n, char *out)
{
	char *const start = out;

	for (size_t i = 0; i < n; i++)
		out = step(f, (unsigned char)in[i], out);
	return (size_t)(out - start);
}

size_t sbx_termfilter_undo(struct sbx_termfilter *f, char *out)
{
	char *const start = out;

	/* A string that the terminal is still reading would swallow what follows. */
	if (f->state == PASS)
		out = put(out, "\033\\", 2);
	for (size_t m = 0; m < SBX_ARRAY_SIZE(modes); m++)
		if (f->hurting & (UINT64_C(1) << m))
			out = put(out, modes[m].undo, strlen(modes[m].undo));
	*f = (struct sbx_termfilter){ 0 };
	return (size_t)(out - start);
}
