/* A command as without sbx, in a child, so that something can be done after its end. */
#pragma once

#include "sbx.h"

/* Runs it in dir (NULL: here) and waits. It is in this process group, so that the terminal's
 * signals reach it by themselves; those that are sent to this process are passed on. Returns its
 * exit status, 128+n when signal n ended it (then *ret_signal is n); or -1 with e set when it
 * could not be executed. */
int plain_run(char *const cmd[], const char *dir, int *ret_signal, struct sbx_error *e);
