#include "evidence.h"

#include "sbx.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum effect {
	EFFECT_NONE,
	EFFECT_EXISTS, /* a new name stands at args[0] */
	EFFECT_GONE, /* the name at args[0] is gone */
	EFFECT_TOKEN, /* the file at args[0] holds the nonce */
	EFFECT_XATTR, /* its attribute user.sbx does */
	EFFECT_SUID, /* it has the setuid bit */
	EFFECT_SGID, /* it has the setgid bit */
};

static const struct {
	const char *op;
	enum effect effect;
	bool deep; /* directories above may be new as well */
} effects[] = {
	{ "create", EFFECT_EXISTS, false },
	{ "create_deep", EFFECT_TOKEN, true },
	{ "create_at", EFFECT_EXISTS, false },
	{ "append", EFFECT_TOKEN, false },
	{ "append_create", EFFECT_TOKEN, false },
	{ "mkdir", EFFECT_EXISTS, false },
	{ "rmdir", EFFECT_GONE, false },
	{ "unlink", EFFECT_GONE, false },
	{ "rename", EFFECT_EXISTS, false },
	{ "link", EFFECT_EXISTS, false },
	{ "symlink", EFFECT_EXISTS, false },
	{ "mkfifo", EFFECT_EXISTS, false },
	{ "mknod_chr", EFFECT_EXISTS, false },
	{ "bind_unix", EFFECT_EXISTS, false },
	{ "tmpfile", EFFECT_EXISTS, false },
	{ "setxattr", EFFECT_XATTR, false },
	{ "chmod_suid", EFFECT_SUID, false },

	{ "create_ro", EFFECT_EXISTS, false },
	{ "mkdir_closed", EFFECT_EXISTS, false },
	{ "mknod_blk", EFFECT_EXISTS, false },
	{ "mknod_whiteout", EFFECT_EXISTS, false },
	{ "chmod_sgid", EFFECT_SGID, false },
};

static const struct {
	const char *role;
	enum tree_part part;
} parts[] = {
	{ "home", TREE_HOME },
	{ "sibling", TREE_SIBLING },
	{ "work", TREE_WORK },
	{ "protected", TREE_PROTECTED },
};

static size_t find(const char *op)
{
	size_t i = 0;

	while (i < SBX_ARRAY_SIZE(effects) && strcmp(effects[i].op, op) != 0)
		i++;
	return i;
}

static bool holds_token(const char *path, const char *token)
{
	SBX_CLEANUP_FREE char *text = NULL;

	return sbx_read_file(path, 65536, &text, NULL) == 0 &&
	       strstr(text, token) != NULL;
}

static bool has_xattr(const char *path, const char *token)
{
	char value[64];
	ssize_t n = getxattr(path, "user.sbx", value, sizeof(value));

	return n == (ssize_t)strlen(token) && memcmp(value, token, (size_t)n) == 0;
}

int evidence_effect(const char *op, char *const *args, const char *token)
{
	size_t i = find(op);
	struct stat st;
	bool there;

	if (i == SBX_ARRAY_SIZE(effects))
		return 0;
	switch (effects[i].effect) {
	case EFFECT_EXISTS:
		there = lstat(args[0], &st) == 0;
		break;
	case EFFECT_GONE:
		there = lstat(args[0], &st) < 0 && errno == ENOENT;
		break;
	case EFFECT_TOKEN:
		there = holds_token(args[0], token);
		break;
	case EFFECT_XATTR:
		there = has_xattr(args[0], token);
		break;
	case EFFECT_SUID:
		there = lstat(args[0], &st) == 0 && (st.st_mode & S_ISUID);
		break;
	case EFFECT_SGID:
		there = lstat(args[0], &st) == 0 && (st.st_mode & S_ISGID);
		break;
	default:
		return 0;
	}
	return there ? 1 : -1;
}

/* The next cell's sandbox may be there already, and keep its places. */
static bool is_placeholder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && sbx_keeper_made(&st);
}

/* New, empty directories from path upwards, never above the scene's own. */
static void remove_empty_parents(const char *path, const struct tree *t)
{
	SBX_CLEANUP_FREE char *dir = sbx_xstrdup(path);

	for (;;) {
		char *slash = strrchr(dir, '/');

		if (slash == NULL)
			return;
		*slash = '\0';
		if (is_placeholder(dir) || tree_is_transcripts(t, dir))
			return;
		if (strncmp(dir, t->home, strlen(t->home)) != 0 || rmdir(dir) < 0)
			return;
	}
}

void evidence_clean(const char *op, char *const *args, int effect, const struct tree *t)
{
	size_t i = find(op);

	if (i == SBX_ARRAY_SIZE(effects))
		return;
	if (strcmp(op, "rename") == 0 && effect > 0) {
		if (rename(args[0], args[1]) < 0)
			unlink(args[0]);
	} else if (effects[i].effect == EFFECT_EXISTS && tree_is_material(t, args[0])) {
		/* Goes with the scene. File systems are slow to give out what was just freed. */
		return;
	} else if (effects[i].effect == EFFECT_EXISTS) {
		/* The nonce in the name makes it ours, wherever it is. */
		if (unlink(args[0]) < 0 && errno == EISDIR)
			rmdir(args[0]);
	} else if (effects[i].effect == EFFECT_TOKEN && effect > 0) {
		tree_restore_file(t, args[0]);
	}
	if (effects[i].deep && !tree_has(t, args[0]) && !is_placeholder(args[0])) {
		unlink(args[0]);
		remove_empty_parents(args[0], t);
	}
}

bool evidence_exists(const char *op)
{
	return find(op) < SBX_ARRAY_SIZE(effects);
}

void evidence_snapshot(const struct rule *r, const struct scene *s,
	const struct tree_print *now, struct observation *ret)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(parts); i++) {
		enum tree_part part = parts[i].part;
		bool same = now->part[part] == s->baseline.part[part];

		if (strcmp(r->op, "snapshot") != 0 || strcmp(parts[i].role, r->role) != 0)
			continue;
		ret->present = true;
		snprintf(ret->result, sizeof(ret->result), "value:%s",
			same ? "unchanged" : "changed");
	}
}
