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

static bool is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

bool quote_is_pasteable(const char *word)
{
	for (; *word; word++)
		if (is_control((unsigned char)*word) && *word != '\n' && *word != '\t')
			return false;
	return true;
}

char *quote_plain(const char *word)
{
	char *out = sbx_xstrdup(word);

	for (char *p = out; *p; p++)
		if (is_control((unsigned char)*p))
			*p = '?';
	return out;
}
