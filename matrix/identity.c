#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ERROR_MAX 256
#define NOBODY 65534

static const char note_root[] =
	"the cells run as uid 0, which user namespaces do not confine: see docs/security.md";
static const char note_dropped[] = "started by root, which gave up its rights first";

static int look_up(const char *who, uid_t *ret_uid, gid_t *ret_gid, char *error)
{
	struct passwd *pw = getpwnam(who ? who : "nobody");
	char *end;
	unsigned long n;

	if (pw == NULL && who) {
		errno = 0;
		n = strtoul(who, &end, 10);
		if (errno || end == who || *end || n > 0xfffffffeUL) {
			snprintf(error, ERROR_MAX, "--uid: there is no user '%s'", who);
			return -1;
		}
		pw = getpwuid((uid_t)n);
		*ret_uid = (uid_t)n;
		*ret_gid = pw ? pw->pw_gid : (gid_t)n;
	} else {
		*ret_uid = pw ? pw->pw_uid : NOBODY;
		*ret_gid = pw ? pw->pw_gid : NOBODY;
	}
	return 0;
}

static int drop(uid_t uid, gid_t gid, char *error)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
		setresuid(uid, uid, uid) < 0) {
		snprintf(error, ERROR_MAX, "cannot become uid %u: %s", (unsigned)uid,
			strerror(errno));
		return -1;
	}
	/* A change of uid makes /proc/self unreadable to its owner; nothing here is secret. */
	prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

bool identity_wants_root(const char *who)
{
	char error[ERROR_MAX];
	uid_t uid;
	gid_t gid;

	return who && look_up(who, &uid, &gid, error) == 0 && uid == 0;
}

int identity_assume(const char *who, const char **ret_note, char *error)
{
	uid_t uid;
	gid_t gid;

	*ret_note = NULL;
	if (geteuid() != 0 && who == NULL)
		return 0;
	if (look_up(who, &uid, &gid, error) < 0)
		return -1;
	if (geteuid() != 0) {
		if (uid == geteuid())
			return 0;
		snprintf(error, ERROR_MAX,
			"--uid: only root may run the cells as another user");
		return -1;
	}
	if (uid == 0) {
		*ret_note = note_root;
		return 0;
	}
	if (drop(uid, gid, error) < 0)
		return -1;
	*ret_note = note_dropped;
	return 0;
}
