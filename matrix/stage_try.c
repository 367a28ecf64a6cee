/* One sandbox of a scenario, from plan to end. */
#include "stage_play.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

/* ---- plan ---- */

/* Where a path of the scene's work dir lies when the work dir is another one. Owned. */
static char *moved(const struct play *p, const char *path, const char *work)
{
	size_t len = strlen(p->scene->tree.work);

	if (path && strncmp(path, p->scene->tree.work, len) == 0 &&
		(path[len] == '/' || path[len] == '\0'))
		return sbx_xasprintf("%s%s", work, path + len);
	return path ? sbx_xstrdup(path) : NULL;
}

size_t try_find_op(const struct try *t, const char *dst)
{
	const struct sbx_plan *plan = &t->prepared.plan;
	size_t i = 0;

	while (i < plan->n && strcmp(plan->ops[i].dst, dst) != 0)
		i++;
	return i;
}

static size_t same_op(
	const struct sbx_plan *plan, const struct sbx_op *op, const char *dst)
{
	size_t i = 0;

	while (i < plan->n &&
		(plan->ops[i].kind != op->kind || strcmp(plan->ops[i].dst, dst) != 0))
		i++;
	return i;
}

/* The mutant was made for the plan of the scene's work dir; it is looked up again in t's. */
static int mutate_moved(struct try *t, struct play *p, const struct scene *s,
	const struct variant *v, const char *work)
{
	SBX_CLEANUP_FREE char *dst = NULL, *other = NULL, *src = NULL, *put = NULL;
	struct variant here = *v;
	struct prepared plain;
	int r = prepare(&plain, p->cell, p->scene, p->options->bwrap, NULL, &t->error);

	if (r < 0)
		return r;
	if (v->at < plain.plan.n && v->with < plain.plan.n) {
		const struct sbx_op *at = &plain.plan.ops[v->at],
				    *with = &plain.plan.ops[v->with];

		dst = moved(p, at->dst, work);
		other = moved(p, with->dst, work);
		here.at = same_op(&t->prepared.plan, at, dst);
		here.with = same_op(&t->prepared.plan, with, other);
	}
	prepared_done(&plain);
	if (dst == NULL || here.at >= t->prepared.plan.n ||
		here.with >= t->prepared.plan.n)
		return 0;
	here.src = src = moved(p, v->src, work);
	here.dst = put = moved(p, v->dst, work);
	here.dst_at = dst;
	prepared_done(&t->prepared);
	t->is_prepared = false;
	return prepare(&t->prepared, p->cell, s, p->options->bwrap, &here, &t->error);
}

static void weaken(struct try *t, const struct weakening *w)
{
	struct sbx_plan *plan = &t->prepared.plan;
	size_t work = try_find_op(t, t->prepared.host.workdir.real);

	if (w->writable && work < plan->n)
		plan->ops[work].kind = SBX_OP_BIND;
	for (size_t k = 0; k < SBX_ARRAY_SIZE(w->drop) && w->drop[k]; k++) {
		size_t i = try_find_op(t, w->drop[k]);

		if (i < plan->n)
			sbx_plan_remove(plan, i);
	}
	for (size_t i = 0; w->unpinned && i < plan->n; i++) {
		plan->ops[i].pin = SBX_PIN_NONE;
		/* Placeholders stand in the directory that was judged. */
		if (plan->ops[i].reserve != SBX_RESERVE_NONE)
			sbx_plan_remove(plan, i--);
	}
}

int try_plan(struct try *t, struct play *p, const char *work)
{
	const struct variant *v = p->outside ? NULL : p->variant;
	struct scene s = *p->scene;
	bool moved_away = work && strcmp(work, s.tree.work) != 0;
	int r;

	if (work)
		s.tree.work = (char *)work;
	if (p->home)
		s.tree.home = p->home;
	r = prepare(&t->prepared, p->cell, &s, p->options->bwrap, moved_away ? NULL : v,
		&t->error);
	if (r < 0)
		return r;
	t->is_prepared = true;
	if (moved_away && v && v->edit != EDIT_NONE) {
		r = mutate_moved(t, p, &s, v, work);
		t->is_prepared = r == 0;
	}
	if (r == 0 && p->outside)
		weaken(t, &p->stage->weak);
	return r;
}

/* ---- acts ---- */

void try_add_act(struct try *t, const char *const *words)
{
	if (t->acts_file == NULL)
		t->acts_file = open_memstream(&t->acts_text, &t->acts_len);
	if (t->acts_file == NULL)
		abort();
	fprintf(t->acts_file, "op\t%zu", t->n_acts++);
	for (; *words; words++)
		acts_put_field(t->acts_file, *words);
	fputc('\n', t->acts_file);
}

/* The whole input. Owned. */
static char *input(struct try *t, const struct play *p)
{
	if (t->acts_file)
		fflush(t->acts_file);
	return sbx_xasprintf("set\twork\t%s\nset\ttoken\t%s\n%send\t%zu\n",
		p->scene->tree.work, p->token, t->acts_text ? t->acts_text : "",
		t->n_acts);
}

void try_go(struct try *t, struct play *p)
{
	SBX_CLEANUP_FREE char *text = input(t, p);

	/* A payload that is gone is told by what it did not say. */
	if (t->end[0] >= 0 && sbx_write_all(t->end[0], text, strlen(text)) == 0)
		fcntl(t->end[0], F_SETFL, 0);
	sbx_close_fd(&t->end[0]);
	t->end[0] = -1;
}

int try_write_acts(struct try *t, struct play *p, const char *path)
{
	SBX_CLEANUP_FREE char *text = input(t, p);

	return play_write(path, text);
}

/* ---- start ---- */

static int open_ends(struct try *t, int child[3])
{
	for (int i = 0; i < 3; i++) {
		int p[2], r;

		child[i] = t->stdio[i];
		if (t->stdio[i] != TRY_PIPE)
			continue;
		r = sbx_pipe(p);
		if (r < 0)
			return r;
		t->end[i] = i ? p[0] : p[1];
		child[i] = i ? p[1] : p[0];
	}
	return 0;
}

/* The rows of the filter that the weakening leaves out. */
static const bool *rows_left_out(const struct weakening *w)
{
	static bool skip[256];
	size_t n;
	const struct sbx_filter_row *rows = sbx_filter_rows(&n);

	memset(skip, 0, sizeof(skip));
	for (size_t i = 0; i < n && i < SBX_ARRAY_SIZE(skip); i++)
		for (size_t k = 0; k < SBX_ARRAY_SIZE(w->filter) && w->filter[k]; k++)
			skip[i] |= strcmp(rows[i].name, w->filter[k]) == 0;
	return skip;
}

/* As carelessly as a program would that never heard of sandboxes. */
static int start_native(
	struct try *t, const struct play *p, char *const cmd[], const int child[3])
{
	struct sbx_strv env = { 0 };
	pid_t pid, parent = getpid();

	for (char **e = p->scene->env.v; *e; e++)
		if (strncmp(*e, "HOME=", 5) != 0)
			sbx_strv_add(&env, *e);
	sbx_strv_addf(&env, "HOME=%s", p->home ? p->home : p->scene->tree.home);
	pid = fork();
	if (pid == 0) {
		play_leash(parent);
		for (int i = 0; i < 3; i++)
			if (child[i] >= 0 && dup2(child[i], i) < 0)
				_exit(126);
		if (chdir(p->scene->tree.work) < 0)
			_exit(126);
		execve(cmd[0], cmd, env.v);
		_exit(127);
	}
	sbx_strv_done(&env);
	if (pid < 0)
		return sbx_error_set(&t->error, SBX_E_SYSTEM, EAGAIN, "fork");
	t->launch = SBX_LAUNCH_NONE;
	t->launch.pid = pid;
	t->launch.pidfd = sbx_fd_high(pidfd_open(pid, 0));
	return 0;
}

/* What the launch gives, directly or through a relay. */
static int give(struct try *t, struct sbx_launch_opts *opts, const int child[3])
{
	struct sbx_relay_opts ro = { .fds = { 0, 1, 2 } };
	int r;

	opts->in = child[0];
	opts->out = child[1];
	opts->err = child[2];
	if (!t->relayed)
		return 0;
	for (int i = 0; i < 3; i++)
		if (child[i] >= 0)
			ro.fds[i] = child[i];
	r = sbx_relay_new(&t->relay, &ro, &t->error);
	if (r == 0)
		sbx_relay_prepare(t->relay, opts);
	return r;
}

static int start_launch(
	struct try *t, const struct play *p, char *const cmd[], const int child[3])
{
	const struct weakening *w = &p->stage->weak;
	struct sbx_launch_opts opts =
		launch_opts(p->cell, p->outside ? NULL : p->variant);
	int r;

	if (p->outside) {
		opts.skip_steps = w->skip_steps;
		opts.skip_filter = rows_left_out(w);
	}
	r = give(t, &opts, child);
	if (r < 0)
		return r;
	return sbx_launch_start(
		&t->launch, &t->prepared.plan, &t->prepared.host, cmd, &opts, &t->error);
}

int try_start(struct try *t, struct play *p, char *const cmd[])
{
	char *const probe[] = { p->probe, NULL };
	bool native = p->outside && p->stage->weak.native;
	int child[3] = { -1, -1, -1 }, r = open_ends(t, child);

	if (r == 0)
		r = native ? start_native(t, p, cmd ? cmd : probe, child)
			   : start_launch(t, p, cmd ? cmd : probe, child);
	for (int i = 0; i < 3; i++)
		if (t->stdio[i] == TRY_PIPE && child[i] >= 0) {
			if (t->relay)
				t->handed[i] = child[i];
			else
				close(child[i]);
		}
	t->launched = r == 0;
	return r;
}

/* ---- to the end ---- */

/* A signal, which some scenarios provoke, is no news. */
static bool readable(int fd, int timeout_ms)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };
	int r;

	do
		r = poll(&f, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	return r > 0;
}

bool try_read(struct try *t, int timeout_ms)
{
	int *fd = t->end[1] >= 0 ? &t->end[1] : &t->end[2];
	size_t room = sizeof(t->output) - 1 - t->output_len;
	ssize_t n;

	if (*fd < 0 || room == 0 || !readable(*fd, timeout_ms))
		return false;
	n = read(*fd, t->output + t->output_len, room);
	if (n > 0) {
		t->output_len += (size_t)n;
		t->output[t->output_len] = '\0';
		return true;
	}
	close(*fd);
	*fd = -1;
	return false;
}

bool try_await(struct try *t, const char *word)
{
	size_t len = strlen(word);

	while (t->output_len < len)
		if (!try_read(t, PLAY_PATIENCE))
			return false;
	return strncmp(t->output, word, len) == 0;
}

static void close_handed(struct try *t)
{
	for (int i = 0; i < 3; i++) {
		sbx_close_fd(&t->handed[i]);
		t->handed[i] = -1;
	}
}

/* What comes through a relay fits into a pipe, and is read when all is over. */
static void end_relayed(struct try *t)
{
	if (t->launched &&
		sbx_relay_run(t->relay, &t->launch, PLAY_PATIENCE, &t->exit) < 0)
		t->exit.how = SBX_HOW_NOT_STARTED;
	sbx_relay_free(t->relay);
	t->relay = NULL;
	close_handed(t);
	sbx_launch_done(&t->launch);
	t->launched = false;
}

void try_end(struct try *t)
{
	if (t->relay)
		end_relayed(t);
	if (t->end[1] >= 0 || t->stdio[1] != TRY_PIPE)
		while (try_read(t, PLAY_PATIENCE))
			;
	if (t->launched && sbx_launch_wait(&t->launch, PLAY_PATIENCE, &t->exit) < 0)
		t->exit.how = SBX_HOW_NOT_STARTED;
	sbx_launch_done(&t->launch);
	t->launched = false;
}

bool try_run(struct try *t, struct play *p, const char *work)
{
	SBX_CLEANUP_FREE char *probe = work ? play_probe_in(p, work) : NULL;
	char *const cmd[] = { probe, NULL };

	if (try_plan(t, p, work) < 0 || try_start(t, p, probe ? cmd : NULL) < 0) {
		play_fail(p, "start");
		return false;
	}
	try_go(t, p);
	try_end(t);
	if (t->n_acts && *try_result(t, t->n_acts - 1) == '\0') {
		play_fail(p, "payload");
		return false;
	}
	return true;
}

const char *try_result(struct try *t, size_t i)
{
	char key[32];
	const char *line;
	size_t len;

	snprintf(key, sizeof(key), "obs\t%zu\t", i);
	line = strstr(t->output, key);
	if (line == NULL)
		return "";
	line += strlen(key);
	len = strcspn(line, "\n");
	snprintf(t->result, sizeof(t->result), "%.*s", (int)len, line);
	return t->result;
}

bool try_ok(struct try *t, size_t i)
{
	return strcmp(try_result(t, i), "ok") == 0;
}

void try_done(struct try *t)
{
	if (t->launched)
		sbx_launch_done(&t->launch);
	if (t->is_prepared)
		prepared_done(&t->prepared);
	for (int i = 0; i < 3; i++)
		sbx_close_fd(&t->end[i]);
	sbx_relay_free(t->relay);
	close_handed(t);
	if (t->acts_file)
		fclose(t->acts_file);
	free(t->acts_text);
	sbx_error_done(&t->error);
	*t = TRY_INIT;
}
