/* The New Session dialog on a screen: draws the model, and makes its keys of the terminal's. */
#include "cli.h"
#include "dialog.h"
#include "quote.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <curses.h>
#include <term.h>

#define MIN_COLUMNS 50
#define MIN_ROWS 16
#define KEY_WAIT_MS 200 /* how soon a signal is noticed */
#define CTRL_KEY(c) ((c)&0x1f)
#define ESCAPE 27

enum {
	ROW_TITLE = 0,
	ROW_AGENT = 2,
	ROW_COMMAND = 3,
	ROW_DIR = 4,
	ROW_SANDBOX = 6,
	ROW_FS = 7, /* or, without a sandbox, the reason, to the row above the buttons */
	ROW_NET = 8,
	ROW_BUTTONS = 11,
	ROW_ERROR = 12, /* to the one above the help, which is the last */
	COL_LABEL = 2,
	COL_VALUE = 13,
};

enum { PAIR_PLAIN, PAIR_BAD, PAIR_TITLE };

/* ---- drawing ---- */

static void paint(int pair, attr_t attr, bool on)
{
	if (has_colors() && pair != PAIR_PLAIN)
		attr |= COLOR_PAIR(pair);
	if (on)
		attron((int)attr);
	else
		attroff((int)attr);
}

/* Bytes of the first n characters. */
static size_t bytes_of(const char *s, size_t n)
{
	size_t i = 0;

	for (; s[i] && n > 0; n--)
		for (i++; ((unsigned char)s[i] & 0xc0) == 0x80; i++)
			;
	return i;
}

static void put(int y, int x, const char *text)
{
	if (y < LINES - 1 && x < COLS)
		mvaddnstr(y, x, text, (int)bytes_of(text, (size_t)(COLS - x)));
}

/* Breaks at spaces; rows from y to last. */
static void put_wrapped(int y, int last, int x, const char *text)
{
	size_t width = (size_t)(COLS - x - 1);

	for (; y <= last && *text; y++) {
		size_t n = bytes_of(text, width);

		if (text[n] && y < last)
			for (size_t k = n; k > 0; k--)
				if (text[k] == ' ') {
					n = k;
					break;
				}
		mvaddnstr(y, x, text, (int)n);
		if (text[n] && y == last)
			mvaddstr(y, COLS - 4, "...");
		text += n + strspn(text + n, " ");
	}
}

static void label(
	const struct dialog *d, enum dialog_field field, int y, const char *name)
{
	put(y, COL_LABEL - 2, d->focus == field ? ">" : " ");
	put(y, COL_LABEL, name);
}

/* A value that keys change: the focus is marked without color, too. */
static void value(
	const struct dialog *d, enum dialog_field field, int y, int x, const char *text)
{
	attr_t attr = d->focus == field ? A_REVERSE : A_NORMAL;

	paint(PAIR_PLAIN, attr, true);
	put(y, x, text);
	paint(PAIR_PLAIN, attr, false);
}

/* Returns where the cursor is to stand. */
static int draw_text(const struct dialog *d, enum dialog_field field, int y,
	const char *name, const struct dialog_text *t)
{
	SBX_CLEANUP_FREE char *plain = NULL;
	int width = COLS - COL_VALUE - 1;
	size_t cursor, start = dialog_text_window(t, (size_t)width, &cursor);

	label(d, field, y, name);
	plain = quote_plain(t->s + start);
	attron(A_UNDERLINE);
	mvhline(y, COL_VALUE, ' ', width);
	mvaddnstr(y, COL_VALUE, plain, (int)bytes_of(plain, (size_t)width));
	attroff(A_UNDERLINE);
	return COL_VALUE + (int)cursor;
}

static void draw_agent(const struct dialog *d)
{
	const struct dialog_agent *a = &d->agents[d->agent];
	SBX_CLEANUP_FREE char *text = sbx_xasprintf("< %s >", a->name);

	label(d, DIALOG_AGENT, ROW_AGENT, "Agent");
	value(d, DIALOG_AGENT, ROW_AGENT, COL_VALUE, text);
	if (!a->found && !dialog_is_shown(d, DIALOG_COMMAND))
		put(ROW_AGENT, COL_VALUE + (int)strlen(text) + 2,
			"not found on this machine");
}

static void draw_choice(const struct dialog *d, enum dialog_field field, int y,
	const char *name, const char *const texts[2], bool second)
{
	SBX_CLEANUP_FREE char *text = sbx_xasprintf("(%c) %s  (%c) %s",
		second ? ' ' : '*', texts[0], second ? '*' : ' ', texts[1]);

	label(d, field, y, name);
	value(d, field, y, COL_VALUE, text);
}

static void draw_sandbox(const struct dialog *d)
{
	static const char *const fs[] = { "read-write", "read-only" };
	static const char *const net[] = { "on", "off" };
	SBX_CLEANUP_FREE char *why =
		d->unavailable
			? sbx_xasprintf("%s%s%s", d->unavailable,
				  d->mend ? ". To mend it: " : "", d->mend ? d->mend : "")
			: NULL;

	label(d, DIALOG_SANDBOX, ROW_SANDBOX, "Sandboxed");
	value(d, DIALOG_SANDBOX, ROW_SANDBOX, COL_VALUE, d->sandbox ? "[x]" : "[ ]");
	if (d->sandbox) {
		draw_choice(d, DIALOG_FS, ROW_FS, "Files", fs, d->fs == SBX_FS_RO);
		draw_choice(d, DIALOG_NET, ROW_NET, "Network", net, !d->net);
		return;
	}
	paint(PAIR_BAD, A_BOLD, true);
	if (why) {
		put(ROW_SANDBOX, COL_VALUE + 4, "cannot be had here:");
		put_wrapped(ROW_SANDBOX + 1, ROW_BUTTONS - 1, COL_LABEL + 2, why);
	} else {
		put_wrapped(ROW_SANDBOX + 1, ROW_BUTTONS - 1, COL_LABEL + 2,
			"Without one the agent has your rights, on all of your files.");
	}
	paint(PAIR_BAD, A_BOLD, false);
}

static void draw_rest(const struct dialog *d)
{
	const char *start = d->sandbox ? "[ Start ]" : "[ Start WITHOUT A SANDBOX ]";
	int x = COL_LABEL;

	value(d, DIALOG_START, ROW_BUTTONS, x, start);
	value(d, DIALOG_CANCEL, ROW_BUTTONS, x + (int)strlen(start) + 2, "[ Cancel ]");
	if (d->error) {
		paint(PAIR_BAD, A_BOLD, true);
		put_wrapped(ROW_ERROR, LINES - 2, COL_LABEL, d->error);
		paint(PAIR_BAD, A_BOLD, false);
	}
	mvaddnstr(
		LINES - 1, 0, "TAB move  SPACE change  ENTER start  ESC leave", COLS - 1);
}

static bool is_too_small(void)
{
	return COLS < MIN_COLUMNS || LINES < MIN_ROWS;
}

static void draw(const struct dialog *d)
{
	int x = -1, y = ROW_DIR;

	erase();
	if (is_too_small()) {
		mvprintw(0, 0, "too small: %dx%d at least", MIN_COLUMNS, MIN_ROWS);
		refresh();
		return;
	}
	paint(PAIR_TITLE, A_BOLD, true);
	put(ROW_TITLE, COL_LABEL, "New session");
	paint(PAIR_TITLE, A_BOLD, false);
	draw_agent(d);
	if (dialog_is_shown(d, DIALOG_COMMAND))
		x = draw_text(d, DIALOG_COMMAND, ROW_COMMAND, "Command", &d->command);
	if (d->focus == DIALOG_COMMAND)
		y = ROW_COMMAND;
	if (d->focus != DIALOG_COMMAND || x < 0)
		x = draw_text(d, DIALOG_DIR, ROW_DIR, "Directory", &d->dir);
	else
		draw_text(d, DIALOG_DIR, ROW_DIR, "Directory", &d->dir);
	draw_sandbox(d);
	draw_rest(d);
	curs_set(d->focus == DIALOG_DIR || d->focus == DIALOG_COMMAND);
	move(y, x < COLS ? x : COLS - 1);
	refresh();
}

/* ---- keys ---- */

static const struct {
	int from, to;
} keys[] = {
	{ '\t', DIALOG_KEY_NEXT },
	{ KEY_DOWN, DIALOG_KEY_NEXT },
	{ KEY_BTAB, DIALOG_KEY_PREVIOUS },
	{ KEY_UP, DIALOG_KEY_PREVIOUS },
	{ KEY_LEFT, DIALOG_KEY_LEFT },
	{ KEY_RIGHT, DIALOG_KEY_RIGHT },
	{ KEY_HOME, DIALOG_KEY_HOME },
	{ CTRL_KEY('a'), DIALOG_KEY_HOME },
	{ KEY_END, DIALOG_KEY_END },
	{ CTRL_KEY('e'), DIALOG_KEY_END },
	{ KEY_BACKSPACE, DIALOG_KEY_BACKSPACE },
	{ CTRL_KEY('h'), DIALOG_KEY_BACKSPACE },
	{ 127, DIALOG_KEY_BACKSPACE },
	{ KEY_DC, DIALOG_KEY_DELETE },
	{ CTRL_KEY('u'), DIALOG_KEY_KILL },
	{ '\r', DIALOG_KEY_ENTER },
	{ '\n', DIALOG_KEY_ENTER },
	{ KEY_ENTER, DIALOG_KEY_ENTER },
	{ ESCAPE, DIALOG_KEY_CANCEL },
	{ CTRL_KEY('c'), DIALOG_KEY_CANCEL },
};

static int translate(int c)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(keys); i++)
		if (keys[i].from == c)
			return keys[i].to;
	return c >= ' ' && c < 256 ? c : 0;
}

static volatile sig_atomic_t ended_by;

static void note(int sig)
{
	ended_by = sig;
}

static const int endings[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };

static bool is_hung_up(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static void suspend(void)
{
	def_prog_mode();
	endwin();
	raise(SIGTSTP);
	reset_prog_mode();
	clearok(stdscr, TRUE);
}

/* One key, or a signal, or the end of the terminal. */
static void take_key(struct dialog *d)
{
	int c = getch();

	if (c == ERR && (ended_by || is_hung_up()))
		dialog_key(d, DIALOG_KEY_CANCEL);
	else if (c == CTRL_KEY('z'))
		suspend();
	else if (is_too_small() && translate(c) != DIALOG_KEY_CANCEL)
		return; /* nobody sees what it would do */
	else if (c != ERR && translate(c))
		dialog_key(d, translate(c));
}

static void check_submitted(
	struct dialog *d, const struct options *o, dialog_check *check)
{
	enum dialog_field field = DIALOG_START;
	SBX_CLEANUP_FREE char *wrong = NULL;

	mvaddstr(ROW_ERROR, COL_LABEL, "trying it ...");
	clrtoeol();
	refresh();
	wrong = check(d, o, &field);
	if (wrong)
		dialog_refuse(d, field, wrong);
}

static void run(struct dialog *d, const struct options *o, dialog_check *check)
{
	while (d->outcome == DIALOG_OPEN) {
		draw(d);
		take_key(d);
		if (d->outcome == DIALOG_SUBMITTED)
			check_submitted(d, o, check);
	}
}

/* ---- the terminal ---- */

/* Can the cursor be moved on it, and is there room? */
static bool can_show(void)
{
	struct winsize ws;
	int err;
	bool good;

	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return false;
	good = tigetstr("cup") != NULL && tigetstr("cup") != (char *)-1;
	del_curterm(cur_term);
	if (good && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col && ws.ws_row)
		good = ws.ws_col >= MIN_COLUMNS && ws.ws_row >= MIN_ROWS;
	return good;
}

/* https://no-color.org: set, and not empty. */
static void set_colors(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() != OK)
		return;
	use_default_colors();
	init_pair(PAIR_BAD, COLOR_RED, -1);
	init_pair(PAIR_TITLE, COLOR_CYAN, -1);
}

static void set_up(void)
{
	raw(); /* Ctrl-C is a key: the terminal must be put right before the end */
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	timeout(KEY_WAIT_MS);
	set_colors();
}

int dialog_on_screen(struct dialog *d, const struct options *o, dialog_check *check)
{
	struct sigaction were[SBX_ARRAY_SIZE(endings)];
	const struct sigaction sa = { .sa_handler = note };
	SBX_CLEANUP_FREE char *locale = NULL;
	SCREEN *screen;

	if (!can_show())
		return DIALOG_NO_SCREEN;
	locale = sbx_xstrdup(setlocale(LC_CTYPE, NULL));
	setlocale(LC_CTYPE, "");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(endings); i++)
		sigaction(endings[i], &sa, &were[i]);
	screen = newterm(NULL, stdout, stdin);
	if (screen) {
		set_up();
		run(d, o, check);
		endwin();
		delscreen(screen);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(endings); i++)
		sigaction(endings[i], &were[i], NULL);
	setlocale(LC_CTYPE, locale);
	if (screen == NULL)
		return DIALOG_NO_SCREEN;
	if (d->outcome == DIALOG_SUBMITTED)
		return 0;
	fputs("sbx: nothing was recorded\n", stderr);
	return ended_by ? 128 + ended_by : EXIT_CANCELLED;
}
