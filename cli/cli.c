#include "cli.h"

#include <errno.h>

int cli_complain(struct sbx_error *e)
{
	fprintf(stderr, "sbx: %s\n", e->message ? e->message : "failed");
	if (e->remedy)
		fprintf(stderr, "sbx: to mend it: %s\n", e->remedy);
	sbx_error_done(e);
	return EXIT_OWN;
}

void cli_warn(const char *fmt, ...)
{
	va_list ap;

	fputs("sbx: warning: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int cli_finish_output(void)
{
	struct sbx_error e = { 0 };

	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_FINE;
	sbx_error_set(&e, SBX_E_SYSTEM, errno, "standard output: %m");
	return cli_complain(&e);
}
