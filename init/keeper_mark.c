#include "keeper_mark.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static bool has_text(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char buf[KEEPER_TEXT_MAX + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	if (fd >= 0)
		close(fd);
	return n >= 0 && (size_t)n == strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

bool keeper_inner_stands(int dir, const char *name, const char *text)
{
	struct stat st;

	return *text && strcmp(name, KEEPER_INNER) == 0 &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       keeper_made(&st) && has_text(dir, name, text);
}

static bool holds_nothing_else(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool is = d != NULL;
	struct dirent *de;

	while (is && (de = readdir(d)))
		is = strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
		     keeper_inner_stands(dirfd(d), de->d_name, text);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return is;
}

/* The keeper of uid 0 makes an empty file where one of another user's makes a socket
 * (protect.c); each takes the other's for what it is. */
static bool is_of_type(const struct stat *st, mode_t type, const char *text)
{
	mode_t is = st->st_mode & S_IFMT;
	bool root = geteuid() == 0;

	if (is == S_IFSOCK && (st->st_mode & 07777) != 0)
		return false;
	if (is == S_IFSOCK)
		return type == S_IFSOCK || (type == S_IFREG && root && *text == '\0');
	return is == type ||
	       (is == S_IFREG && type == S_IFSOCK && !root && st->st_uid == 0);
}

bool keeper_stands(
	int dir, const char *name, mode_t type, const char *text, struct stat *ret)
{
	struct stat st = { 0 };
	bool is = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (!is)
		st.st_mode = 0;
	if (ret)
		*ret = st;
	if (!is || !keeper_made(&st) || !is_of_type(&st, type, text))
		return false;
	if (S_ISDIR(st.st_mode))
		return holds_nothing_else(dir, name, text);
	return S_ISSOCK(st.st_mode) || has_text(dir, name, text);
}

/* Mixes all bits of both numbers into one. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

off_t keeper_meeting_byte(const struct stat *dir)
{
	return (off_t)(mix(mix((uint64_t)dir->st_dev) + (uint64_t)dir->st_ino) >> 2) &
	       ~(off_t)1;
}
