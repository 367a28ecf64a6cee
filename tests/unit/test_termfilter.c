/* What reaches the terminal, in one read and in reads of one byte. */
#include "termfilter.h"
#include "t.h"

static const struct row {
	const char *name, *in, *out;
} rows[] = {
	{ "text", "a b\r\n\tc\b\a", "a b\r\n\tc\b\a" },
	{ "utf-8", "\xc3\xa9 \xe2\x80\x9c \xf0\x9f\x98\x80 \xc4\x9b",
		"\xc3\xa9 \xe2\x80\x9c \xf0\x9f\x98\x80 \xc4\x9b" },
	{ "colours and cursor", "\033[1;38:2::1:2:3m\033[2J\033[5;6H\0337\033(B",
		"\033[1;38:2::1:2:3m\033[2J\033[5;6H\0337\033(B" },
	{ "questions of TUIs", "\033[6n\033[c\033[>c\033[?u\033[>0q\033[14t\033[?2026$p",
		"\033[6n\033[c\033[>c\033[?u\033[>0q\033[14t\033[?2026$p" },
	{ "colours asked for", "\033]11;?\033\\\033]10;?\a\033]4;1;?\a",
		"\033]11;?\033\\\033]10;?\a\033]4;1;?\a" },
	{ "a link", "\033]8;;http://x/\033\\t\033]8;;\033\\",
		"\033]8;;http://x/\033\\t\033]8;;\033\\" },
	{ "progress", "\033]9;4;1;50\a", "\033]9;4;1;50\a" },
	{ "a message", "a\033]9;hello\ab\033]777;notify;x\ac\033]99;;x\033\\d", "abcd" },
	{ "clipboard", "a\033]52;c;eHl6\ab\033]52;c;?\033\\c", "abc" },
	{ "clipboard, zeros before", "a\033]052;c;eA==\ab", "ab" },
	{ "titles", "a\033]0;t\ab\033]2;t\033\\c\033kt\033\\d\033]l x\033\\e", "abcde" },
	{ "reports of titles", "a\033[21tb\033[20tc\033[021td", "abcd" },
	{ "a number too large to be read by all", "a\033[4294967317tb\033[65536mc",
		"abc" },
	{ "the window", "a\033[8;50;100tb\033[1tc\033[3;0;0td\033[te", "abcde" },
	{ "DECRQSS", "a\033P$qm\033\\b", "ab" },
	{ "XTGETTCAP", "a\033P+q544e\033\\b", "ab" },
	{ "keys", "a\033P1;1|17/72\033\\b", "ab" },
	{ "macros", "a\033P1;0;0!zx\033\\b\033[1*zc", "abc" },
	{ "sums of the screen", "a\033[1;1;1;1;9;9*yb", "ab" },
	{ "tmux", "a\033Ptmux;\033\033]52;c;eA==\a\033\\b", "a\033\\b" },
	{ "kitty's pictures", "a\033_Ga=T,t=f;L2V0Yw==\033\\b", "ab" },
	{ "sixels", "a\033P0;1;0q#0;2;0;0;0#0!9~-\033\\b",
		"a\033P0;1;0q#0;2;0;0;0#0!9~-\033\\b" },
	{ "iterm", "a\033]1337;File=name=eA==:eA==\ab", "ab" },
	{ "printer", "a\033[5ib\033[?5ic", "abc" },
	{ "ENQ", "a\005b", "ab" },
	{ "modes kept and brought back", "a\033[?1003sb\033[?1003rc\033[s\033[r",
		"abc\033[s\033[r" },
	{ "another terminal", "a\033[?38hb", "ab" },
	{ "a number with parts", "a\033[11:20tb", "ab" },
	{ "VT52", "a\033[?25;2lb", "ab" },
	{ "no UTF-8", "a\033%@b\033%/Gc\033%Gd", "abc\033%Gd" },
	{ "controls of 8 bits",
		"a\x9d"
		"52;c;eA==\x07"
		"b",
		"a52;c;eA==\ab" },
	{ "the same in UTF-8",
		"a\xc2\x9d"
		"52;\x07"
		"b\xc2\xa9",
		"a52;\ab\xc2\xa9" },
	{ "CSI of 8 bits",
		"a\x9b"
		"21tb",
		"a21tb" },
	{ "a control within", "\033[2\r1t\033[3\n1m", "\r\n\033[31m" },
	{ "given up for another", "\033[1\033[31mx", "\033[31mx" },
	{ "cancelled", "\033[1\030x\033]52;c\032y", "xy" },
	{ "a string given up", "\033]8;;x\033[31my", "\033]8;;x\033\\\033[31my" },
	{ "a string cancelled", "\033]8;;x\030y", "\033]8;;x\033\\y" },
	{ "a control in a string", "\033]8;;a\rb\ac", "\033]8;;ab\ac" },
	{ "not ended", "a\033]52;c;", "a" },
	{ "not ended either", "a\033[3", "a" },
	{ "the console's own", "a\033]P0123456b\033]Rc", "abc" },
	{ "a letter cut short", "\xe2\033[1m\x80z", "\xe2\033[1mz" },
};

static void row(void **state)
{
	const struct row *r = *state;
	struct sbx_termfilter f = { 0 };
	size_t len = strlen(r->in), n;
	char out[SBX_TERM_ROOM(256)], slow[sizeof(out)];

	n = sbx_termfilter_run(&f, r->in, len, out);
	out[n] = '\0';
	assert_string_equal(out, r->out);
	f = (struct sbx_termfilter){ 0 };
	n = 0;
	for (size_t i = 0; i < len; i++)
		n += sbx_termfilter_run(&f, r->in + i, 1, slow + n);
	slow[n] = '\0';
	assert_string_equal(slow, r->out);
}

T_ROWS(sequences, rows, row)

static const char *undo_of(const char *in)
{
	static char out[SBX_TERM_ROOM(1024)];
	struct sbx_termfilter f = { 0 };
	size_t n;

	assert_true(strlen(in) <= 1024);
	sbx_termfilter_run(&f, in, strlen(in), out);
	n = sbx_termfilter_undo(&f, out);
	out[n] = '\0';
	return out;
}

static void what_is_left_behind_is_taken_back(void **state)
{
	size_t n;

	(void)state;
	assert_true(sbx_termfilter_modes(&n) != NULL && n <= 64);
	assert_string_equal(undo_of("plain"), "");
	assert_string_equal(
		undo_of("\033[?1003;1006h\033[?25l"), "\033[?25h\033[?1003l\033[?1006l");
	assert_string_equal(undo_of("\033[?1003h\033[?1003l\033[?25l\033[?25h"), "");
	assert_string_equal(undo_of("\033[>1u"), "\033[<9u");
	assert_string_equal(undo_of("\033[?1049h\033c"), "");
	assert_string_equal(undo_of("\033]8;;x"), "\033\\");
}

static void a_reset_counts_where_every_terminal_reads_it(void **state)
{
	static const char *const rows_of[] = {
		"\033[?1003h\033[?1003s\033[?1003l\033[?1003r", /* the last is not passed */
		"\033[?1003h\033[?0:1003l",
		"\033[?1003h\033[?1003:0l",
		"\033[?1003h\033[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1003l",
		"\033[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1003h",
		"\033[?0:1003h",
	};

	(void)state;
	assert_string_equal(undo_of(rows_of[0]), "");
	for (size_t i = 1; i < SBX_ARRAY_SIZE(rows_of); i++)
		assert_string_equal(undo_of(rows_of[i]), "\033[?1003l");
	assert_string_equal(
		undo_of("\033[?1003h\033[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1003l"), "");
}

static void every_mode_is_taken_back(void **state)
{
	size_t n;
	const struct sbx_term_mode *m = sbx_termfilter_modes(&n);
	char all[1024] = "";

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const char mark =
			strchr("<=>?", m[i].set[0]) && m[i].set[1] ? m[i].set[0] : 0;
		char set[32], *p = set;

		*p++ = '\033';
		if (strcmp(m[i].set, "=") != 0)
			*p++ = '[';
		if (mark)
			*p++ = mark;
		if (m[i].number)
			p += sprintf(p, "%u", m[i].number);
		strcpy(p, m[i].set + (mark != 0));
		assert_string_equal(undo_of(set), m[i].undo);
		strcat(all, set);
	}
	assert_true(strlen(undo_of(all)) <= SBX_TERM_UNDO - 2);
	/* what an adversary left behind */
	assert_string_equal(undo_of("\033[=31;1u"), "\033[=0;1u");
	assert_string_equal(undo_of("\033[2h\033[20h"), "\033[2l\033[20l");
	assert_string_equal(undo_of("\033[?9001h\033[?66h"), "\033[?9001l\033[?66l");
	assert_non_null(strstr(undo_of("\033[>1;2m"), "\033[>1m"));
	assert_string_equal(undo_of("\033[>1u\033[>1u\033[<u"), "\033[<9u");
}

static void questions_are_noted(void **state)
{
	static const char *const asked[] = { "\033[6n", "\033[c", "\033[>0q", "\033[14t",
		"\033[?2026$p", "\033]11;?\a", "\033Z" };
	struct sbx_termfilter f = { 0 };
	char out[SBX_TERM_ROOM(64)];

	(void)state;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(asked); i++) {
		f = (struct sbx_termfilter){ 0 };
		sbx_termfilter_run(&f, asked[i], strlen(asked[i]), out);
		assert_true(f.asks);
		assert_int_equal(f.reports, 0);
	}
	f = (struct sbx_termfilter){ 0 };
	sbx_termfilter_run(&f, "what? \033[31m\033[?1003h",
		strlen("what? \033[31m\033[?1003h"), out);
	assert_false(f.asks);
	sbx_termfilter_run(&f, "\033[5n\033[05n", 9, out);
	assert_true(f.asks);
	assert_int_equal(f.reports, 2);
}

/* Random bytes of the kind that sequences are made of: what comes out never exceeds the room, and
 * passes a second time as it is. */
static void what_passes_is_well_formed(void **state)
{
	static const char bytes[] =
		"\033\033\033[]P_\\;;0258t?$qm\a\030\x9b\xc2\x80\xe2k ";
	char in[512], out[SBX_TERM_ROOM(512)], again[SBX_TERM_ROOM(sizeof(out))];

	(void)state;
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		struct sbx_termfilter f = { 0 }, g = { 0 };
		size_t n;

		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = bytes[(size_t)random() % (sizeof(bytes) - 1)];
		n = sbx_termfilter_run(&f, in, sizeof(in), out);
		assert_true(n <= sizeof(out));
		assert_int_equal(sbx_termfilter_run(&g, out, n, again), n);
		assert_memory_equal(again, out, n);
	}
}

static void every_row_has_a_reason(void **state)
{
	size_t n;
	const struct sbx_term_row *r = sbx_termfilter_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_true(strlen(r[i].why) > 3 && strlen(r[i].text) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_behind_is_taken_back),
		cmocka_unit_test(a_reset_counts_where_every_terminal_reads_it),
		cmocka_unit_test(every_mode_is_taken_back),
		cmocka_unit_test(questions_are_noted),
		cmocka_unit_test(what_passes_is_well_formed),
		cmocka_unit_test(every_row_has_a_reason),
	};

	return sequences() + cmocka_run_group_tests(tests, NULL, NULL);
}
