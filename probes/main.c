#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAX_FIELDS (PROBE_MAX_ARGS + 3)
#define MAX_OPS 1024

static const struct probe_op *const families[] = { probe_fs_write, probe_fs_read,
	probe_proc, probe_net, probe_ipc, probe_sys, probe_self, probe_place, probe_run,
	probe_fs_ways, probe_leave, probe_mounts, probe_surface, probe_peer, probe_works,
	probe_stage, probe_limit };

static char input[524288];
static char output[65536];
static size_t output_len;
static int current = -1; /* index being run, for the crash handler */

struct job {
	int index;
	const struct probe_op *op; /* NULL: unknown */
	char *args[PROBE_MAX_ARGS + 1];
	int n_args;
};

static struct job jobs[MAX_OPS];
static size_t n_jobs;

static void flush(void)
{
	size_t done = 0;

	while (done < output_len) {
		ssize_t n = write(STDOUT_FILENO, output + done, output_len - done);

		if (n < 0 && errno != EINTR)
			_exit(74);
		if (n > 0)
			done += (size_t)n;
	}
	output_len = 0;
}

static void emit(int index, const char *result)
{
	if (output_len + PROBE_TEXT + 64 > sizeof(output))
		flush();
	output_len += (size_t)snprintf(output + output_len, sizeof(output) - output_len,
		"obs\t%d\t%s\n", index, result);
}

static void emit_result(int index, const struct probe_result *r)
{
	emit(index, r->err ? probe_errno_name(r->err) : r->text[0] ? r->text : "ok");
}

/* What was seen so far must not be lost with the process. */
static void on_crash(int sig)
{
	(void)sig;
	emit(current, "probe:crash");
	flush();
	_exit(70);
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* %XX in place. */
static void unescape(char *s)
{
	char *w = s;

	for (; *s; s++) {
		if (s[0] == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
			*w++ = (char)(hex(s[1]) * 16 + hex(s[2]));
			s += 2;
		} else {
			*w++ = *s;
		}
	}
	*w = '\0';
}

static int split(char *line, char **fields)
{
	int n = 0;

	while (line && n < MAX_FIELDS) {
		fields[n++] = line;
		line = strchr(line, '\t');
		if (line)
			*line++ = '\0';
	}
	for (int i = 0; i < n; i++)
		unescape(fields[i]);
	return n;
}

static const struct probe_op *find(const char *name)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
		for (const struct probe_op *op = families[f]; op->name; op++)
			if (strcmp(op->name, name) == 0)
				return op;
	return NULL;
}

static void add_job(char **fields, int n)
{
	struct job *j = &jobs[n_jobs++];

	j->index = (int)probe_number(fields[1]);
	j->op = find(fields[2]);
	j->n_args = n - 3;
	for (int i = 0; i < j->n_args; i++)
		j->args[i] = fields[3 + i];
}

int probe_batch(const char *op, char **out, int max)
{
	int n = 0;

	for (size_t i = 0; i < n_jobs; i++) {
		const struct job *j = &jobs[i];

		if (j->op == NULL || strcmp(j->op->name, op) != 0)
			continue;
		for (int k = 1; k < j->n_args && n < max; k++)
			out[n++] = j->args[k];
	}
	return n;
}

static void set(struct probe_ctx *c, const char *name, const char *value)
{
	if (strcmp(name, "work") == 0)
		c->work = value;
	else if (strcmp(name, "token") == 0)
		c->token = value;
}

/* Returns the declared number of operations, or -1 when the input is cut or malformed. */
static long read_jobs(struct probe_ctx *c)
{
	size_t len = 0;
	long declared = -1;

	for (;;) {
		ssize_t n = read(STDIN_FILENO, input + len, sizeof(input) - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	input[len] = '\0';
	for (char *line = input; line && *line;) {
		char *fields[MAX_FIELDS] = { NULL }, *next = strchr(line, '\n');
		int n;

		if (next)
			*next++ = '\0';
		n = split(line, fields);
		if (n == 3 && strcmp(fields[0], "set") == 0)
			set(c, fields[1], fields[2]);
		else if (n >= 3 && strcmp(fields[0], "op") == 0 && n_jobs < MAX_OPS)
			add_job(fields, n);
		else if (n == 2 && strcmp(fields[0], "end") == 0)
			declared = (long)probe_number(fields[1]);
		else
			return -1;
		line = next;
	}
	return declared;
}

static void run_job(const struct job *j, const struct probe_ctx *c)
{
	struct probe_result r = { 0 };

	current = j->index;
	if (j->op == NULL)
		probe_broken(&r, "unknown operation");
	else if (j->n_args < j->op->min_args)
		probe_broken(&r, "too few arguments");
	else
		probe_isolate(j->op, c, (char **)j->args, &r);
	emit_result(j->index, &r);
}

static bool is_last(const struct job *j)
{
	return j->op && j->op->class == PROBE_LAST;
}

bool probe_signals_inherited;

static void look_at_signals(void)
{
	struct sigaction sa;
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int sig = 1; sig < 32; sig++)
		probe_signals_inherited |=
			sigismember(&mask, sig) == 1 ||
			(sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN);
}

int main(int argc, char **argv)
{
	struct probe_ctx c = { "", "" };
	struct sigaction sa = { .sa_handler = on_crash };
	char done[PROBE_TEXT];
	long declared;

	if (argc > 1 && strcmp(argv[1], "--wait") == 0) { /* the scene's victim process */
		prctl(PR_SET_PDEATHSIG, 9);
		for (;;)
			pause();
	}
	look_at_signals();
	if (argc > 1) {
		int status = probe_mode(argc, argv);

		if (status >= 0)
			return status;
	}
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSYS, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	probe_deadline_init();
	declared = read_jobs(&c);
	if (declared < 0 || (size_t)declared != n_jobs) {
		emit(-1, "probe:input cut or malformed");
		flush();
		return 65;
	}
	for (size_t i = 0; i < n_jobs; i++)
		if (!is_last(&jobs[i]))
			run_job(&jobs[i], &c);
	for (size_t i = 0; i < n_jobs; i++)
		if (is_last(&jobs[i]))
			run_job(&jobs[i], &c);
	snprintf(done, sizeof(done), "done\t%zu\t%s\n", n_jobs, c.token);
	if (output_len + sizeof(done) > sizeof(output))
		flush();
	memcpy(output + output_len, done, strlen(done));
	output_len += strlen(done);
	flush();
	return 0;
}
