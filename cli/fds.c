/* sbx fds: opens the descriptors that a command line of 'sbx plan' names, and executes it. */
#include "cli.h"
#include "filter.h"
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Opens what one word asks for. Returns a descriptor or -errno. */
static int open_kind(const char *kind, struct sbx_error *e)
{
	int fd;

	if (strcmp(kind, "filter") == 0)
		return sbx_filter_memfd(NULL, e);
	if (strcmp(kind, "init") == 0)
		return sbx_init_memfd();
	if (strncmp(kind, "text:", 5) == 0)
		return sbx_memfd("sbx-text", kind + 5, strlen(kind + 5));
	if (strncmp(kind, "copy:", 5) == 0) {
		fd = open(kind + 5, O_RDONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	return -EINVAL;
}

static int place(const char *word, struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd = -1;
	char *end;
	long n = strtol(word, &end, 10);

	if (end == word || *end != '=' || n < 3 || n > INT_MAX) {
		sbx_error_set(e, SBX_E_USAGE, EINVAL,
			"'%s' is not N=filter, N=init, N=copy:FILE or N=text:TEXT", word);
		return -1;
	}
	fd = open_kind(end + 1, e);
	if (fd < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, -fd, "'%s': %s", word, strerror(-fd));
		return -1;
	}
	if (fd == n) {
		fcntl(SBX_TAKE_FD(fd), F_SETFD, 0);
	} else if (dup2(fd, (int)n) < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "'%s': %m", word);
		return -1;
	}
	return 0;
}

int cmd_fds(const struct options *o)
{
	struct sbx_error e = { 0 };

	for (int i = 0; i < o->n_words; i++)
		if (place(o->words[i], &e) < 0)
			return cli_complain(&e);
	if (o->args == NULL || o->args[0] == NULL) {
		sbx_error_set(&e, SBX_E_USAGE, EINVAL, "fds: no command after '--'");
		return cli_complain(&e);
	}
	execv(o->args[0], o->args);
	sbx_error_set(&e, SBX_E_SYSTEM, errno, "%s: %m", o->args[0]);
	return cli_complain(&e);
}
