/* How a placeholder is known (keeper.c): shared by the library and the program that it
 * carries. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Seconds; even, and without a fraction, for file systems that keep no more. Every change of
 * what is in it gives the placeholder another time. */
#define KEEPER_MARK 500000000

#define KEEPER_TEXT_MAX 255
/* Of a directory with a text: keeps git from clearing it away. */
#define KEEPER_INNER ".gitignore"

/* Has it the time? Anybody can set one: where it matters ask keeper_stands(). */
static inline bool keeper_made(const struct stat *st)
{
	return (S_ISDIR(st->st_mode) || S_ISREG(st->st_mode) || S_ISSOCK(st->st_mode)) &&
	       st->st_mtim.tv_sec == KEEPER_MARK && st->st_mtim.tv_nsec == 0;
}

/* True when name in dir is a placeholder of that type (S_IFDIR, S_IFREG, S_IFSOCK) and text: by
 * its time and by what is in it, which is nothing of anybody's. *ret, which may be NULL, is
 * written whenever something stands there, else it has st_mode 0. */
bool keeper_stands(
	int dir, const char *name, mode_t type, const char *text, struct stat *ret);

/* Is name in the placeholder directory dir the file with its text, untouched? */
bool keeper_inner_stands(int dir, const char *name, const char *text);

/* Where keepers meet (keeper.c): two bytes of a file that no sandbox shows, for the directory
 * that placeholders stand in. Read-locked: the first by who has placeholders there, the second
 * by who is about to remove them. */
#define KEEPER_MEETING "/"
off_t keeper_meeting_byte(const struct stat *dir);
