#include "cell.h"

#include <stdio.h>
#include <string.h>

static const char *const agents[] = { "claude", "codex", "gemini", "opencode", "agent",
	"kiro", "generic" };
static const char *const profiles[] = { "lenient", "strict" };
static const char *const fs_modes[] = { "rw", "ro" };
static const char *const net_modes[] = { "on", "off" };

static const char *const uids[UID_MAX] = { "user", "root" };
static const char *const landlocks[LANDLOCK_MAX] = { "scoped", "none" };

static const struct {
	const char *name;
	const char *const *values;
	int n;
} axes[AXIS_MAX] = {
	[AXIS_AGENT] = { "agent", agents, 7 },
	[AXIS_PROFILE] = { "profile", profiles, 2 },
	[AXIS_FS] = { "fs", fs_modes, 2 },
	[AXIS_NET] = { "net", net_modes, 2 },
	[AXIS_UID] = { "uid", uids, UID_MAX },
	[AXIS_LANDLOCK] = { "landlock", landlocks, LANDLOCK_MAX },
};

const char *axis_name(enum axis a)
{
	return axes[a].name;
}

int axis_find(const char *name)
{
	for (int a = 0; a < AXIS_MAX; a++)
		if (strcmp(axes[a].name, name) == 0)
			return a;
	return -1;
}

int axis_size(enum axis a)
{
	return axes[a].n;
}

const char *axis_value(enum axis a, int i)
{
	return axes[a].values[i];
}

int axis_value_find(enum axis a, const char *value)
{
	for (int i = 0; i < axes[a].n; i++)
		if (strcmp(axes[a].values[i], value) == 0)
			return i;
	return -1;
}

size_t cell_count(void)
{
	return CELL_MAX;
}

struct cell cell_at(size_t i, int uid)
{
	struct cell c = { .value[AXIS_UID] = uid };

	for (int a = AXIS_NET; a >= 0; a--) {
		c.value[a] = (int)(i % (size_t)axes[a].n);
		i /= (size_t)axes[a].n;
	}
	return c;
}

size_t cell_all_count(void)
{
	return (size_t)CELL_MAX * UID_MAX * LANDLOCK_MAX;
}

struct cell cell_all_at(size_t i)
{
	struct cell c = cell_at(i % CELL_MAX, (int)(i / CELL_MAX % UID_MAX));

	c.value[AXIS_LANDLOCK] = (int)(i / CELL_MAX / UID_MAX);
	return c;
}

const char *cell_value(const struct cell *c, enum axis a)
{
	return axes[a].values[c->value[a]];
}

const char *cell_name(const struct cell *c, char *buf)
{
	snprintf(buf, CELL_NAME_MAX, "%s/%s/%s/%s", cell_value(c, AXIS_AGENT),
		cell_value(c, AXIS_PROFILE), cell_value(c, AXIS_FS),
		cell_value(c, AXIS_NET));
	return buf;
}

bool condition_matches(const struct condition *w, const struct cell *c)
{
	for (int a = 0; a < AXIS_MAX; a++)
		if (w->mask[a] && !(w->mask[a] & (1U << c->value[a])))
			return false;
	return true;
}

/* One "axis=v,v" or "axis!=v,v", modified in place. */
static const char *parse_term(char *term, struct condition *w)
{
	char *eq = strchr(term, '='), *save = NULL;
	bool negated = eq && eq > term && eq[-1] == '!';
	unsigned mask = 0;
	int axis;

	if (eq == NULL)
		return "expected axis=value";
	eq[negated ? -1 : 0] = '\0';
	axis = axis_find(term);
	if (axis < 0)
		return "unknown axis";
	if (w->mask[axis])
		return "axis named twice";
	for (char *v = strtok_r(eq + 1, ",", &save); v; v = strtok_r(NULL, ",", &save)) {
		int i = axis_value_find((enum axis)axis, v);

		if (i < 0)
			return "unknown value of an axis";
		mask |= 1U << i;
	}
	if (mask == 0)
		return "axis without a value";
	if (negated)
		mask = ~mask & ((1U << axes[axis].n) - 1);
	if (mask == 0)
		return "condition that no cell can meet";
	w->mask[axis] = mask;
	return NULL;
}

const char *condition_parse(const char *text, struct condition *ret)
{
	struct condition w = { { 0 } };
	char buf[256], *save = NULL;
	const char *wrong = NULL;

	if (strcmp(text, "*") == 0) {
		*ret = w;
		return NULL;
	}
	if (snprintf(buf, sizeof(buf), "%s", text) >= (int)sizeof(buf))
		return "condition too long";
	for (char *t = strtok_r(buf, "&", &save); t && !wrong;
		t = strtok_r(NULL, "&", &save))
		wrong = parse_term(t, &w);
	if (wrong == NULL)
		*ret = w;
	return wrong;
}
