/* What every unit test needs: cmocka's own preamble, named rows, a scratch directory. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sbx.h"

/* A case is a row with a name: run(row) for each of rows[n]. */
#define T_ROWS(group, rows, run)                                          \
	static int group(void)                                            \
	{                                                                 \
		struct CMUnitTest t[SBX_ARRAY_SIZE(rows)];                \
		memset(t, 0, sizeof(t));                                  \
		for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {       \
			t[i].name = rows[i].name;                         \
			t[i].test_func = run;                             \
			t[i].initial_state = (void *)(uintptr_t)&rows[i]; \
		}                                                         \
		return _cmocka_run_group_tests(                           \
			#group, t, SBX_ARRAY_SIZE(t), NULL, NULL);        \
	}

/* A host made by hand: uid 1000, home /home/u, merged usr, everything a Debian has. */
void t_host_debian(struct sbx_host *h, const char *workdir);
/* Makes path and says what stands there. */
void t_host_file(struct sbx_host *h, const char *path);
void t_host_dir(struct sbx_host *h, const char *path);

/* A fresh directory below /var/tmp, owned; t_rmdir() removes it and frees the name. */
char *t_mkdir(void);
void t_rmdir(char *path);

/* The operation with that destination, or NULL. */
const struct sbx_op *t_find_op(const struct sbx_plan *plan, const char *dst);
