/* Isolation of one act: deadline, shared-memory child, true child. */
#include "probe.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 500
#define DEADLINE_TICKS 5 /* between 2 and 2.5 seconds */
#define STACK_SIZE 65536

/* One timer ticks throughout: arming one for each act would cost more than most acts. An act
 * that is still there after DEADLINE_TICKS is left by a jump. */
static volatile sig_atomic_t ticks_left;
static sigjmp_buf escape;

static void on_tick(int sig)
{
	(void)sig;
	if (ticks_left > 0 && --ticks_left == 0)
		siglongjmp(escape, 1);
}

void probe_deadline_init(void)
{
	static const struct itimerval t = { { 0, TICK_MS * 1000 },
		{ 0, TICK_MS * 1000 } };
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* The child of the act, for the jump to end. */
static volatile pid_t child_pid;

static void await(pid_t pid, struct probe_result *r)
{
	int status;

	child_pid = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	child_pid = 0;
	if (WIFSIGNALED(status)) {
		char text[32];

		snprintf(text, sizeof(text), "signal-%d", WTERMSIG(status));
		probe_value(r, text);
	}
}

struct call {
	const struct probe_op *op;
	const struct probe_ctx *c;
	char **args;
	struct probe_result *r;
};

static int vm_main(void *arg)
{
	const struct call *k = arg;

	k->op->run(k->c, k->args, k->r);
	_exit(0);
}

static void run_vm(struct call *k)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	pid_t pid;

	probe_broken(k->r, "no answer");
	pid = clone(vm_main, stack + sizeof(stack), CLONE_VM | SIGCHLD, k);
	if (pid < 0)
		probe_broken(k->r, "clone failed");
	else
		await(pid, k->r);
}

/* A true child has memory of its own: the result crosses in a shared page. */
static void run_fork(struct call *k)
{
	struct probe_result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (shared == MAP_FAILED) {
		probe_broken(k->r, "mmap failed");
		return;
	}
	probe_broken(shared, "no answer");
	pid = fork();
	if (pid == 0) {
		/* A crash is this child's answer, not the probe's end. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGSYS, SIG_DFL);
		k->op->run(k->c, k->args, shared);
		_exit(0);
	}
	if (pid < 0)
		probe_broken(shared, "fork failed");
	else
		await(pid, shared);
	*k->r = *shared;
	munmap(shared, sizeof(*shared));
}

static void run_class(struct call *k)
{
	switch (k->op->class) {
	case PROBE_VM:
		run_vm(k);
		break;
	case PROBE_FORK:
		run_fork(k);
		break;
	default:
		k->op->run(k->c, k->args, k->r);
	}
}

void probe_isolate(const struct probe_op *op, const struct probe_ctx *c, char **args,
	struct probe_result *r)
{
	struct call k = { op, c, args, r };
	sigset_t tick;

	if (sigsetjmp(escape, 0) == 0) {
		ticks_left = DEADLINE_TICKS;
		run_class(&k);
		ticks_left = 0;
		return;
	}
	sigemptyset(&tick);
	sigaddset(&tick, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &tick, NULL);
	if (child_pid > 0) {
		kill(child_pid, SIGKILL);
		waitpid(child_pid, NULL, 0);
		child_pid = 0;
	}
	probe_broken(r, "timeout");
}
