/* sbx-probe: tries one act after the other inside the sandbox and says what happened.
 *
 * It judges nothing and knows no policy. Static, C library only, no heap, no shell: nothing
 * that a sandbox may lack can be mistaken for a denial.
 *
 * Input, one record a line, fields separated by tabs, %XX escapes in fields:
 *     set  NAME VALUE          work, token
 *     op   INDEX NAME ARG...   at most PROBE_MAX_ARGS
 *     end  COUNT               of op records
 * Output:
 *     obs  INDEX RESULT        ok | errno name | value:TEXT | probe:TEXT (no observation)
 *     done COUNT TOKEN         COUNT of obs records
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_MAX_ARGS 4
#define PROBE_TEXT 120

/* How an act is isolated from the next one. */
enum probe_class {
	PROBE_INPROC, /* in the probe itself: leaves no trace in the process */
	PROBE_VM, /* child that shares memory: changes credentials, session, limits */
	PROBE_FORK, /* true child: new user namespaces, exec, things that may crash */
	PROBE_LAST, /* as INPROC, but after all others: leaves processes behind */
};

struct probe_result {
	int err; /* 0: see text; else errno */
	char text[PROBE_TEXT]; /* "" for ok, "value:..." or "probe:..." */
};

struct probe_ctx {
	const char *work;
	const char *token; /* nonce of this cell; written into what the acts create */
};

struct probe_op {
	const char *name;
	enum probe_class class;
	int min_args;
	void (*run)(const struct probe_ctx *c, char **args, struct probe_result *r);
	const char *what;
};

/* One table a family, ended by .name == NULL. */
extern const struct probe_op probe_fs_write[], probe_fs_read[], probe_proc[], probe_net[],
	probe_ipc[], probe_sys[], probe_self[], probe_place[], probe_run[],
	probe_fs_ways[], probe_leave[], probe_mounts[], probe_surface[], probe_peer[],
	probe_works[], probe_stage[], probe_limit[];

/* Results. probe_sys() takes what a system call returned: < 0 means errno counts. */
void probe_sysresult(struct probe_result *r, long ret);
void probe_errno(struct probe_result *r, int err);
void probe_value(struct probe_result *r, const char *text);
void probe_broken(struct probe_result *r, const char *text);

/* FNV-1a, 64 bit: tells a canary from other bytes without printing either. */
uint64_t probe_hash(const void *buf, size_t len);

/* Decimal or 0x number; 0 for anything else. */
unsigned long probe_number(const char *s);

/* errno as its name; a static buffer for unknown numbers. */
const char *probe_errno_name(int err);

#define PROBE_MAX_BATCH 16

/* The arguments but the first of every act named op, in order of running, into out; returns
 * how many words (main.c). */
int probe_batch(const char *op, char **out, int max);

/* Reads at most max bytes; length, or -1 with errno. */
long probe_slurp(const char *path, char *buf, size_t max);

/* Signals were ignored or blocked at the start, before the probe set its own (main.c). */
extern bool probe_signals_inherited;

/* Ways of being started other than with acts on stdin (stage.c). Returns the exit status, or
 * -1 to go on and read acts. */
int probe_mode(int argc, char **argv);

/* Isolation (child.c). Runs op with a deadline and fills r. */
void probe_deadline_init(void);
void probe_isolate(const struct probe_op *op, const struct probe_ctx *c, char **args,
	struct probe_result *r);
