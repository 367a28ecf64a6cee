#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ALL32 UINT64_C(0xffffffff)
#define ARG(n, m, v)                                  \
	{                                             \
		.arg = (n), .mask = (m), .value = (v) \
	}
#define ANY(syscall, error, because)                                          \
	{                                                                     \
		.name = (syscall), .nr = -1, .err = (error), .why = (because) \
	}
#define NEW(syscall, number, error, because)                                        \
	{                                                                           \
		.name = (syscall), .nr = (number), .err = (error), .why = (because) \
	}
#define ONE(syscall, error, a, because)                                    \
	{                                                                  \
		.name = (syscall), .nr = -1, .err = (error), .cmp = { a }, \
		.why = (because)                                           \
	}
#define TWO(syscall, error, a, b, because)                                    \
	{                                                                     \
		.name = (syscall), .nr = -1, .err = (error), .cmp = { a, b }, \
		.why = (because)                                              \
	}
#define FAMILY(family, because) \
	ONE("socket", EAFNOSUPPORT, ARG(0, ALL32, family), because)
#define CLONE_NS(flag, because) ONE("clone", EPERM, ARG(0, flag, flag), because)

#define NESTED "a nested namespace would give back all capabilities"
#define SETID "a setuid or setgid file left in the work dir is honoured on the host"
#define MOUNTS "the mount tree is the wall; nobody inside may move it"
#define KEYS "keyrings have no namespace of their own: the host's keys are reachable"
#define PEEK "memory and descriptors of pid 1 hold the runner's secrets and its status"
#define KERNEL "kernel code or state that no namespace confines"
#define ASKS UINT64_C(0x80000000)
#define LEGACY \
	"gives the memory of old programs back: predictable addresses, executable data"
#define NEWTTY "typing into, or reconfiguring, the user's terminal"

/* EACCES where the kernel itself refuses a process without capabilities, with EPERM or, built
 * without the call, with ENOSYS: its answer could not be told from the filter's. */
/* clang-format off: a table, one thing a line */
static const struct sbx_filter_row rows[] = {
	ANY("mount", EPERM, MOUNTS),
	ANY("umount2", EPERM, MOUNTS),
	ANY("pivot_root", EACCES, MOUNTS),
	ANY("chroot", EPERM, MOUNTS),
	NEW("open_tree", 428, EPERM, MOUNTS),
	NEW("move_mount", 429, EACCES, MOUNTS),
	NEW("fsopen", 430, EACCES, MOUNTS),
	NEW("fsconfig", 431, EPERM, MOUNTS),
	NEW("fsmount", 432, EACCES, MOUNTS),
	NEW("fspick", 433, EACCES, MOUNTS),
	NEW("mount_setattr", 442, EPERM, MOUNTS),
	NEW("statmount", 457, EPERM, "lists mounts and their sources on the host"),
	NEW("listmount", 458, EPERM, "lists mounts"),
	NEW("open_tree_attr", 467, EPERM, MOUNTS),

	ANY("unshare", EPERM, NESTED),
	ANY("setns", EPERM, NESTED),
	CLONE_NS(CLONE_NEWUSER, NESTED),
	CLONE_NS(CLONE_NEWNS, NESTED),
	CLONE_NS(CLONE_NEWPID, NESTED),
	CLONE_NS(CLONE_NEWNET, NESTED),
	CLONE_NS(CLONE_NEWIPC, NESTED),
	CLONE_NS(CLONE_NEWUTS, NESTED),
	CLONE_NS(CLONE_NEWCGROUP, NESTED),
	NEW("clone3", 435, ENOSYS,
		"its flags are in memory, out of a filter's sight; libc falls back"),

	ANY("keyctl", EPERM, KEYS),
	ANY("add_key", EPERM, KEYS),
	ANY("request_key", EPERM, KEYS),

	ANY("ptrace", EPERM, PEEK),
	ANY("process_vm_readv", EPERM, PEEK),
	ANY("process_vm_writev", EPERM, PEEK),
	NEW("pidfd_getfd", 438, EPERM, PEEK),
	ANY("kcmp", EPERM, PEEK),

	NEW("io_uring_setup", 425, EPERM,
		"does what the filter refuses, behind its back"),
	NEW("io_uring_enter", 426, EPERM,
		"does what the filter refuses, behind its back"),
	NEW("io_uring_register", 427, EPERM,
		"does what the filter refuses, behind its back"),
	ANY("bpf", EACCES, KERNEL),
	ANY("perf_event_open", EPERM, KERNEL),
	ANY("userfaultfd", EPERM, "a favourite tool of kernel exploits"),
	ANY("kexec_load", EACCES, KERNEL),
	ANY("kexec_file_load", EACCES, KERNEL),
	ANY("init_module", EACCES, KERNEL),
	ANY("finit_module", EACCES, KERNEL),
	ANY("delete_module", EACCES, KERNEL),
	ANY("reboot", EACCES, KERNEL),
	ANY("swapon", EACCES, KERNEL),
	ANY("swapoff", EACCES, KERNEL),
	ANY("acct", EACCES, KERNEL),
	ANY("quotactl", EPERM, KERNEL),
	NEW("quotactl_fd", 443, EPERM, KERNEL),
	ANY("syslog", EACCES, "the kernel's log"),
	ANY("settimeofday", EPERM, KERNEL),
	ANY("clock_settime", EPERM, KERNEL),
	ANY("clock_adjtime", EPERM, KERNEL),
	ANY("name_to_handle_at", EPERM,
		"handles reach files by number, past the mount tree"),
	ANY("open_by_handle_at", EACCES,
		"handles reach files by number, past the mount tree"),
	ANY("fanotify_init", EPERM, "watches what the host does in shared trees"),
	ANY("move_pages", EPERM, KERNEL),
	ANY("migrate_pages", EPERM, KERNEL),

	/* Bit 31 tells them from 0xffffffff, which asks. */
	ONE("personality", EPERM, ARG(0, ASKS | READ_IMPLIES_EXEC, READ_IMPLIES_EXEC),
		LEGACY),
	ONE("personality", EPERM, ARG(0, ASKS | ADDR_NO_RANDOMIZE, ADDR_NO_RANDOMIZE),
		LEGACY),
	ONE("personality", EPERM, ARG(0, ASKS | MMAP_PAGE_ZERO, MMAP_PAGE_ZERO), LEGACY),
	ONE("personality", EPERM, ARG(0, ASKS | ADDR_COMPAT_LAYOUT, ADDR_COMPAT_LAYOUT),
		LEGACY),

	ONE("ioctl", EPERM, ARG(1, ALL32, TIOCSTI), NEWTTY),
	ONE("ioctl", EPERM, ARG(1, ALL32, 0x541C /* TIOCLINUX */), NEWTTY),
	ONE("ioctl", EPERM, ARG(1, ALL32, TIOCSETD), NEWTTY),

	FAMILY(AF_VSOCK, "reaches the hypervisor; no network namespace confines it"),
	FAMILY(AF_PACKET, "raw frames"),
	FAMILY(AF_ALG, "kernel crypto: attack surface"),
	FAMILY(AF_KEY, "IPsec keys"),
	FAMILY(44 /* AF_XDP */, "raw frames"),
	FAMILY(AF_BLUETOOTH, "devices of the host"),
	FAMILY(AF_CAN, "devices of the host"),
	FAMILY(AF_TIPC, "attack surface"),
	FAMILY(AF_RDS, "attack surface"),
	FAMILY(AF_NFC, "devices of the host"),

	ONE("chmod", EPERM, ARG(1, S_ISUID, S_ISUID), SETID),
	ONE("chmod", EPERM, ARG(1, S_ISGID, S_ISGID), SETID),
	ONE("fchmod", EPERM, ARG(1, S_ISUID, S_ISUID), SETID),
	ONE("fchmod", EPERM, ARG(1, S_ISGID, S_ISGID), SETID),
	ONE("fchmodat", EPERM, ARG(2, S_ISUID, S_ISUID), SETID),
	ONE("fchmodat", EPERM, ARG(2, S_ISGID, S_ISGID), SETID),
	{ .name = "fchmodat2",
		.nr = 452,
		.err = EPERM,
		.cmp = { ARG(2, S_ISUID, S_ISUID) },
		.why = SETID },
	{ .name = "fchmodat2",
		.nr = 452,
		.err = EPERM,
		.cmp = { ARG(2, S_ISGID, S_ISGID) },
		.why = SETID },
	ONE("creat", EPERM, ARG(1, S_ISUID, S_ISUID), SETID),
	ONE("creat", EPERM, ARG(1, S_ISGID, S_ISGID), SETID),
	TWO("open", EPERM, ARG(1, O_CREAT, O_CREAT), ARG(2, S_ISUID, S_ISUID), SETID),
	TWO("open", EPERM, ARG(1, O_CREAT, O_CREAT), ARG(2, S_ISGID, S_ISGID), SETID),
	TWO("openat", EPERM, ARG(2, O_CREAT, O_CREAT), ARG(3, S_ISUID, S_ISUID), SETID),
	TWO("openat", EPERM, ARG(2, O_CREAT, O_CREAT), ARG(3, S_ISGID, S_ISGID), SETID),
	TWO("open", EPERM, ARG(1, __O_TMPFILE, __O_TMPFILE), ARG(2, S_ISUID, S_ISUID),
		SETID),
	TWO("open", EPERM, ARG(1, __O_TMPFILE, __O_TMPFILE), ARG(2, S_ISGID, S_ISGID),
		SETID),
	TWO("openat", EPERM, ARG(2, __O_TMPFILE, __O_TMPFILE), ARG(3, S_ISUID, S_ISUID),
		SETID),
	TWO("openat", EPERM, ARG(2, __O_TMPFILE, __O_TMPFILE), ARG(3, S_ISGID, S_ISGID),
		SETID),
	ONE("mknod", EPERM, ARG(1, S_ISUID, S_ISUID), SETID),
	ONE("mknod", EPERM, ARG(1, S_ISGID, S_ISGID), SETID),
	ONE("mknodat", EPERM, ARG(2, S_ISUID, S_ISUID), SETID),
	ONE("mknodat", EPERM, ARG(2, S_ISGID, S_ISGID), SETID),
	NEW("openat2", 437, ENOSYS,
		"its mode is in memory, out of a filter's sight; callers fall back"),
};
/* clang-format on */

const struct sbx_filter_row *sbx_filter_rows(size_t *ret_n)
{
	*ret_n = SBX_ARRAY_SIZE(rows);
	return rows;
}

static int add_row(scmp_filter_ctx ctx, const struct sbx_filter_row *row)
{
	struct scmp_arg_cmp cmp[2];
	unsigned n = 0;
	int nr = row->nr >= 0 ? row->nr : seccomp_syscall_resolve_name(row->name);

	if (nr < 0) /* this architecture does not have the call: "open" on aarch64 */
		return 0;
	for (; n < 2 && row->cmp[n].mask; n++)
		cmp[n] = SCMP_CMP(row->cmp[n].arg, SCMP_CMP_MASKED_EQ, row->cmp[n].mask,
			row->cmp[n].value);
	return seccomp_rule_add_array(
		ctx, SCMP_ACT_ERRNO((uint16_t)row->err), nr, n, cmp);
}

static int build(scmp_filter_ctx ctx, const bool *skip, struct sbx_error *e)
{
	int r;

	/* Another architecture's calls (32-bit entries) would pass beside the table. */
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A tree instead of a chain: a hundred rows cost each call seven compares. */
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; r == 0 && i < SBX_ARRAY_SIZE(rows); i++) {
		if (skip && skip[i])
			continue;
		r = add_row(ctx, &rows[i]);
		if (r < 0)
			return sbx_error_set(e, SBX_E_SYSTEM, -r, "seccomp: row %s: %s",
				rows[i].name, strerror(-r));
	}
	return r < 0 ? sbx_error_set(e, SBX_E_SYSTEM, -r, "seccomp: %s", strerror(-r))
		     : 0;
}

/* Compiles into a memory file, its offset anywhere. */
static int compile(const bool *skip, struct sbx_error *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	SBX_CLEANUP_FD int fd = memfd_create("sbx-seccomp", MFD_CLOEXEC);
	int r;

	if (ctx == NULL || fd < 0) {
		r = errno;
		seccomp_release(ctx);
		return sbx_error_set(
			e, SBX_E_SYSTEM, r, "seccomp: cannot start a filter");
	}
	r = build(ctx, skip, e);
	if (r == 0) {
		r = seccomp_export_bpf(ctx, fd);
		if (r < 0)
			sbx_error_set(
				e, SBX_E_SYSTEM, -r, "seccomp: export: %s", strerror(-r));
	}
	seccomp_release(ctx);
	return r < 0 ? r : SBX_TAKE_FD(fd);
}

int sbx_filter_memfd(const bool *skip, struct sbx_error *e)
{
	/* The whole table never changes: compiled once a process. */
	static char program[16384];
	static size_t len;
	char part[sizeof(program)], *to = skip ? part : program;
	SBX_CLEANUP_FD int fd = -1;
	ssize_t n = (ssize_t)len;

	if (skip || len == 0) {
		fd = compile(skip, e);
		if (fd < 0)
			return fd;
		n = pread(fd, to, sizeof(program), 0);
		if (n <= 0 || n == (ssize_t)sizeof(program))
			return sbx_error_set(e, SBX_E_SYSTEM, EOVERFLOW,
				"seccomp: program of %zd bytes", n);
		if (skip == NULL)
			len = (size_t)n;
	}
	sbx_close_fd(&fd);
	fd = sbx_memfd("sbx-seccomp", to, (size_t)n);
	if (fd < 0)
		return sbx_error_set(
			e, SBX_E_SYSTEM, -fd, "seccomp: memfd: %s", strerror(-fd));
	return SBX_TAKE_FD(fd);
}
