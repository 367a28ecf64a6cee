/* Rows of the agents' table from the user: $XDG_CONFIG_HOME/sbx/agents.d/NAME.json, by default
 * ~/.config/sbx/agents.d. sbx-agents(5) has the form. Read strictly: what is not understood is an
 * error with file, line and column, and nothing runs. */
#pragma once

#include "sbx.h"

/* Reads the files in the order of their names and puts the rows to those that are built in, or in
 * the place of one of the same name. Once a process; the rows stay. Root has none: whose they
 * would be is not known yet. Returns 0, or negative with e set. */
int agents_user_load(struct sbx_error *e);
