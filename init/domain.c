#include "domain.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of the build machine. */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION_FLAG 1U
#define LANDLOCK_SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNALS (1ULL << 1)
#define SCOPES_ABI 6

struct ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

int domain_enter(void)
{
	const struct ruleset wanted = { .scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX |
						  LANDLOCK_SCOPE_SIGNALS };
	long abi = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION_FLAG);
	int fd, r = 0;

	if (abi < SCOPES_ABI)
		return 0;
	fd = (int)syscall(LANDLOCK_CREATE_RULESET, &wanted, sizeof(wanted), 0);
	if (fd < 0 || syscall(LANDLOCK_RESTRICT_SELF, fd, 0) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r < 0 ? r : (int)abi;
}
