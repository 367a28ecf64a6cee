/* One place where cells run, one after the other: a scene of its own, its controls, and two
 * flights. While one probe is at work, the next sandbox is already being set up; its probe
 * waits for its acts until the scene has been looked at and cleaned. Plans are made and
 * sources opened only while no probe is at work, so that nothing a cell leaves behind for a
 * moment goes into the next one's plan. */
#pragma once

#include "flight.h"

struct slot {
	struct scene scene;
	struct controls controls;
	struct flight flights[2];
	struct flight *running; /* has its acts; NULL, or one of them */
	struct flight *ready; /* launched, waits for its acts; NULL, or the other */
	struct cell_result *queued; /* NULL, or what comes next */
};

/* Makes scene and controls. On failure e is set and nothing is left. */
int slot_open(struct slot *s, const struct run_options *o, struct sbx_error *e);
void slot_close(struct slot *s);

/* True when the slot can take another cell. */
bool slot_wants(const struct slot *s);
void slot_take(struct slot *s, struct cell_result *target);
bool slot_idle(const struct slot *s);

/* Moves on. Returns the cell that has just been finished, or NULL. */
struct cell_result *slot_turn(struct slot *s, const struct run_options *o);
