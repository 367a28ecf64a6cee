/* The cells of the matrix: labels, nothing else. Part of the oracle: no lib/ header here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first four span the matrix. Who runs the cells, and what kind of kernel, is the same for a
 * whole run. */
enum axis {
	AXIS_AGENT,
	AXIS_PROFILE,
	AXIS_FS,
	AXIS_NET,
	AXIS_UID,
	AXIS_LANDLOCK,
	AXIS_MAX
};

enum { UID_USER, UID_ROOT, UID_MAX }; /* values of AXIS_UID */
enum { LANDLOCK_SCOPED, LANDLOCK_NONE, LANDLOCK_MAX }; /* the kernel has scopes, or not */

/* One combination: an index into the values of each axis. */
struct cell {
	int value[AXIS_MAX];
};

const char *axis_name(enum axis a);
/* Axis of that name, or -1. */
int axis_find(const char *name);
/* Number of values, and value i ("claude", "lenient", "rw", "on"); borrowed. */
int axis_size(enum axis a);
const char *axis_value(enum axis a, int i);
/* Index of a value, or -1. */
int axis_value_find(enum axis a, const char *value);

#define CELL_MAX 56
#define CELL_NAME_MAX 64

/* All cells of a run in a fixed order: agent, profile, fs, net; the last varies fastest.
 * uid: a value of AXIS_UID. The kernel has scopes unless the caller says otherwise. */
size_t cell_count(void);
struct cell cell_at(size_t i, int uid);
/* The same for both uids and both kinds of kernel: what the table speaks about. */
size_t cell_all_count(void);
struct cell cell_all_at(size_t i);
/* "claude/lenient/rw/on" into buf of CELL_NAME_MAX bytes; returns buf. */
const char *cell_name(const struct cell *c, char *buf);
const char *cell_value(const struct cell *c, enum axis a);

/* A set of values an axis may have: bit i is value i. All zero means "any". */
struct condition {
	unsigned mask[AXIS_MAX];
};

bool condition_matches(const struct condition *w, const struct cell *c);
/* Reads "*" or "axis=v[,v][&axis!=v...]". Returns NULL, or what is wrong (static text). */
const char *condition_parse(const char *text, struct condition *ret);
