#include "argv.h"

#include <errno.h>
#include <string.h>

static void add_fd(struct sbx_argv *a, int fd, const char *placeholder)
{
	if (fd >= 0)
		sbx_strv_addf(&a->args, "%d", fd);
	else
		sbx_strv_addf(&a->args, "{%s}", placeholder);
}

static void add_bind(struct sbx_argv *a, const struct sbx_op *op, int fd)
{
	bool ro = op->kind == SBX_OP_RO_BIND;

	if (fd >= 0) {
		sbx_strv_add(&a->args, ro ? "--ro-bind-fd" : "--bind-fd");
		sbx_strv_addf(&a->args, "%d", fd);
	} else {
		sbx_strv_add(&a->args, ro ? "--ro-bind" : "--bind");
		sbx_strv_add(&a->args, op->src);
	}
	sbx_strv_add(&a->args, op->dst);
}

static void add_file(struct sbx_argv *a, const struct sbx_op *op, int fd)
{
	bool copy = op->kind == SBX_OP_COPY;

	sbx_strv_add(&a->args, "--perms");
	sbx_strv_add(&a->args, op->sealed ? "0444" : copy ? "0600" : "0644");
	sbx_strv_add(&a->args, op->sealed || copy ? "--file" : "--ro-bind-data");
	add_fd(a, fd, copy ? op->src : "text");
	sbx_strv_add(&a->args, op->dst);
}

static void add_words(
	struct sbx_argv *a, const char *option, const char *src, const char *dst)
{
	sbx_strv_add(&a->args, option);
	if (src)
		sbx_strv_add(&a->args, src);
	if (dst)
		sbx_strv_add(&a->args, dst);
}

static int render_op(
	struct sbx_argv *a, const struct sbx_op *op, int fd, struct sbx_error *e)
{
	switch (op->kind) {
	case SBX_OP_FLAG:
		add_words(a, op->dst, NULL, NULL);
		break;
	case SBX_OP_OPTION:
		add_words(a, op->dst, op->src, NULL);
		break;
	case SBX_OP_SECCOMP:
		sbx_strv_add(&a->args, "--seccomp");
		add_fd(a, fd, "filter");
		break;
	case SBX_OP_BIND:
	case SBX_OP_RO_BIND:
		add_bind(a, op, fd);
		break;
	case SBX_OP_COPY:
	case SBX_OP_TEXT:
		add_file(a, op, fd);
		break;
	case SBX_OP_TMPFS:
		add_words(a, "--tmpfs", NULL, op->dst);
		break;
	case SBX_OP_DIR:
		add_words(a, "--dir", NULL, op->dst);
		break;
	case SBX_OP_SYMLINK:
		add_words(a, "--symlink", op->src, op->dst);
		break;
	case SBX_OP_PROC:
		add_words(a, "--proc", NULL, op->dst);
		break;
	case SBX_OP_DEV:
		add_words(a, "--dev", NULL, op->dst);
		break;
	case SBX_OP_CHDIR:
		add_words(a, "--chdir", NULL, op->dst);
		break;
	case SBX_OP_REMOUNT_RO:
		add_words(a, "--remount-ro", NULL, op->dst);
		break;
	case SBX_OP_CGROUP: /* the launch's own work */
	case SBX_OP_LIMIT:
		break; /* a word of pid 1's: init.h */
	case SBX_OP_ENV:
		sbx_strv_addf(&a->env, "%s=%s", op->dst, op->src);
		break;
	default:
		return sbx_error_set(e, SBX_E_SYSTEM, EINVAL,
			"plan: operation of unknown kind %d", (int)op->kind);
	}
	return 0;
}

int sbx_argv_render(struct sbx_argv *ret, const struct sbx_plan *plan, const int *fds,
	struct sbx_error *e)
{
	struct sbx_argv a = { 0 };

	for (size_t i = 0; i < plan->n; i++) {
		int r = render_op(&a, &plan->ops[i], fds ? fds[i] : -1, e);

		if (r < 0) {
			sbx_argv_done(&a);
			return r;
		}
	}
	*ret = a;
	return 0;
}

void sbx_argv_done(struct sbx_argv *a)
{
	sbx_strv_done(&a->args);
	sbx_strv_done(&a->env);
}

char *sbx_argv_pack(const struct sbx_argv *a, size_t *ret_len)
{
	size_t len = 0;
	char *out, *w;

	for (size_t i = 0; i < a->args.n; i++)
		len += strlen(a->args.v[i]) + 1;
	out = w = sbx_xcalloc(1, len + 1);
	for (size_t i = 0; i < a->args.n; i++)
		w = stpcpy(w, a->args.v[i]) + 1;
	*ret_len = len;
	return out;
}
