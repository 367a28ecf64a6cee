/* One cell in flight: planned, launched, given its acts, landed.
 *
 * bwrap needs most of a cell's time to set up, and the probe does nothing until it has read
 * its acts. Hence two steps: flight_plan(), flight_launch(), then, in its own time, flight_go()
 * and flight_land().
 */
#pragma once

#include "controls.h"
#include "run.h"

#define FLIGHT_OUTPUT_MAX 131072

struct flight {
	struct cell_result *target; /* NULL: free */
	bool planned, launched;
	struct prepared prepared;
	struct acts acts;
	struct sbx_launch launch;
	int ops; /* write end of the probe's input; -1 when the acts are given */
	int out, err; /* read ends; -1 at end of file */
	char *output; /* FLIGHT_OUTPUT_MAX + 1 bytes */
	size_t output_len;
	char said[1024]; /* what bwrap wrote to standard error */
	size_t said_len;
	long long started, deadline;
};

void flight_init(struct flight *f);
void flight_done(struct flight *f);

/* Host and plan of the cell. Nothing on the host changes. Trouble is noted in target. */
void flight_plan(struct flight *f, const struct scene *s, const struct run_options *o,
	struct cell_result *target);

/* Starts bwrap; the probe waits for its acts. Trouble is noted. */
void flight_launch(struct flight *f, const struct scene *s);

/* Takes a launch back, as if it had never been planned. */
void flight_abort(struct flight *f);

/* Gives the probe its acts; its time counts from here. */
void flight_go(struct flight *f, struct scene *s, const struct run_options *o);

/* Instead of launch and go: the probe without a sandbox, to its end. */
void flight_native(struct flight *f, struct scene *s, const struct run_options *o);

/* Reads what there is. True when the monitor has ended or the time is up. */
bool flight_ended(struct flight *f);

/* Waits for the last process, runs the staged scenarios, then judges. After it the flight is free. Returns true when
 * the cell changed more than its own, so that the scene must be made as new. */
bool flight_land(struct flight *f, struct scene *s, struct controls *c,
	const struct run_options *o);

/* Descriptors to poll: at most three, -1 for none. */
void flight_poll_fds(const struct flight *f, int ret[3]);
