#include "init.h"

static const unsigned char program[] = {
#include "init_image.h"
};

int sbx_init_memfd(void)
{
	return sbx_memfd_program("sbx-init", program, sizeof(program));
}

void sbx_init_words(struct sbx_strv *argv, const struct sbx_init_fds *fds, unsigned skip)
{
	sbx_strv_addf(argv, "/proc/self/fd/%d", fds->image);
	sbx_strv_addf(argv, "%d", fds->image);
	sbx_strv_addf(argv, "%d", fds->control);
	sbx_strv_addf(argv, "%d", fds->status);
	sbx_strv_addf(argv, "%d", fds->keeper);
	sbx_strv_addf(argv, "%u", skip);
	for (int i = 0; i < 3; i++)
		sbx_strv_addf(argv, "%d", fds->command[i]);
	sbx_strv_add(argv, "--");
}
