/* Where in the text of a JSON document something stands, for messages. */
#pragma once

#include <stddef.h>

/* A step down: a member of an object by its key or, where key is NULL, an element of an array. */
struct json_step {
	const char *key;
	size_t index;
};

/* text is valid JSON. Line and column, from 1, of the key (or element) that the steps lead to; of
 * the innermost thing that is there when they lead to none. Columns count bytes. */
void json_where(const char *text, const struct json_step *steps, size_t n, int *ret_line,
	int *ret_column);
