#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Far from the numbers a payload gets, so that a leak cannot hide behind its own files. */
#define LEAK_BASE 100

/* Positive, and not IPC_PRIVATE. */
static int key_of(const char *nonce)
{
	unsigned key = 0;

	for (const char *p = nonce; *p; p++)
		key = (key * 31 + (unsigned char)*p) & 0x7fffffff;
	return (int)(key ? key : 1);
}

/* Should the key be taken already, nothing of its owner's is removed: the nonce is forgotten. */
static int create_sysv(struct objects *o)
{
	if (shmget(o->key, 0, 0) >= 0 || semget(o->key, 0, 0) >= 0 ||
		msgget(o->key, 0) >= 0) {
		free(o->nonce);
		o->nonce = NULL;
		return -EEXIST;
	}
	if (shmget(o->key, 4096, IPC_CREAT | IPC_EXCL | 0600) < 0 ||
		semget(o->key, 1, IPC_CREAT | IPC_EXCL | 0600) < 0 ||
		msgget(o->key, IPC_CREAT | IPC_EXCL | 0600) < 0)
		return -errno;
	return 0;
}

static int create_posix(const char *nonce)
{
	SBX_CLEANUP_FREE char *name = sbx_xasprintf("/%s", nonce);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("/dev/shm/%s", nonce);
	SBX_CLEANUP_FD int fd = -1;
	/* Small: all queues of a user share a limit of 800 kB. */
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 64 };
	mqd_t q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);

	if (q == (mqd_t)-1)
		return -errno;
	mq_close(q);
	fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

/* In a session keyring of the runner's own: it goes with the process. */
static int create_key(struct objects *o)
{
	static bool joined;

	if (!joined && syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return errno == ENOSYS || errno == EPERM ? 0 : -errno;
	joined = true;
	if (syscall(SYS_add_key, "user", o->nonce, "canary", strlen("canary"),
		    KEY_SPEC_SESSION_KEYRING) < 0)
		return -errno;
	o->has_key = true;
	return 0;
}

static int create_victim(struct objects *o, const char *probe, char *const *env)
{
	char *const argv[] = { (char *)probe, (char *)"--wait",
		(char *)OBJECTS_VICTIM_WORD, NULL };

	return -posix_spawn(&o->victim, probe, NULL, NULL, argv, env);
}

static int leak(const char *path, int flags, int base)
{
	SBX_CLEANUP_FD int fd = open(path, flags | O_CLOEXEC);
	int high;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD, base); /* without close-on-exec: that is the point */
	return high < 0 ? -errno : high;
}

static int create_leaks(struct objects *o, const char *dir, const char *file)
{
	o->leak_dir = leak(dir, O_RDONLY | O_DIRECTORY, LEAK_BASE);
	o->leak_path = leak(dir, O_PATH | O_DIRECTORY, LEAK_BASE);
	o->leak_file = leak(file, O_RDONLY, LEAK_BASE);
	o->leak_low = leak(file, O_RDONLY, 3);
	if (o->leak_dir < 0)
		return o->leak_dir;
	if (o->leak_path < 0)
		return o->leak_path;
	return o->leak_file < 0 ? o->leak_file : o->leak_low < 0 ? o->leak_low : 0;
}

int objects_create(struct objects *ret, const char *nonce, const char *probe,
	char *const *env, const char *secret_dir, const char *secret_file)
{
	struct objects o = OBJECTS_NONE;
	int r;

	o.nonce = sbx_xstrdup(nonce);
	o.key = key_of(nonce);
	r = create_sysv(&o);
	if (r == 0)
		r = create_posix(nonce);
	if (r == 0)
		r = create_key(&o);
	if (r == 0)
		r = create_victim(&o, probe, env);
	if (r == 0)
		r = create_leaks(&o, secret_dir, secret_file);
	if (r < 0)
		objects_done(&o);
	else
		*ret = o;
	return r;
}

void objects_remove_named(const char *nonce)
{
	SBX_CLEANUP_FREE char *name = sbx_xasprintf("/%s", nonce);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("/dev/shm/%s", nonce);
	int key = key_of(nonce), id;

	id = shmget(key, 0, 0);
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	id = semget(key, 0, 0);
	if (id >= 0)
		semctl(id, 0, IPC_RMID);
	id = msgget(key, 0);
	if (id >= 0)
		msgctl(id, IPC_RMID, NULL);
	mq_unlink(name);
	unlink(file);
}

static void remove_key(const struct objects *o)
{
	long id = o->has_key ? syscall(SYS_keyctl, KEYCTL_SEARCH,
				       KEY_SPEC_SESSION_KEYRING, "user", o->nonce, 0)
			     : -1;

	if (id >= 0)
		syscall(SYS_keyctl, KEYCTL_INVALIDATE, id);
}

void objects_done(struct objects *o)
{
	if (o->nonce) {
		objects_remove_named(o->nonce);
		remove_key(o);
	}
	if (o->victim > 0) {
		kill(o->victim, SIGKILL);
		waitpid(o->victim, NULL, 0);
	}
	sbx_close_fd(&o->leak_dir);
	sbx_close_fd(&o->leak_path);
	sbx_close_fd(&o->leak_file);
	sbx_close_fd(&o->leak_low);
	free(o->nonce);
	*o = OBJECTS_NONE;
}
