#include "cli.h"

#include "quote.h"

#include <errno.h>

/* Names of the project's are in it: none may act on the terminal. */
static void say(const char *title, const char *text)
{
	SBX_CLEANUP_FREE char *plain = quote_plain(text);

	fprintf(stderr, "sbx: %s%s\n", title, plain);
}

int cli_complain(struct sbx_error *e)
{
	say("", e->message ? e->message : "failed");
	if (e->remedy)
		say("to mend it: ", e->remedy);
	sbx_error_done(e);
	return EXIT_OWN;
}

void cli_warn(const char *fmt, ...)
{
	SBX_CLEANUP_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = sbx_xvasprintf(fmt, ap);
	va_end(ap);
	say("warning: ", text);
}

int cli_finish_output(void)
{
	struct sbx_error e = { 0 };

	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_FINE;
	sbx_error_set(&e, SBX_E_SYSTEM, errno, "standard output: %m");
	return cli_complain(&e);
}
