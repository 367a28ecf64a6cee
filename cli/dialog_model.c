#include "dialog_model.h"

#include <string.h>

/* ---- text ---- */

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t before(const struct dialog_text *t, size_t at)
{
	while (at > 0 && is_continuation(t->s[--at]))
		;
	return at;
}

static size_t behind(const struct dialog_text *t, size_t at)
{
	if (at < t->len)
		at++;
	while (at < t->len && is_continuation(t->s[at]))
		at++;
	return at;
}

void dialog_text_set(struct dialog_text *t, const char *s)
{
	size_t len = strnlen(s, sizeof(t->s) - 1);

	memcpy(t->s, s, len);
	t->s[len] = '\0';
	t->len = t->at = len;
}

static void cut(struct dialog_text *t, size_t from, size_t to)
{
	memmove(t->s + from, t->s + to, t->len - to + 1);
	t->len -= to - from;
	t->at = from;
}

static void insert(struct dialog_text *t, char c)
{
	if (t->len + 1 >= sizeof(t->s))
		return;
	memmove(t->s + t->at + 1, t->s + t->at, t->len - t->at + 1);
	t->s[t->at++] = c;
	t->len++;
}

/* Returns whether the text has changed. */
static bool edit(struct dialog_text *t, int key)
{
	switch (key) {
	case DIALOG_KEY_LEFT:
		t->at = before(t, t->at);
		return false;
	case DIALOG_KEY_RIGHT:
		t->at = behind(t, t->at);
		return false;
	case DIALOG_KEY_HOME:
		t->at = 0;
		return false;
	case DIALOG_KEY_END:
		t->at = t->len;
		return false;
	case DIALOG_KEY_BACKSPACE:
		cut(t, before(t, t->at), t->at);
		return true;
	case DIALOG_KEY_DELETE:
		cut(t, t->at, behind(t, t->at));
		return true;
	case DIALOG_KEY_KILL:
		cut(t, 0, t->len);
		return true;
	default:
		if (key >= ' ' && key < 256 && key != 127)
			insert(t, (char)key);
		return true;
	}
}

size_t dialog_text_window(const struct dialog_text *t, size_t columns, size_t *ret_cursor)
{
	size_t start = t->at, n = 0;

	while (start > 0 && n + 1 < columns) {
		start = before(t, start);
		n++;
	}
	*ret_cursor = n;
	return start;
}

/* ---- the dialog ---- */

void dialog_init(struct dialog *d, const struct dialog_agent *agents, size_t n,
	const char *dir, const char *unavailable, const char *mend)
{
	*d = (struct dialog){ .n_agents = n, .fs = SBX_FS_RW, .net = true };
	d->agents = sbx_xcalloc(n, sizeof(*d->agents));
	for (int found = 1, to = 0; found >= 0; found--)
		for (size_t i = 0; i < n; i++)
			if (agents[i].found == (found == 1))
				d->agents[to++] = agents[i];
	dialog_text_set(&d->dir, dir);
	d->sandbox = unavailable == NULL;
	d->unavailable = unavailable ? sbx_xstrdup(unavailable) : NULL;
	d->mend = mend ? sbx_xstrdup(mend) : NULL;
}

void dialog_done(struct dialog *d)
{
	free(d->agents);
	free(d->unavailable);
	free(d->mend);
	free(d->error);
	*d = (struct dialog){ 0 };
}

bool dialog_is_shown(const struct dialog *d, enum dialog_field field)
{
	switch (field) {
	case DIALOG_COMMAND:
		return strcmp(d->agents[d->agent].name, "generic") == 0;
	case DIALOG_FS:
	case DIALOG_NET:
		return d->sandbox;
	default:
		return true;
	}
}

bool dialog_is_enabled(const struct dialog *d, enum dialog_field field)
{
	return dialog_is_shown(d, field) &&
	       (field != DIALOG_SANDBOX || d->unavailable == NULL);
}

static void move_focus(struct dialog *d, int step)
{
	int field = (int)d->focus;

	do {
		field = (field + step + _DIALOG_MAX) % _DIALOG_MAX;
	} while (!dialog_is_enabled(d, (enum dialog_field)field));
	d->focus = (enum dialog_field)field;
}

/* A choice goes to the next value, or to the one before. Returns whether it is one. */
static bool choose(struct dialog *d, int step)
{
	switch (d->focus) {
	case DIALOG_AGENT:
		d->agent = (d->agent + d->n_agents + (size_t)step) % d->n_agents;
		return true;
	case DIALOG_SANDBOX:
		d->sandbox = !d->sandbox;
		return true;
	case DIALOG_FS:
		d->fs = d->fs == SBX_FS_RW ? SBX_FS_RO : SBX_FS_RW;
		return true;
	case DIALOG_NET:
		d->net = !d->net;
		return true;
	default:
		return false;
	}
}

static void forget_error(struct dialog *d)
{
	free(SBX_TAKE_PTR(d->error));
}

static struct dialog_text *focused_text(struct dialog *d)
{
	return d->focus == DIALOG_DIR       ? &d->dir
	       : d->focus == DIALOG_COMMAND ? &d->command
					    : NULL;
}

/* In a text every other key is the text's; else arrows and space choose, or move between the
 * buttons. */
static void key_in_field(struct dialog *d, int key)
{
	struct dialog_text *t = focused_text(d);
	bool button = d->focus == DIALOG_START || d->focus == DIALOG_CANCEL;

	if (t) {
		if (edit(t, key))
			forget_error(d);
	} else if (key == ' ' && button) {
		dialog_key(d, DIALOG_KEY_ENTER);
	} else if (key == DIALOG_KEY_LEFT || key == DIALOG_KEY_RIGHT || key == ' ') {
		int step = key == DIALOG_KEY_LEFT ? -1 : 1;

		if (choose(d, step))
			forget_error(d);
		else
			move_focus(d, step);
	}
}

/* Without a sandbox nothing starts but by the button that says so. */
static void enter(struct dialog *d)
{
	if (d->focus == DIALOG_CANCEL)
		d->outcome = DIALOG_CANCELLED;
	else if (d->sandbox || d->focus == DIALOG_START)
		d->outcome = DIALOG_SUBMITTED;
	else
		d->focus = DIALOG_START;
}

void dialog_key(struct dialog *d, int key)
{
	if (d->outcome != DIALOG_OPEN)
		return;
	switch (key) {
	case DIALOG_KEY_NEXT:
		move_focus(d, 1);
		break;
	case DIALOG_KEY_PREVIOUS:
		move_focus(d, -1);
		break;
	case DIALOG_KEY_ENTER:
		enter(d);
		break;
	case DIALOG_KEY_CANCEL:
		d->outcome = DIALOG_CANCELLED;
		break;
	default:
		key_in_field(d, key);
		break;
	}
}

void dialog_refuse(struct dialog *d, enum dialog_field field, const char *error)
{
	forget_error(d);
	d->error = sbx_xstrdup(error);
	d->outcome = DIALOG_OPEN;
	d->focus = field;
}
