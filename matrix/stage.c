#include "stage_play.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* With bwrap as pid 1, as it would be without ours, and further steps left out. */
#define NO_INIT(steps) .skip_steps = SBX_STEP_INIT | (steps)

/* clang-format off: a table, one thing a line */
static const struct stage stages[] = {
	/* descriptors */
	{ "closed_stdin", stage_closed_stdin, 1,
		{ NO_INIT(SBX_STEP_STDIO), .drop = { "--as-pid-1" } } },
	{ "closed_stdout", stage_closed_stdout, 1,
		{ NO_INIT(SBX_STEP_STDIO), .drop = { "--as-pid-1" } } },
	{ "closed_stderr", stage_closed_stderr, 1,
		{ NO_INIT(SBX_STEP_STDIO), .drop = { "--as-pid-1" } } },
	{ "leaked_sockets", stage_leaked_sockets, 1, { .skip_steps = SBX_STEP_CLOSE } },
	{ "leaked_handles", stage_leaked_handles, 1, { .skip_steps = SBX_STEP_CLOSE } },
	{ "pid1_fds", stage_pid1_fds, 1,
		{ NO_INIT(SBX_STEP_STDIO), .drop = { "--as-pid-1" } } },
	{ "early_payload", stage_early_payload, 1,
		{ NO_INIT(0), .drop = { "--as-pid-1" } } },
	{ "stdout_file", stage_stdout_file, 1, { .skip_steps = SBX_STEP_RELAY } },
	{ "stdout_pipe", stage_stdout_pipe, 1, { .skip_steps = SBX_STEP_RELAY } },

	/* terminal */
	{ "tty_typing", stage_tty_typing, 1,
		{ .skip_steps = SBX_STEP_SESSION,
			.drop = { "--new-session" },
			.filter = { "ioctl" } } },
	{ "tty_foreground", stage_tty_foreground, 1,
		{ .skip_steps = SBX_STEP_SESSION, .drop = { "--new-session" } } },
	{ "tty_steal", stage_tty_steal, 1, { .native = true } },
	{ "tty_left", stage_tty_left, 1, { .skip_steps = SBX_STEP_RELAY } },
	{ "tty_console", stage_tty_console, 1, { .skip_steps = SBX_STEP_RELAY } },
	{ "tty_escape", stage_tty_escape, 1, { .skip_steps = SBX_STEP_SCREEN } },
	{ "tty_other", stage_tty_other, 1, { .native = true } },

	/* process group, signals, credentials, limits */
	{ "group", stage_group, 1,
		{ .skip_steps = SBX_STEP_SESSION | SBX_STEP_INIT_SCOPE,
			.drop = { "--new-session" } } },
	{ "session", stage_session, 1, { .skip_steps = SBX_STEP_SESSION } },
	{ "sigchld", stage_sigchld, 1, { .skip_steps = SBX_STEP_SIGNALS } },
	{ "signals", stage_signals, 1, { .skip_steps = SBX_STEP_SIGNALS } },
	{ "nproc", stage_nproc, 1, { 0 } },
	{ "keyring", stage_keyring, 1, { .skip_steps = SBX_STEP_KEYRING } },
	{ "priority", stage_priority, 1, { .skip_steps = SBX_STEP_PRIORITY } },
	{ "groups", stage_groups, 1, { .skip_steps = SBX_STEP_GROUPS } },

	{ "limits_held", stage_limits_held, 1, { .skip_steps = SBX_STEP_INIT_LIMITS } },
	{ "limits_raised", stage_limits_raised, 1,
		{ .skip_steps = SBX_STEP_INIT_LIMITS } },
	{ "limits_nproc", stage_limits_nproc, 1, { .skip_steps = SBX_STEP_INIT_LIMITS } },
	{ "limits_cgroup", stage_limits_cgroup, 1, { 0 } },

	/* life cycle */
	{ "killed_running", stage_killed_running, 1,
		{ NO_INIT(SBX_STEP_DEATHSIG),
			.drop = { "--as-pid-1", "--die-with-parent" } } },
	{ "killed_before", stage_killed_before, 1,
		{ NO_INIT(SBX_STEP_DEATHSIG), .drop = { "--as-pid-1" } } },
	{ "killed_at_start", stage_killed_at_start, 1,
		{ NO_INIT(SBX_STEP_DEATHSIG),
			.drop = { "--as-pid-1", "--die-with-parent" } } },
	{ "monitor_killed", stage_monitor_killed, 1,
		{ NO_INIT(0), .drop = { "--as-pid-1", "--die-with-parent" } } },
	{ "monitor_terminated", stage_monitor_terminated, 1,
		{ NO_INIT(0), .drop = { "--as-pid-1", "--die-with-parent" } } },
	{ "disarmed", stage_disarmed, 1,
		{ NO_INIT(0), .drop = { "--as-pid-1" }, .filter = { "ptrace" } } },
	{ "forged", stage_forged, 1,
		{ NO_INIT(0), .drop = { "--as-pid-1" }, .filter = { "pidfd_getfd" } } },
	{ "status", stage_status, 11, { .native = true } },
	{ "thread", stage_thread, 1,
		{ NO_INIT(SBX_STEP_DEATHSIG),
			.drop = { "--as-pid-1", "--die-with-parent" } } },

	/* what stands in the work dir, or where it stands */
	{ "names", stage_names, 12, { .native = true } },
	{ "refused", stage_refused, 1, { 0 } },
	{ "swapped", stage_swapped, 1, { .unpinned = true } },
	{ "planted", stage_planted, 1, { .unpinned = true } },
	{ "litter", stage_litter, 1, { 0 } },
	{ "hardlink_out", stage_hardlink_out, 1, { .native = true } },
	{ "hardlink_protected", stage_hardlink_protected, 1, { .native = true } },
	{ "fifo", stage_fifo, 1, { .native = true } },
	{ "device", stage_device, 1, { .native = true } },

	/* what the host does meanwhile */
	{ "replaced_protected", stage_replaced_protected, 1, { .native = true } },
	{ "replaced_bound", stage_replaced_bound, 1, { .native = true } },
	{ "submount", stage_submount, 1, { .writable = true } },
	{ "late_mount", stage_late_mount, 1, { .skip_steps = SBX_STEP_MOUNTS } },
	{ "observer", stage_observer, 1, { .native = true } },
	{ "two", stage_two, 2, { .native = true } },

	/* git */
	{ "git_works", stage_git_works, 2, { .native = true } },
	{ "git_worktree", stage_git_worktree, 2, { .native = true } },
	{ "git_planted", stage_git_planted, 1, { .native = true } },
	{ "git_commondir", stage_git_commondir, 1, { .native = true } },
	{ "git_nested", stage_git_nested, 1, { .native = true } },
	{ "git_below", stage_git_below, 4, { .native = true } },
	{ "git_init", stage_git_init, 1, { .native = true } },
	{ "git_below_planted", stage_git_below_planted, 1, { .native = true } },
	{ "git_linked_planted", stage_git_linked_planted, 1, { .native = true } },

	/* what is said of what is left */
	{ "residue_named", stage_residue_named, 1, { .native = true } },
	{ "residue_clean", stage_residue_clean, 1, { .writable = true, .native = true } },
	{ "residue_loose", stage_residue_loose, 1, { .native = true } },

	/* the command */
	{ "separator", stage_separator, 1,
		{ NO_INIT(SBX_STEP_SEPARATOR), .drop = { "--as-pid-1" } } },
};
/* clang-format on */

static const struct stage *find(const char *name)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(stages); i++)
		if (strcmp(stages[i].name, name) == 0)
			return &stages[i];
	return NULL;
}

bool stage_exists(const char *name)
{
	return find(name) != NULL;
}

const char *stage_name(size_t i)
{
	return i < SBX_ARRAY_SIZE(stages) ? stages[i].name : NULL;
}

size_t stage_starts(const char *name, bool outside)
{
	const struct stage *st = find(name);

	return st && !(outside && st->weak.native) ? st->starts : 0;
}

/* ---- what the scenarios use ---- */

static void say(struct play *p, const char *kind, const char *text)
{
	if (p->ret->present)
		return;
	p->ret->present = true;
	snprintf(p->ret->result, sizeof(p->ret->result), "%s%s", kind, text);
}

void play_pass(struct play *p, const char *result)
{
	say(p, "", result);
}

void play_say(struct play *p, const char *word)
{
	say(p, "value:", word);
}

void play_list(struct play *p, const char *none, const struct found *list)
{
	char text[48] = "";
	size_t n = 0;

	for (; list->word && n < sizeof(text); list++)
		if (list->is)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				n ? "," : "", list->word);
	play_say(p, n ? text : none);
}

void play_fail(struct play *p, const char *what)
{
	say(p, "probe:", what);
}

bool play_ends(int pidfd, int timeout_ms)
{
	struct pollfd f = { .fd = pidfd, .events = POLLIN };

	return poll(&f, 1, timeout_ms) > 0;
}

void play_leash(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

char *play_path(struct play *p, const char *name)
{
	return sbx_xasprintf("%s/%s", p->dir, name);
}

char *play_probe_in(struct play *p, const char *work)
{
	return sbx_xasprintf("%s/.%s", work, p->token);
}

void play_stop(struct play *p, const char *what)
{
	play_fail(p, what);
	if (write(p->answer, p->ret, sizeof(*p->ret)) != (ssize_t)sizeof(*p->ret))
		_exit(1);
	_exit(0);
}

bool play_probe_into(struct play *p, const char *work)
{
	SBX_CLEANUP_FREE char *probe = play_probe_in(p, work);

	return link(p->scene->probe, probe) == 0;
}

char *play_workdir(struct play *p, const char *name)
{
	SBX_CLEANUP_FREE char *path = play_path(p, name);

	if (mkdir(path, 0700) < 0 || !play_probe_into(p, path))
		play_stop(p, "work dir");
	return SBX_TAKE_PTR(path);
}

int play_write(const char *path, const char *text)
{
	SBX_CLEANUP_FD int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : sbx_write_all(fd, text, strlen(text));
}

/* ---- a process of its own ---- */

static _Noreturn void child(struct play *p, int out, pid_t parent)
{
	struct observation obs = { 0 };
	struct play mine = *p;

	/* With the runner, also when that is killed; and out of reach of its terminal. */
	play_leash(parent);
	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sig == SIGPIPE ? SIG_IGN : SIG_DFL);
	mine.ret = &obs;
	mine.answer = out;
	mine.stage->run(&mine);
	if (write(out, &obs, sizeof(obs)) != (ssize_t)sizeof(obs))
		_exit(1);
	_exit(0);
}

/* The observation, or what is wrong. */
static const char *hear(int fd, pid_t pid, int timeout_ms, struct observation *ret)
{
	SBX_CLEANUP_FD int pidfd = pidfd_open(pid, 0);
	struct observation obs = { 0 };
	bool ended = pidfd >= 0 && play_ends(pidfd, timeout_ms);

	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!ended)
		return "timeout";
	if (read(fd, &obs, sizeof(obs)) != (ssize_t)sizeof(obs) || !obs.present)
		return "no answer";
	*ret = obs;
	return NULL;
}

static void play(struct play *p)
{
	int timeout = p->options->timeout_ms;
	const char *wrong;
	int pipe[2];
	pid_t pid, parent = getpid();

	if (sbx_pipe(pipe) < 0) {
		play_fail(p, "pipe");
		return;
	}
	pid = fork();
	if (pid == 0)
		child(p, pipe[1], parent);
	close(pipe[1]);
	wrong = pid < 0 ? "fork" : hear(pipe[0], pid, timeout, p->ret);
	close(pipe[0]);
	if (wrong)
		play_fail(p, wrong);
}

/* Whatever the scenario has left running: it bears the token. */
static void sweep(const struct play *p)
{
	long long deadline = sbx_now_ms() + PLAY_PATIENCE;

	while (guardian_kill(p->token) > 0 && sbx_now_ms() < deadline)
		poll(NULL, 0, 1);
	tree_remove(p->dir);
	unlink(p->probe);
}

void stage_run(const char *name, struct scene *s, const struct cell *c,
	const struct run_options *o, const struct variant *v, bool outside,
	struct observation *ret)
{
	static unsigned serial;
	SBX_CLEANUP_FREE char *dir = NULL, *probe = NULL;
	char token[48];
	struct play p = { .stage = find(name),
		.scene = s,
		.cell = c,
		.options = o,
		.variant = v,
		.outside = outside,
		.token = token,
		.ret = ret };

	*ret = (struct observation){ 0 };
	/* Not the scene's next: those go into names that must stay short. */
	snprintf(token, sizeof(token), "%s.s%u", s->nonce, serial++);
	p.dir = dir = sbx_xasprintf("%s/%s", s->root, token);
	p.probe = probe = sbx_xasprintf("%s/" TREE_PROBES "/%s", s->tree.work, token);
	if (p.stage == NULL)
		play_fail(&p, "no such scenario");
	else if (mkdir(dir, 0700) < 0 || link(s->probe, probe) < 0)
		play_fail(&p, "scene");
	else
		play(&p);
	sweep(&p);
}
