#include "fds.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

void fds_keep_only(const int *keep, int n)
{
	DIR *d = opendir("/proc/self/fd");

	if (d == NULL)
		return;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		int fd = (int)strtol(e->d_name, NULL, 10);
		bool ours = fd <= 2 || fd == dirfd(d);

		for (int i = 0; i < n; i++)
			ours |= fd == keep[i];
		if (!ours)
			close(fd);
	}
	closedir(d);
}
