/* Fills in the words in braces of a role's arguments: "{home}/.ssh/{new}". */
#pragma once

#include "roles.h"

/* Owned. Ends the program for a word that it does not know: a typing error in the table of
 * roles.c, which a unit test walks. */
char *role_expand(const char *template, const struct role_use *u);
