/* How a placeholder is known (keeper.c): shared by the library and the program that it
 * carries. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Seconds; even, and without a fraction, for file systems that keep no more. Every change of
 * what is in it gives the placeholder another time. */
#define KEEPER_MARK 500000000

static inline bool keeper_made(const struct stat *st)
{
	return (S_ISDIR(st->st_mode) || S_ISREG(st->st_mode) || S_ISSOCK(st->st_mode)) &&
	       st->st_mtim.tv_sec == KEEPER_MARK && st->st_mtim.tv_nsec == 0;
}
