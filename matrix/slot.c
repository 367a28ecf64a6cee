#include "slot.h"

#include <string.h>

int slot_open(struct slot *s, const struct run_options *o, struct sbx_error *e)
{
	const char *what = NULL;
	int r;

	*s = (struct slot){ 0 };
	r = scene_create(&s->scene, o->scene_base, o->images, &what);
	if (r < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, -r,
			"the scene cannot be made below %s: %s: %s", o->scene_base, what,
			strerror(-r));
		sbx_error_remedy(e,
			"name a directory that this user may write to and execute "
			"programs in: --scene-dir DIR");
		return r;
	}
	r = controls_run(&s->controls, o->table, &s->scene, &o->select, o->cells, o->uid,
		o->timeout_ms, &what);
	if (r < 0) {
		sbx_error_set(
			e, SBX_E_SYSTEM, -r, "controls: %s: %s", what, strerror(-r));
		scene_destroy(&s->scene);
		return r;
	}
	flight_init(&s->flights[0]);
	flight_init(&s->flights[1]);
	return 0;
}

void slot_close(struct slot *s)
{
	flight_done(&s->flights[0]);
	flight_done(&s->flights[1]);
	controls_done(&s->controls);
	scene_destroy(&s->scene);
}

bool slot_wants(const struct slot *s)
{
	return s->queued == NULL;
}

bool slot_idle(const struct slot *s)
{
	return s->running == NULL && s->ready == NULL && s->queued == NULL;
}

void slot_take(struct slot *s, struct cell_result *target)
{
	s->queued = target;
}

static void make_ready(
	struct slot *s, const struct run_options *o, struct cell_result *target)
{
	s->ready = s->running == &s->flights[0] ? &s->flights[1] : &s->flights[0];
	flight_plan(s->ready, &s->scene, o, target);
	if (!o->no_sandbox)
		flight_launch(s->ready, &s->scene);
}

/* The scene as new. What is ready was made from the old one: it is made again. */
static void mend(struct slot *s, const struct run_options *o, struct cell_result *c)
{
	struct cell_result *next = s->ready ? s->ready->target : NULL;

	if (next)
		flight_abort(s->ready);
	if (scene_reset(&s->scene) < 0 && c->trouble == NULL)
		c->trouble = sbx_xstrdup("the scene cannot be put back after this cell");
	s->running = NULL;
	if (next)
		make_ready(s, o, next);
}

static bool is_ro(const struct cell_result *c)
{
	return strcmp(cell_value(&c->cell, AXIS_FS), "ro") == 0;
}

/* A sandbox that may write keeps places in the work dir from its start on; one that may not sees
 * them, and would be judged by what is not its own. */
static bool would_be_seen(const struct slot *s, const struct run_options *o)
{
	return !o->no_sandbox && s->running && is_ro(s->running->target) &&
	       !is_ro(s->queued);
}

struct cell_result *slot_turn(struct slot *s, const struct run_options *o)
{
	struct cell_result *done = s->running ? s->running->target : NULL;

	if (s->running && !flight_ended(s->running))
		return NULL;
	if (s->running && flight_land(s->running, &s->scene, &s->controls, o))
		mend(s, o, done);
	s->running = s->ready;
	s->ready = NULL;
	if (s->queued && !would_be_seen(s, o)) {
		make_ready(s, o, s->queued);
		s->queued = NULL;
	}
	if (s->running && o->no_sandbox)
		flight_native(s->running, &s->scene, o);
	else if (s->running)
		flight_go(s->running, &s->scene, o);
	return done;
}
