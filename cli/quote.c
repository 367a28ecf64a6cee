#include "quote.h"

#include <string.h>

static const char bare[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	"_-+./:,@%=";

char *quote_sh(const char *word)
{
	char *out, *w;

	/* A leading '=' is zsh's, a leading '-' is an option's and needs no quotes. */
	if (*word && *word != '=' && word[strspn(word, bare)] == '\0')
		return sbx_xstrdup(word);
	out = w = sbx_xcalloc(strlen(word) + 1, 4); /* "'\''" and the outer two */
	*w++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			w = stpcpy(w, "'\\''");
		else
			*w++ = *word;
	}
	*w = '\'';
	return out;
}

/* Bytes of the character at p; 0: a control, or a byte that is no character and that a terminal may
 * take for a control of 8 bits. */
static size_t printable(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t n = u[0] < 0xc2 ? 1 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;

	if (u[0] < 0x80)
		return u[0] >= 0x20 && u[0] != 0x7f;
	if (u[0] < 0xc2 || u[0] > 0xf4 || (u[0] == 0xc2 && u[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < n; i++)
		if (u[i] < 0x80 || u[i] >= 0xc0)
			return 0;
	return n;
}

bool quote_is_pasteable(const char *word)
{
	for (size_t n; *word; word += n ? n : 1) {
		n = printable(word);
		if (n == 0 && *word != '\n' && *word != '\t')
			return false;
	}
	return true;
}

char *quote_plain(const char *word)
{
	char *out = sbx_xstrdup(word);

	for (size_t i = 0, n; out[i]; i += n ? n : 1) {
		n = printable(out + i);
		if (n == 0)
			out[i] = '?';
	}
	return out;
}
