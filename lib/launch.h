/* From plan to process: the only place that forks and executes bwrap, and the hygiene that
 * no bwrap option gives (docs/security.md, section "The launch").
 *
 * A launch owns a pidfd of the bwrap monitor, one of the sandbox's first process, and the
 * pipe on which bwrap reports. The caller may poll all three, or just call sbx_launch_wait().
 */
#pragma once

#include "argv.h"
#include "cgroup.h"
#include "keeper.h"

#include <sys/types.h>

/* Steps between fork and exec. Each can be left out, for sbx-verify's mutants only. */
enum sbx_step {
	SBX_STEP_ENV = 1 << 0, /* filtered environment (/proc/1/environ shows bwrap's) */
	SBX_STEP_STDIO =
		1 << 1, /* 0, 1 and 2 open: a closed one hands out the host tree */
	SBX_STEP_CLOSE = 1 << 2, /* everything from 3 up closed but what is declared */
	SBX_STEP_SESSION = 1 << 3, /* a session of its own: kill(0) stays inside */
	SBX_STEP_SIGNALS =
		1 << 4, /* dispositions and mask reset: ignored SIGCHLD hangs bwrap */
	SBX_STEP_CORE =
		1 << 5, /* no core dump: the host's handler would read the crash */
	SBX_STEP_DEATHSIG =
		1 << 6, /* dies with the runner, also before bwrap arranges it */
	SBX_STEP_KEYRING = 1 << 7, /* a session keyring of its own */
	SBX_STEP_GROUPS = 1 << 8, /* no supplementary groups, where permitted */
	SBX_STEP_SEPARATOR = 1 << 9, /* `--`: the command's words are no options */
	/* What pid 1 does (init/init.c): */
	SBX_STEP_INIT_HIDE = 1 << 10, /* it can be neither read nor traced */
	SBX_STEP_INIT_SCOPE =
		1 << 11, /* no abstract socket and no signal leaves a landlock domain */
	SBX_STEP_INIT_LEASH = 1 << 12, /* it ends all when the runner is gone */
	SBX_STEP_INIT = 1 << 13, /* it is there at all */
	SBX_STEP_MOUNTS = 1 << 14, /* what the host mounts later does not arrive */
	SBX_STEP_PRIORITY = 1 << 15, /* no precedence over others: scheduling, memory */
	/* What the relay does (relay.h): */
	SBX_STEP_RELAY =
		1 << 16, /* it stands between the command and the user's 0, 1, 2 */
	SBX_STEP_SCREEN = 1 << 17, /* control sequences reach the screen alone */
	/* What pid 1 does, again: */
	SBX_STEP_INIT_LIMITS = 1 << 18, /* the limits of the plan */
	SBX_STEP_ALL = (1 << 19) - 1,
};

#define SBX_LAUNCH_TERMINAL (-1)

struct sbx_launch_opts {
	int in, out, err; /* descriptors for 0, 1, 2; >= 3, or -1 to inherit */
	/* What the command has as 0, 1 and 2, where that is not to be bwrap's as well: a descriptor
	 * >= 3, SBX_LAUNCH_TERMINAL for a terminal of the sandbox's own, which only a relay can
	 * look after (relay.h), or 0: as bwrap */
	int command[3];
	const struct sbx_cgroup
		*cgroup; /* made before, for this plan; NULL: the launch makes it */
	bool allow_root; /* uid 0 is refused otherwise */
	unsigned skip_steps; /* enum sbx_step bits; 0 but for mutants */
	const bool *skip_filter; /* as for sbx_filter_memfd(); NULL but for mutants */
};

/* { .in = -1, .out = -1, .err = -1 } */
#define SBX_LAUNCH_INHERIT ((struct sbx_launch_opts){ .in = -1, .out = -1, .err = -1 })

struct sbx_launch {
	pid_t pid; /* the bwrap monitor */
	int pidfd; /* readable when it has ended */
	int status_fd; /* bwrap's --json-status-fd; -1 after its end */
	int init_fd; /* what pid 1 says (init/init.c); -1 after its end */
	int control_fd; /* the way to pid 1; its closing ends everything inside */
	pid_t child; /* the sandbox's pid 1, in the caller's numbers; 0: not known yet */
	int child_pidfd; /* -1: not known, or gone before it could be opened */
	bool private_mounts; /* what the host mounts during the session stays outside */
	struct sbx_cgroup cgroup; /* its own, if the plan wants one and none was given */
	const struct sbx_cgroup *in; /* the one that it is in, borrowed; NULL: its own */
	struct sbx_keeper keeper; /* of the placeholders for reserved paths */
	char report[1024]; /* bytes of status_fd */
	size_t report_len;
	char said[256]; /* bytes of init_fd */
	size_t said_len;
	int stopped; /* the signal that has stopped the command; the caller takes it off */
};

#define SBX_LAUNCH_NONE                    \
	((struct sbx_launch){ .pidfd = -1, \
		.status_fd = -1,           \
		.init_fd = -1,             \
		.control_fd = -1,          \
		.child_pidfd = -1,         \
		.cgroup = SBX_CGROUP_NONE, \
		.keeper = SBX_KEEPER_NONE })

enum sbx_how {
	SBX_HOW_EXITED, /* the command ran; code is its status, 128+n for a signal */
	SBX_HOW_NOT_STARTED, /* bwrap ended without executing it */
	SBX_HOW_NOT_EXECUTED, /* the sandbox was there, but not the command; code: errno */
	SBX_HOW_UNHELD, /* the kernel's landlock refused; the command did not run; code: errno */
	SBX_HOW_UNLIMITED, /* a limit cannot be set; the command did not run; code: errno */
	SBX_HOW_KILLED, /* the monitor was killed by a signal */
	SBX_HOW_ABORTED, /* a signal ended the start (relay.h); code: which one */
	SBX_HOW_TIMEOUT, /* the deadline passed; everything was killed */
};

struct sbx_exit {
	enum sbx_how how;
	int code; /* for EXITED: of the command; else of the monitor, or its signal */
	int signal; /* for EXITED: the signal that ended the command, 0: none */
	int landlock; /* ABI of the domain it was held by; 0: none; -1: it was not executed */
	bool starved; /* the memory of its cgroup did not suffice, and the kernel ended it */
	bool survivors; /* processes outlived the monitor by the grace time and were killed */
};

/* Call it from a thread that stays: the sandbox ends with the thread that started it.
 *
 * Starts bwrap with the plan around cmd (NULL-ended, cmd[0] a path as seen inside, or a name
 * looked up inside). On success the caller ends *ret with sbx_launch_done(). On failure
 * nothing runs. */
SBX_PUBLIC int sbx_launch_start(struct sbx_launch *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, char *const cmd[], const struct sbx_launch_opts *opts,
	struct sbx_error *e);

/* Sends the command a signal. Returns 0, or -errno when pid 1 is gone. A command that has 0, 1
 * or 2 of its own leads a process group: sig | SBX_SIGNAL_GROUP is for all of that. */
#define SBX_SIGNAL_GROUP 128
SBX_PUBLIC int sbx_launch_signal(struct sbx_launch *l, int sig);

/* Reads what status_fd and init_fd hold, without blocking. */
SBX_PUBLIC void sbx_launch_pump(struct sbx_launch *l);

/* Kills everything in the sandbox. */
SBX_PUBLIC void sbx_launch_kill(struct sbx_launch *l);

/* Waits for the end, at most timeout_ms (-1: for ever), then up to three seconds for the last
 * process inside; kills what is left. Writes *ret. Returns 0 or -errno. */
SBX_PUBLIC int sbx_launch_wait(
	struct sbx_launch *l, int timeout_ms, struct sbx_exit *ret);

/* Kills what still runs and frees the descriptors. */
SBX_PUBLIC void sbx_launch_done(struct sbx_launch *l);

/* The one-call form for other launchers: command and policy in, command line out, no process
 * started. Execute argv.v with exactly env.v as environment and with the descriptors in fds
 * inherited (they are close-on-exec in the caller). A policy with memory or pids is refused: no
 * command line makes a cgroup. The steps of enum sbx_step are then the
 * caller's own duty. The caller ends *ret with sbx_wrapped_done(). */
struct sbx_wrapped {
	struct sbx_strv argv;
	struct sbx_strv env;
	int *fds;
	size_t n_fds;
	/* Protected paths that are absent: the command can make them, and the host would obey. A
	 * launch keeps them reserved; a command line cannot. */
	struct sbx_strv unreserved;
};

SBX_PUBLIC int sbx_wrap(struct sbx_wrapped *ret, char *const cmd[],
	const struct sbx_policy *p, const struct sbx_host_opts *opts,
	struct sbx_error *e);
SBX_PUBLIC void sbx_wrapped_done(struct sbx_wrapped *w);
