/* The New Session dialog: keys in, a state out. */
#include "dialog_model.h"
#include "t.h"

static const struct dialog_agent agents[] = { { "claude", false }, { "codex", true },
	{ "gemini", true }, { "generic", false } };

/* A key a letter: N next, P previous, < left, > right, ^ home, $ end, B backspace, D delete, U the
 * whole line, E enter, X escape; what stands between quotes is typed. */
static void type(struct dialog *d, const char *keys)
{
	static const struct {
		char letter;
		int key;
	} names[] = { { 'N', DIALOG_KEY_NEXT }, { 'P', DIALOG_KEY_PREVIOUS },
		{ '<', DIALOG_KEY_LEFT }, { '>', DIALOG_KEY_RIGHT },
		{ '^', DIALOG_KEY_HOME }, { '$', DIALOG_KEY_END },
		{ 'B', DIALOG_KEY_BACKSPACE }, { 'D', DIALOG_KEY_DELETE },
		{ 'U', DIALOG_KEY_KILL }, { 'E', DIALOG_KEY_ENTER },
		{ 'X', DIALOG_KEY_CANCEL }, { ' ', ' ' } };
	bool quoted = false;

	for (; *keys; keys++) {
		if (*keys == '\'') {
			quoted = !quoted;
		} else if (quoted) {
			dialog_key(d, (unsigned char)*keys);
		} else {
			size_t i = 0;

			while (names[i].letter != *keys)
				assert_true(++i < SBX_ARRAY_SIZE(names));
			dialog_key(d, names[i].key);
		}
	}
}

/* agent, command, directory, sandbox, fs, net, focus, outcome, error; in short. */
static char *state_of(const struct dialog *d)
{
	static const char *const fields[_DIALOG_MAX] = { "agent", "command", "dir",
		"sandbox", "fs", "net", "start", "cancel" };
	static const char *const outcomes[] = { "open", "submitted", "cancelled" };

	return sbx_xasprintf("%s%s%s %s %s@%s %s%s%s", d->agents[d->agent].name,
		d->command.len ? ":" : "", d->command.s, d->dir.s,
		d->sandbox ? d->fs == SBX_FS_RW ? d->net ? "rw,on" : "rw,off"
			     : d->net           ? "ro,on"
						: "ro,off"
			   : "none",
		fields[d->focus], outcomes[d->outcome], d->error ? " " : "",
		d->error ? d->error : "");
}

static const struct row {
	const char *name;
	const char *keys;
	const char *state;
	const char *unavailable;
} rows[] = {
	{ "those found come first, sandboxed, rw, on", "", "codex /w rw,on@agent open" },
	{ "enter starts", "E", "codex /w rw,on@agent submitted" },
	{ "escape leaves", "X", "codex /w rw,on@agent cancelled" },
	{ "nothing changes afterwards", "X>NE", "codex /w rw,on@agent cancelled" },
	{ "the next agent", ">", "gemini /w rw,on@agent open" },
	{ "space is the next one, too", " ", "gemini /w rw,on@agent open" },
	{ "around, backwards", "<", "generic /w rw,on@agent open" },
	{ "and forwards", ">>>>", "codex /w rw,on@agent open" },
	{ "all fields", "NNNNN", "codex /w rw,on@start open" },
	{ "and around", "NNNNNNN", "codex /w rw,on@agent open" },
	{ "backwards", "PP", "codex /w rw,on@start open" },
	{ "generic has a command", "<N", "generic /w rw,on@command open" },
	{ "which is typed", "<N'a b'", "generic:a b /w rw,on@command open" },
	{ "and kept with another agent", "<N'x'P>", "codex:x /w rw,on@agent open" },
	{ "a directory", "N'/x'", "codex /w/x rw,on@dir open" },
	{ "space is text there", "N' y'", "codex /w y rw,on@dir open" },
	{ "erased", "NBB'~'", "codex ~ rw,on@dir open" },
	{ "nothing more to erase", "NBBBB", "codex  rw,on@dir open" },
	{ "the whole line", "NU'/a'", "codex /a rw,on@dir open" },
	{ "in the middle", "N<'x'$'y'^'z'", "codex z/xwy rw,on@dir open" },
	{ "delete", "N^DD", "codex  rw,on@dir open" },
	{ "delete at the end", "ND", "codex /w rw,on@dir open" },
	{ "a letter of two bytes is one", "N'\303\244\303\266'<B",
		"codex /w\303\266 rw,on@dir open" },
	{ "the sandbox off", "NN ", "codex /w none@sandbox open" },
	{ "and on again", "NN  ", "codex /w rw,on@sandbox open" },
	{ "off: no fs and no net", "NN N", "codex /w none@start open" },
	{ "off: enter leads to the button", "NN E", "codex /w none@start open" },
	{ "which starts", "NN EE", "codex /w none@start submitted" },
	{ "the choices survive it", "NNN N PP  ", "codex /w ro,off@sandbox open" },
	{ "read-only", "NNN ", "codex /w ro,on@fs open" },
	{ "by an arrow", "NNN<", "codex /w ro,on@fs open" },
	{ "network off", "NNNN>", "codex /w rw,off@net open" },
	{ "between the buttons", "NNNNN>", "codex /w rw,on@cancel open" },
	{ "and back", "NNNNN><", "codex /w rw,on@start open" },
	{ "space presses one", "NNNNN ", "codex /w rw,on@start submitted" },
	{ "the other", "NNNNNN ", "codex /w rw,on@cancel cancelled" },
	{ "enter on it", "PE", "codex /w rw,on@cancel cancelled" },
	{ "unavailable: off", "", "codex /w none@agent open", "no bwrap" },
	{ "unavailable: the switch is passed over", "NN", "codex /w none@start open",
		"no bwrap" },
	{ "unavailable: backwards, too", "PPP", "codex /w none@dir open", "no bwrap" },
	{ "unavailable: enter does not start", "E", "codex /w none@start open",
		"no bwrap" },
};

static void row(void **state)
{
	const struct row *r = *state;
	SBX_CLEANUP_FREE char *is = NULL;
	struct dialog d;

	dialog_init(&d, agents, SBX_ARRAY_SIZE(agents), "/w", r->unavailable, NULL);
	type(&d, r->keys);
	is = state_of(&d);
	assert_string_equal(is, r->state);
	dialog_done(&d);
}

T_ROWS(typing, rows, row)

static void a_refusal_loses_nothing(void **state)
{
	SBX_CLEANUP_FREE char *refused = NULL, *moved = NULL, *mended = NULL;
	struct dialog d;

	(void)state;
	dialog_init(&d, agents, SBX_ARRAY_SIZE(agents), "/w", NULL, NULL);
	type(&d, ">NU'/nope'NN E");
	dialog_refuse(&d, DIALOG_DIR, "is not there");
	refused = state_of(&d);
	assert_string_equal(refused, "gemini /nope ro,on@dir open is not there");
	type(&d, "P");
	moved = state_of(&d);
	assert_string_equal(moved, "gemini /nope ro,on@agent open is not there");
	type(&d, "NB");
	mended = state_of(&d);
	assert_string_equal(mended, "gemini /nop ro,on@dir open");
	dialog_done(&d);
}

static void control_characters_are_no_text(void **state)
{
	struct dialog d;

	(void)state;
	dialog_init(&d, agents, SBX_ARRAY_SIZE(agents), "/w", NULL, NULL);
	dialog_key(&d, DIALOG_KEY_NEXT);
	for (int c = 0; c < ' '; c++)
		dialog_key(&d, c);
	dialog_key(&d, 127);
	dialog_key(&d, 999);
	assert_string_equal(d.dir.s, "/w");
	dialog_done(&d);
}

static void text_has_an_end(void **state)
{
	struct dialog_text t = { 0 };
	char *s = sbx_xcalloc(1, 2 * DIALOG_TEXT_MAX);
	struct dialog d;

	(void)state;
	memset(s, 'x', 2 * DIALOG_TEXT_MAX - 1);
	dialog_text_set(&t, s);
	assert_int_equal(t.len, DIALOG_TEXT_MAX - 1);
	assert_int_equal(strlen(t.s), t.len);
	dialog_init(&d, agents, SBX_ARRAY_SIZE(agents), s, NULL, NULL);
	dialog_key(&d, DIALOG_KEY_NEXT);
	dialog_key(&d, 'y');
	assert_int_equal(d.dir.len, DIALOG_TEXT_MAX - 1);
	dialog_done(&d);
	free(s);
}

static void the_cursor_is_in_the_window(void **state)
{
	struct dialog_text t = { 0 };
	size_t cursor;

	(void)state;
	dialog_text_set(&t, "abcdef");
	assert_int_equal(dialog_text_window(&t, 10, &cursor), 0);
	assert_int_equal(cursor, 6);
	assert_int_equal(dialog_text_window(&t, 4, &cursor), 3);
	assert_int_equal(cursor, 3);
	dialog_text_set(&t, "\303\244\303\266\303\274");
	assert_int_equal(dialog_text_window(&t, 3, &cursor), 2);
	assert_int_equal(cursor, 2);
	t.at = 0;
	assert_int_equal(dialog_text_window(&t, 3, &cursor), 0);
	assert_int_equal(cursor, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_loses_nothing),
		cmocka_unit_test(control_characters_are_no_text),
		cmocka_unit_test(text_has_an_end),
		cmocka_unit_test(the_cursor_is_in_the_window),
	};

	return typing() + cmocka_run_group_tests(tests, NULL, NULL);
}
