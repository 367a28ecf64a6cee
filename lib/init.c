#include "init.h"

static const unsigned char program[] = {
#include "init_image.h"
};

int sbx_init_memfd(void)
{
	return sbx_memfd_program("sbx-init", program, sizeof(program));
}

void sbx_init_words(
	struct sbx_strv *argv, int image, int control, int status, unsigned skip)
{
	sbx_strv_addf(argv, "/proc/self/fd/%d", image);
	sbx_strv_addf(argv, "%d", image);
	sbx_strv_addf(argv, "%d", control);
	sbx_strv_addf(argv, "%d", status);
	sbx_strv_addf(argv, "%u", skip);
	sbx_strv_add(argv, "--");
}
