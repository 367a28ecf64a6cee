/* Bare system calls with arguments that must fail *differently* when allowed (EBADF, EFAULT,
 * EINVAL, ESRCH) and when filtered (EPERM, ENOSYS, EAFNOSUPPORT). Nothing happens either way. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACT(name) \
	static void name(const struct probe_ctx *c, char **a, struct probe_result *r)

#define NOFD (-1L)
#define HIGH (1UL << 32)
#define TIOC_STI 0x5412L
#define TIOC_LINUX 0x541CL
#define TC_GETS 0x5401L
/* MAP_SHARED-like impossible flags: the kernel looks at them before it acts. */
#define BAD_FLAGS 0x7fffffffL

struct bad_call {
	const char *name;
	long nr;
	long arg[6];
};

static const unsigned action_errno = SECCOMP_RET_ERRNO;

/* clang-format off: a table, one thing a line */
static const struct bad_call calls[] = {
	{ "mount", SYS_mount, { 0, 0, 0, MS_REMOUNT | MS_BIND, 0 } },
	{ "umount2", SYS_umount2, { 0, MNT_DETACH } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "pivot_root", SYS_pivot_root, { 0, 0 } },
	{ "open_tree", 428, { NOFD, (long)"", AT_EMPTY_PATH } },
	{ "move_mount", 429, { NOFD, (long)"", NOFD, (long)"", 4 } },
	{ "fsopen", 430, { 0, 0 } },
	{ "fsconfig", 431, { NOFD, 0, 0, 0, 0 } },
	{ "fsmount", 432, { NOFD, 0, 0 } },
	{ "fspick", 433, { NOFD, (long)"", 8 } },
	{ "mount_setattr", 442, { NOFD, (long)"", AT_EMPTY_PATH, 0, 0 } },
	{ "open_tree_attr", 467, { NOFD, (long)"", AT_EMPTY_PATH, 0, 0 } },
	{ "statmount", 457, { 0, 0, 0, 0 } },
	{ "listmount", 458, { 0, 0, 0, 0 } },
	{ "unshare", SYS_unshare, { BAD_FLAGS } },
	{ "setns", SYS_setns, { NOFD, 0 } },
	/* CLONE_NEWUSER with CLONE_FS is refused by every kernel that sees it. */
	{ "clone_newuser", SYS_clone, { CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0 } },
	{ "clone3", 435, { 0, 0 } },
	{ "keyctl", SYS_keyctl, { 0x7fff, 0 } },
	{ "add_key", SYS_add_key, { 0, 0, 0, 0, 0 } },
	{ "request_key", SYS_request_key, { 0, 0, 0, 0 } },
	{ "ptrace", SYS_ptrace, { PTRACE_PEEKDATA, 0x7ffffff0, 0, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 0, 0, 0, 0, 0, BAD_FLAGS } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0, 0, 0, 0, 0, BAD_FLAGS } },
	{ "pidfd_getfd", 438, { NOFD, NOFD, 0 } },
	{ "kcmp", SYS_kcmp, { 0x7ffffff0, 0x7ffffff0, 0, 0, 0 } },
	{ "io_uring_setup", 425, { 1, 0 } },
	{ "io_uring_enter", 426, { NOFD, 0, 0, 0, 0, 0 } },
	{ "io_uring_register", 427, { NOFD, 0, 0, 0 } },
	{ "perf_event_open", SYS_perf_event_open, { 0, 0, NOFD, NOFD, 0 } },
	{ "bpf", SYS_bpf, { BAD_FLAGS, 0, 0 } },
	{ "userfaultfd", SYS_userfaultfd, { BAD_FLAGS } },
	{ "name_to_handle_at", SYS_name_to_handle_at, { NOFD, 0, 0, 0, BAD_FLAGS } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { NOFD, 0, 0 } },
	/* FAN_REPORT_FID: what an unprivileged caller may ask for; then nonsense. */
	{ "fanotify_init", SYS_fanotify_init, { 0x200, BAD_FLAGS } },
	{ "quotactl", SYS_quotactl, { 0x7fffffff, 0, 0, 0 } },
	{ "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, BAD_FLAGS } },
	{ "clock_settime", SYS_clock_settime, { 0x7fff, 0 } },
	{ "clock_adjtime", SYS_clock_adjtime, { 0x7fff, 0 } },
	{ "syslog", SYS_syslog, { 3, 0, NOFD } },
	{ "finit_module", SYS_finit_module, { NOFD, 0, 0 } },
	{ "kexec_load", SYS_kexec_load, { 0, 0x7fff, 0, BAD_FLAGS } },
	{ "ioctl_tiocsti", SYS_ioctl, { NOFD, TIOC_STI, 0 } },
	{ "ioctl_tiocsti_high", SYS_ioctl, { NOFD, (long)(TIOC_STI | HIGH), 0 } },
	{ "ioctl_tioclinux", SYS_ioctl, { NOFD, TIOC_LINUX, 0 } },
	{ "fchmod_suid", SYS_fchmod, { NOFD, 04755 } },
	{ "fchmod_sgid", SYS_fchmod, { NOFD, 02755 } },
	{ "fchmodat_suid", SYS_fchmodat, { NOFD, (long)"x", 04755 } },
	{ "fchmodat2_suid", 452, { NOFD, (long)"x", 04755, 0 } },
	{ "openat_suid", SYS_openat,
		{ NOFD, (long)"x", O_CREAT | O_EXCL | O_WRONLY, 04755 } },
	{ "openat_tmpfile_suid", SYS_openat,
		{ NOFD, (long)"x", O_TMPFILE | O_WRONLY, 04755 } },
	{ "mknodat_suid", SYS_mknodat, { NOFD, (long)"x", S_IFREG | 04755, 0 } },
	{ "fchmodat_sgid", SYS_fchmodat, { NOFD, (long)"x", 02755 } },
	{ "fchmodat2_sgid", 452, { NOFD, (long)"x", 02755, 0 } },
	{ "openat_sgid", SYS_openat,
		{ NOFD, (long)"x", O_CREAT | O_EXCL | O_WRONLY, 02755 } },
	{ "openat_tmpfile_sgid", SYS_openat,
		{ NOFD, (long)"x", O_TMPFILE | O_WRONLY, 02755 } },
	{ "mknodat_sgid", SYS_mknodat, { NOFD, (long)"x", S_IFREG | 02755, 0 } },
#ifdef SYS_open /* the old calls, which newer machines never had */
	{ "chmod_suid", SYS_chmod, { 0, 04755 } },
	{ "chmod_sgid", SYS_chmod, { 0, 02755 } },
	{ "creat_suid", SYS_creat, { 0, 04755 } },
	{ "creat_sgid", SYS_creat, { 0, 02755 } },
	{ "open_suid", SYS_open, { 0, O_CREAT | O_WRONLY, 04755 } },
	{ "open_sgid", SYS_open, { 0, O_CREAT | O_WRONLY, 02755 } },
	{ "open_tmpfile_suid", SYS_open, { 0, O_TMPFILE | O_WRONLY, 04755 } },
	{ "open_tmpfile_sgid", SYS_open, { 0, O_TMPFILE | O_WRONLY, 02755 } },
	{ "mknod_suid", SYS_mknod, { 0, S_IFREG | 04755, 0 } },
	{ "mknod_sgid", SYS_mknod, { 0, S_IFREG | 02755, 0 } },
#else
	{ "chmod_suid", -1, { 0 } },
	{ "chmod_sgid", -1, { 0 } },
	{ "creat_suid", -1, { 0 } },
	{ "creat_sgid", -1, { 0 } },
	{ "open_suid", -1, { 0 } },
	{ "open_sgid", -1, { 0 } },
	{ "open_tmpfile_suid", -1, { 0 } },
	{ "open_tmpfile_sgid", -1, { 0 } },
	{ "mknod_suid", -1, { 0 } },
	{ "mknod_sgid", -1, { 0 } },
#endif
	/* CLONE_THREAD without CLONE_SIGHAND is refused before any namespace is made. */
	{ "clone_newns", SYS_clone, { CLONE_NEWNS | CLONE_THREAD, 0 } },
	{ "clone_newpid", SYS_clone, { CLONE_NEWPID | CLONE_THREAD, 0 } },
	{ "clone_newnet", SYS_clone, { CLONE_NEWNET | CLONE_THREAD, 0 } },
	{ "clone_newipc", SYS_clone, { CLONE_NEWIPC | CLONE_THREAD, 0 } },
	{ "clone_newuts", SYS_clone, { CLONE_NEWUTS | CLONE_THREAD, 0 } },
	{ "clone_newcgroup", SYS_clone, { CLONE_NEWCGROUP | CLONE_THREAD, 0 } },
	{ "ioctl_tiocsetd", SYS_ioctl, { NOFD, 0x5423L, 0 } },
	{ "migrate_pages", SYS_migrate_pages, { 0x7ffffff0, 0, 0, 0 } },
	{ "quotactl_fd", 443, { NOFD, 0, 0, 0 } },
	{ "settimeofday", SYS_settimeofday, { 8, 0 } },
	{ "kexec_file_load", SYS_kexec_file_load, { NOFD, NOFD, 0, 0, BAD_FLAGS } },
	{ "init_module", SYS_init_module, { 0, 0, (long)"" } },
	{ "delete_module", SYS_delete_module, { (long)"sbx-no-such-module", 0 } },
	{ "reboot", SYS_reboot, { 0, 0, 0, 0 } },
	{ "swapon", SYS_swapon, { (long)"/nonexistent/swap", 0 } },
	{ "swapoff", SYS_swapoff, { (long)"/nonexistent/swap" } },
	{ "acct", SYS_acct, { (long)"/nonexistent/acct" } },
	/* An impossible type is refused before the family is even looked for. */
	{ "socket_vsock", SYS_socket, { AF_VSOCK, 0x7f, 0 } },
	{ "socket_packet", SYS_socket, { AF_PACKET, 0x7f, 0 } },
	{ "socket_alg", SYS_socket, { AF_ALG, 0x7f, 0 } },
	{ "socket_key", SYS_socket, { AF_KEY, 0x7f, 0 } },
	{ "socket_xdp", SYS_socket, { 44, 0x7f, 0 } },
	{ "socket_bluetooth", SYS_socket, { AF_BLUETOOTH, 0x7f, 0 } },
	{ "socket_can", SYS_socket, { AF_CAN, 0x7f, 0 } },
	{ "socket_tipc", SYS_socket, { AF_TIPC, 0x7f, 0 } },
	{ "socket_rds", SYS_socket, { AF_RDS, 0x7f, 0 } },
	{ "socket_nfc", SYS_socket, { AF_NFC, 0x7f, 0 } },
	{ "socket_inet", SYS_socket, { AF_INET, 0x7f, 0 } },
	{ "seccomp_query", SYS_seccomp,
		{ SECCOMP_GET_ACTION_AVAIL, 0, (long)&action_errno } },
	{ "openat2", 437, { NOFD, 0, 0, 0 } },
	/* The benign twins: a filter that is too wide shows here. */
	{ "ioctl_tcgets", SYS_ioctl, { NOFD, TC_GETS, 0 } },
	{ "fchmod_plain", SYS_fchmod, { NOFD, 0755 } },
	{ "fchmodat_plain", SYS_fchmodat, { NOFD, (long)"x", 0755 } },
	{ "openat_plain", SYS_openat,
		{ NOFD, (long)"x", O_CREAT | O_EXCL | O_WRONLY, 0755 } },
	{ "openat_nocreat_suid", SYS_openat, { NOFD, (long)"x", O_RDONLY, 04755 } },
	{ "mknodat_plain", SYS_mknodat, { NOFD, (long)"x", S_IFREG | 0755, 0 } },
	/* CLONE_THREAD without CLONE_SIGHAND: no thread is made. */
	{ "clone_thread", SYS_clone, { CLONE_THREAD, 0 } },
	{ "personality_query", SYS_personality, { 0xffffffffL } },
};
/* clang-format on */

ACT(act_syscall)
{
	(void)c;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, a[0]) == 0) {
			const long *g = calls[i].arg;

			probe_sysresult(r,
				syscall(calls[i].nr, g[0], g[1], g[2], g[3], g[4], g[5]));
			return;
		}
	probe_broken(r, "unknown system call");
}

/* The real act. Refused, it costs nothing; granted, the child is gone at once. */
ACT(act_userns)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	(void)c;
	(void)a;
	if (pid == 0)
		_exit(0);
	probe_sysresult(r, pid);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
}

ACT(act_ptrace_child)
{
	pid_t pid = fork();

	(void)c;
	(void)a;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (pid < 0) {
		probe_broken(r, "fork failed");
		return;
	}
	probe_sysresult(r, ptrace(PTRACE_SEIZE, pid, 0, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* FLAG (hexadecimal) alone, and back again. */
ACT(act_personality)
{
	unsigned long flag = strtoul(a[0], NULL, 16);
	long was = syscall(SYS_personality, 0xffffffffUL);

	(void)c;
	probe_sysresult(r, syscall(SYS_personality, flag) < 0 ? -1 : 0);
	if (was >= 0)
		syscall(SYS_personality, (unsigned long)was);
}

/* getpid by the 32-bit entry, which a filter for one architecture does not see. Where the
 * kernel has no such entry the instruction is a fault; other machines have none to try. */
ACT(act_int80)
{
#ifdef __x86_64__
	long ret = 20;

	__asm__ volatile("int $0x80" : "+a"(ret) : : "memory", "r8", "r9", "r10", "r11");
	errno = (int)-ret;
	probe_sysresult(r, ret < 0 ? -1 : 0);
#else
	raise(SIGSEGV);
#endif
	(void)c;
	(void)a;
}

const struct probe_op probe_sys[] = {
	{ "syscall", PROBE_INPROC, 1, act_syscall,
		"a system call with impossible arguments" },
	{ "personality", PROBE_INPROC, 1, act_personality, "a way of old programs" },
	{ "userns", PROBE_INPROC, 0, act_userns, "a child in a new user namespace" },
	{ "int80", PROBE_FORK, 0, act_int80, "a 32-bit system call" },
	{ "ptrace_child", PROBE_INPROC, 0, act_ptrace_child,
		"trace a child of one's own" },
	{ 0 },
};
