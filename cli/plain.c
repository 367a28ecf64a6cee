#include "plain.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

static volatile sig_atomic_t child; /* a pid */

static void pass_on(int sig, siginfo_t *si, void *context)
{
	int was = errno;

	(void)context;
	/* What the kernel sent, for the terminal, the child has got as well. */
	if (child > 0 && si->si_code != SI_KERNEL)
		kill((pid_t)child, sig);
	errno = was;
}

/* What failed in the child, told before its exec. */
struct failure {
	int err;
	bool dir;
};

static void __attribute__((noreturn)) become(char *const cmd[], const char *dir, int to,
	const struct sigaction *were, const sigset_t *mask)
{
	struct failure f = { 0 };

	for (size_t i = 0; i < SBX_ARRAY_SIZE(passed_on); i++)
		sigaction(passed_on[i], &were[i], NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	f.dir = dir && chdir(dir) < 0;
	if (!f.dir)
		execvp(cmd[0], cmd);
	f.err = errno;
	sbx_write_all(to, &f, sizeof(f));
	_exit(127);
}

static int explain(
	const struct failure *f, const char *cmd, const char *dir, struct sbx_error *e)
{
	sbx_error_set(e, f->dir ? SBX_E_PATH_MISSING : SBX_E_PROGRAM_MISSING, f->err,
		"%s%s%s: %s", f->dir ? "work dir '" : "", f->dir ? dir : cmd,
		f->dir ? "'" : "", strerror(f->err));
	sbx_error_remedy(e, f->dir ? "make it, or record the session again"
				   : "install it, or add its directory to PATH");
	return -1;
}

static int wait_for(pid_t pid, int *ret_signal)
{
	int st = 0;

	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	*ret_signal = WIFSIGNALED(st) ? WTERMSIG(st) : 0;
	return WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
}

int plain_run(char *const cmd[], const char *dir, int *ret_signal, struct sbx_error *e)
{
	const struct sigaction sa = { .sa_sigaction = pass_on,
		.sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction were[SBX_ARRAY_SIZE(passed_on)];
	SBX_CLEANUP_FD int from = -1;
	struct failure f;
	sigset_t all, mask;
	int p[2], status, r = sbx_pipe(p);
	ssize_t n;
	pid_t pid;

	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r));
	from = p[0];
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(passed_on); i++) {
		sigaction(passed_on[i], NULL, &were[i]);
		if (were[i].sa_handler != SIG_IGN)
			sigaction(passed_on[i], &sa, NULL);
	}
	pid = fork();
	if (pid == 0)
		become(cmd, dir, p[1], were, &mask);
	r = pid < 0 ? errno : 0;
	child = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(p[1]);
	if (pid < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, r, "fork: %s", strerror(r));
	do {
		n = read(from, &f, sizeof(f));
	} while (n < 0 && errno == EINTR);
	status = wait_for(pid, ret_signal);
	child = 0;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(passed_on); i++)
		sigaction(passed_on[i], &were[i], NULL);
	return n == (ssize_t)sizeof(f) ? explain(&f, cmd[0], dir, e) : status;
}
