/* Acts on IPC objects and keys that the runner has made on the host. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

ACT(act_shm)
{
	(void)c;
	probe_sysresult(r, shmget((key_t)probe_number(a[0]), 0, 0));
}

ACT(act_sem)
{
	(void)c;
	probe_sysresult(r, semget((key_t)probe_number(a[0]), 0, 0));
}

ACT(act_msg)
{
	(void)c;
	probe_sysresult(r, msgget((key_t)probe_number(a[0]), 0));
}

ACT(act_mq)
{
	/* The system call wants the name without its slash. */
	long fd = syscall(SYS_mq_open, a[0], O_RDONLY | O_CLOEXEC, 0, NULL);

	(void)c;
	probe_sysresult(r, fd);
	if (fd >= 0)
		close((int)fd);
}

/* NAME: a user key in the session keyring. Found and read, or not; never printed. */
ACT(act_key)
{
	char buf[256];
	long id = syscall(
		SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", a[0], 0);

	(void)c;
	probe_sysresult(
		r, id < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, id, buf, sizeof(buf)));
}

/* SERIAL: the same key by its number, as /proc/keys would list it. */
ACT(act_key_serial)
{
	char buf[256];

	(void)c;
	probe_sysresult(r,
		syscall(SYS_keyctl, KEYCTL_READ, probe_number(a[0]), buf, sizeof(buf)));
}

const struct probe_op probe_ipc[] = {
	{ "shm", PROBE_INPROC, 1, act_shm, "System V shared memory by key" },
	{ "sem", PROBE_INPROC, 1, act_sem, "System V semaphore by key" },
	{ "msg", PROBE_INPROC, 1, act_msg, "System V queue by key" },
	{ "mq", PROBE_INPROC, 1, act_mq, "POSIX queue by name" },
	{ "key", PROBE_INPROC, 1, act_key, "key of the session keyring" },
	{ "key_serial", PROBE_INPROC, 1, act_key_serial, "the same by its number" },
	{ 0 },
};
