#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void explain(const char *word, int timeout_ms, const char *out,
	const struct sbx_exit *x, struct sbx_error *e)
{
	if (x->how == SBX_HOW_TIMEOUT)
		sbx_error_set(e, SBX_E_NOTHING_RAN, ETIMEDOUT,
			"%s did not end within %d s; it has said: %.200s", word,
			timeout_ms / 1000, out);
	else if (x->how == SBX_HOW_NOT_EXECUTED)
		sbx_error_set(e, SBX_E_NOTHING_RAN, x->code,
			"%s cannot be executed inside: %s", word, strerror(x->code));
	else
		sbx_error_set(e, SBX_E_NOTHING_RAN, EIO, "%s did not run inside: %.200s",
			word, out);
}

int inside_run(const struct prepared *p, const struct options *o, char *const cmd[],
	int timeout_ms, char out[INSIDE_MAX], struct sbx_exit *ret, struct sbx_error *e)
{
	SBX_CLEANUP_FD int in = sbx_fd_high(open("/dev/null", O_RDONLY | O_CLOEXEC));
	SBX_CLEANUP_FD int mem = sbx_fd_high(memfd_create("sbx-inside", MFD_CLOEXEC));
	struct sbx_launch_opts lo = prepare_launch_opts(o);
	struct sbx_launch l;
	ssize_t n;
	int r;

	out[0] = '\0';
	if (in < 0 || mem < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "memfd: %m");
		return -1;
	}
	lo.in = in;
	lo.out = lo.err = mem;
	if (sbx_launch_start(&l, &p->plan, &p->host, cmd, &lo, e) < 0)
		return -1;
	r = sbx_launch_wait(&l, timeout_ms, ret);
	sbx_launch_done(&l);
	n = pread(mem, out, INSIDE_MAX - 1, 0);
	out[n > 0 ? n : 0] = '\0';
	if (r == 0 && ret->how == SBX_HOW_EXITED)
		return 0;
	explain(cmd[0], timeout_ms, out, ret, e);
	return -1;
}
