#include "mountsim.h"

#include "path.h"

#include <string.h>

/* The last operation whose destination is the path or above it. */
static const struct sbx_op *covering(const struct sbx_plan *plan, const char *path)
{
	const struct sbx_op *last = NULL;

	for (size_t i = 0; i < plan->n; i++)
		if (sbx_op_is_mount(plan->ops[i].kind) &&
			sbx_path_is_beneath(path, plan->ops[i].dst))
			last = &plan->ops[i];
	return last;
}

enum sim_access sim_access(const struct sbx_plan *plan, const char *path)
{
	const struct sbx_op *op = covering(plan, path);

	if (op == NULL)
		return SIM_ABSENT;
	switch (op->kind) {
	case SBX_OP_BIND:
		return strcmp(op->src, op->dst) == 0 ? SIM_RW : SIM_ABSENT;
	case SBX_OP_RO_BIND:
		return strcmp(op->src, op->dst) == 0 ? SIM_RO : SIM_ABSENT;
	case SBX_OP_TMPFS:
	case SBX_OP_DIR:
	case SBX_OP_COPY:
	case SBX_OP_TEXT:
		return SIM_PRIVATE;
	default:
		return SIM_ABSENT;
	}
}

bool sim_can_move(const struct sbx_plan *plan, const char *path)
{
	const struct sbx_op *op = covering(plan, path);

	return op && op->kind == SBX_OP_BIND && strcmp(op->dst, path) != 0;
}
