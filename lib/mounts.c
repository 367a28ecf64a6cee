#include "mounts.h"

#include "path.h"

#include <string.h>

struct sbx_op *sbx_mounts_add(struct sbx_plan *m, enum sbx_op_kind kind, const char *src,
	const char *dst, enum sbx_pin pin, const char *why)
{
	struct sbx_op *op;

	for (size_t i = 0; i < m->n; i++) {
		if (strcmp(m->ops[i].dst, dst) != 0)
			continue;
		if (m->ops[i].kind == SBX_OP_BIND && kind == SBX_OP_RO_BIND) {
			sbx_plan_remove(m, i);
			break;
		}
		return NULL;
	}
	op = sbx_plan_add(m, kind, src, dst, why);
	op->pin = pin;
	return op;
}

static bool below_a_mount(const struct sbx_plan *m, const char *dst)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->ops[i].dst, dst) != 0 &&
			sbx_path_is_beneath(dst, m->ops[i].dst))
			return true;
	return false;
}

void sbx_mounts_unseal(struct sbx_plan *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct sbx_op *op = &m->ops[i];

		if (!op->sealed || !below_a_mount(m, op->dst))
			continue;
		op->sealed = false;
		if (op->kind == SBX_OP_COPY)
			op->kind = SBX_OP_RO_BIND;
	}
}

void sbx_mounts_sort(struct sbx_plan *m)
{
	for (size_t i = 1; i < m->n; i++) {
		struct sbx_op op = m->ops[i];
		size_t depth = sbx_path_depth(op.dst), j = i;

		for (; j > 0 && sbx_path_depth(m->ops[j - 1].dst) > depth; j--)
			m->ops[j] = m->ops[j - 1];
		m->ops[j] = op;
	}
}
