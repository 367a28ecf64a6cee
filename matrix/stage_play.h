/* What the scenarios are written with. */
#pragma once

#include "stage.h"

/* How the control of a scenario takes the protection away. */
struct weakening {
	unsigned skip_steps; /* enum sbx_step */
	const char *drop[3]; /* operations that are left out of the plan, by dst */
	const char *filter[3]; /* names of rows that are left out of the filter */
	bool writable; /* the work dir is bound writable */
	bool unpinned; /* sources are looked up again by path */
	bool native; /* no sandbox at all */
};

struct play;

struct stage {
	const char *name;
	void (*run)(struct play *p);
	size_t starts; /* of bwrap, in one go */
	struct weakening weak;
};

/* One go of a scenario, in a process and session of its own that dies with the runner. */
struct play {
	const struct stage *stage;
	struct scene *scene;
	const struct cell *cell;
	const struct run_options *options;
	const struct variant *variant; /* the mutant that is being run, or NULL */
	char *home; /* HOME instead of the scene's, or NULL */
	bool outside; /* weakened */
	const char *token; /* names everything that the scenario makes */
	char *dir; /* empty, outside of HOME and of the work dir; removed afterwards */
	char *probe; /* in the work dir, under a name of this go's own */
	struct observation *ret;
	int answer; /* where it goes in the end */
};

/* "value:WORD" and "probe:WHAT". The first word stays. */
void play_say(struct play *p, const char *word);
void play_fail(struct play *p, const char *what);
/* The same, and the player's process ends: what the scenario needs cannot be made. */
_Noreturn void play_stop(struct play *p, const char *what);
/* A result as the payload gave it. */
void play_pass(struct play *p, const char *result);

/* "value:" and the words found, with commas between; or none if there are none. */
struct found {
	const char *word; /* NULL ends the list */
	bool is;
};
void play_list(struct play *p, const char *none, const struct found *list);

/* ---- one sandbox, from plan to end ---- */

#define TRY_PIPE (-2) /* a pipe of the try's own */
#define TRY_INHERIT (-1)

struct
try {
	struct prepared prepared;
	bool is_prepared, launched;
	struct sbx_launch launch;
	bool relayed; /* what the scenario hands in goes through a relay, as with `sbx run` */
	struct sbx_relay *relay;
	int handed[3]; /* to the relay, to be closed after it; or -1 */
	int stdio[3]; /* TRY_PIPE, TRY_INHERIT, or a descriptor */
	int end[3]; /* our ends of the pipes, or -1 */
	FILE *acts_file;
	char *acts_text;
	size_t acts_len, n_acts;
	char output[16384]; /* what came on the pipe of stdout, or else of stderr */
	size_t output_len;
	char result[48];
	struct sbx_exit exit;
	struct sbx_error error;
};

#define TRY_INIT                                                  \
	((struct try){ .stdio = { TRY_PIPE, TRY_PIPE, TRY_PIPE }, \
		.end = { -1, -1, -1 },                            \
		.handed = { -1, -1, -1 },                         \
		.launch = SBX_LAUNCH_NONE })

/* Host and plan for this work dir (NULL: the scene's), changed by the mutant that is being run
 * or, outside, by the weakening. A change of an operation that this plan does not have is
 * none. Returns 0 or -errno with t->error set. */
int try_plan(struct try *t, struct play *p, const char *work);

/* Index of the operation about dst, or plan.n. */
size_t try_find_op(const struct try *t, const char *dst);

/* Adds an act: its name and arguments. Its number is that of the result. */
#define try_act(t, ...) try_add_act(t, (const char *const[]){ __VA_ARGS__, NULL })
void try_add_act(struct try *t, const char *const *words);

/* Starts cmd in it. cmd NULL: the play's probe, waiting for its acts. */
int try_start(struct try *t, struct play *p, char *const cmd[]);

/* Gives the acts and closes the input. */
void try_go(struct try *t, struct play *p);

/* Writes the acts to a file instead, for payloads without stdin. */
int try_write_acts(struct try *t, struct play *p, const char *path);

/* Reads one more piece of output. False: the end of it, or timeout_ms have passed. */
bool try_read(struct try *t, int timeout_ms);

/* Reads until the output has this line at its start. */
bool try_await(struct try *t, const char *word);

/* Reads to the end of the output, waits for the end of the sandbox. */
void try_end(struct try *t);

/* All of the above, with the play's probe and the acts. False: nothing was observed, and the
 * play has been told why. */
bool try_run(struct try *t, struct play *p, const char *work);

/* Result of act number i; "" when there is none. Until the next call. */
const char *try_result(struct try *t, size_t i);
bool try_ok(struct try *t, size_t i);

void try_done(struct try *t);

/* Everything inside holds the output: its end is the end of the last of them. */
bool try_gone(struct try *t, struct play *p);

/* ---- helpers ---- */

/* A process that starts the sandbox and then waits, as `sbx run` does. Traced from its first
 * step if so wanted. What the payload says arrives at t->end[1]. Returns its pid, or -1 and the
 * play has been told why. */
pid_t play_runner(struct try *t, struct play *p, char *const cmd[], bool traced);
/* In a new process: it dies with parent, which made it, also when that is dead already. */
void play_leash(pid_t parent);
/* Kills it and waits; nothing for a pid <= 0. */
void play_end_process(pid_t pid);

/* Milliseconds that anything may take that must happen. */
#define PLAY_PATIENCE 5000
/* And that a control waits for something that must not. */
#define PLAY_MOMENT 80

/* Has the process behind pidfd ended within the time? */
bool play_ends(int pidfd, int timeout_ms);

/* A new directory below the play's, with the probe in it: a work dir. Owned path; without it
 * the play stops. */
char *play_workdir(struct play *p, const char *name);
/* The probe in a directory that the scenario has made. */
bool play_probe_into(struct play *p, const char *work);
/* Path of the probe in such a work dir. Owned. */
char *play_probe_in(struct play *p, const char *work);
/* Path below the play's directory. Owned. */
char *play_path(struct play *p, const char *name);

/* Writes a file; 0 or -errno. */
int play_write(const char *path, const char *text);

/* ---- the scenarios ---- */

void stage_closed_stdin(struct play *p);
void stage_closed_stdout(struct play *p);
void stage_closed_stderr(struct play *p);
void stage_leaked_sockets(struct play *p);
void stage_leaked_handles(struct play *p);
void stage_pid1_fds(struct play *p);
void stage_stdout_file(struct play *p);
void stage_stdout_pipe(struct play *p);
void stage_tty_typing(struct play *p);
void stage_tty_foreground(struct play *p);
void stage_tty_steal(struct play *p);
void stage_tty_left(struct play *p);
void stage_tty_console(struct play *p);
void stage_tty_escape(struct play *p);
void stage_tty_other(struct play *p);
void stage_group(struct play *p);
void stage_session(struct play *p);
void stage_sigchld(struct play *p);
void stage_signals(struct play *p);
void stage_nproc(struct play *p);
void stage_keyring(struct play *p);
void stage_priority(struct play *p);
void stage_groups(struct play *p);
void stage_limits_held(struct play *p);
void stage_limits_raised(struct play *p);
void stage_limits_nproc(struct play *p);
void stage_limits_cgroup(struct play *p);
void stage_killed_running(struct play *p);
void stage_killed_before(struct play *p);
void stage_killed_at_start(struct play *p);
void stage_monitor_killed(struct play *p);
void stage_monitor_terminated(struct play *p);
void stage_disarmed(struct play *p);
void stage_forged(struct play *p);
void stage_status(struct play *p);
void stage_thread(struct play *p);
void stage_names(struct play *p);
void stage_refused(struct play *p);
void stage_swapped(struct play *p);
void stage_planted(struct play *p);
void stage_litter(struct play *p);
void stage_hardlink_out(struct play *p);
void stage_hardlink_protected(struct play *p);
void stage_fifo(struct play *p);
void stage_device(struct play *p);
void stage_replaced_protected(struct play *p);
void stage_replaced_bound(struct play *p);
void stage_submount(struct play *p);
void stage_late_mount(struct play *p);
void stage_observer(struct play *p);
void stage_two(struct play *p);
void stage_git_works(struct play *p);
void stage_git_worktree(struct play *p);
void stage_git_planted(struct play *p);
void stage_git_commondir(struct play *p);
void stage_git_nested(struct play *p);
void stage_git_below(struct play *p);
void stage_git_init(struct play *p);
void stage_git_below_planted(struct play *p);
void stage_git_linked_planted(struct play *p);
void stage_residue_named(struct play *p);
void stage_residue_clean(struct play *p);
void stage_residue_loose(struct play *p);
void stage_early_payload(struct play *p);
void stage_separator(struct play *p);
