#include "init.h"

#include "limit.h"

static const unsigned char program[] = {
#include "init_image.h"
};

int sbx_init_memfd(void)
{
	return sbx_memfd_program("sbx-init", program, sizeof(program));
}

/* "7=64,1=4096": numbers of resources and what they may be; "-": none. Owned. */
static char *limits_word(const struct sbx_plan *plan)
{
	char *word = sbx_xstrdup("");

	for (size_t i = 0; i < plan->n; i++) {
		enum sbx_limit_kind which;
		char *longer;

		if (plan->ops[i].kind != SBX_OP_LIMIT)
			continue;
		/* Pid 1 refuses a number that is none, and with it the command. */
		longer = sbx_xasprintf("%s%s%d=%s", word, *word ? "," : "",
			sbx_limit_from_string(plan->ops[i].dst, &which) < 0
				? -1
				: sbx_limit_resource(which),
			plan->ops[i].src);
		free(word);
		word = longer;
	}
	if (*word)
		return word;
	free(word);
	return sbx_xstrdup("-");
}

void sbx_init_words(struct sbx_strv *argv, const struct sbx_init_fds *fds,
	const struct sbx_plan *plan, unsigned skip)
{
	sbx_strv_addf(argv, "/proc/self/fd/%d", fds->image);
	sbx_strv_addf(argv, "%d", fds->image);
	sbx_strv_addf(argv, "%d", fds->control);
	sbx_strv_addf(argv, "%d", fds->status);
	sbx_strv_addf(argv, "%d", fds->keeper);
	sbx_strv_addf(argv, "%u", skip);
	for (int i = 0; i < 3; i++)
		sbx_strv_addf(argv, "%d", fds->command[i]);
	sbx_strv_take(argv, limits_word(plan));
	sbx_strv_add(argv, "--");
}
