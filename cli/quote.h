/* Words for people and for sh. */
#pragma once

#include "sbx.h"

/* The word as sh reads it back: bare when that is safe, else in single quotes. Owned. */
char *quote_sh(const char *word);

/* May it be pasted into a terminal? UTF-8, and no control characters but newline and tab. */
bool quote_is_pasteable(const char *word);

/* For people: control characters, those of 8 bits included, and bytes that are no UTF-8 become
 * '?'. Owned. */
char *quote_plain(const char *word);
