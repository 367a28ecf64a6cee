/* Memory, string-vector and descriptor helpers shared by lib/ and matrix/.
 *
 * Allocation failure aborts: sbx is a short-lived launcher, and a half-built policy must
 * never be used. Nothing here prints or knows about sandboxes.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define SBX_PUBLIC __attribute__((visibility("default")))
#define SBX_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define SBX_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void sbx_free_ptr(void *p)
{
	free(*(void **)p);
}

static inline void sbx_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define SBX_CLEANUP_FREE __attribute__((cleanup(sbx_free_ptr)))
#define SBX_CLEANUP_FD __attribute__((cleanup(sbx_close_fd)))

/* Take: returns the value and leaves the variable empty, for handing over ownership. */
#define SBX_TAKE_PTR(p)                     \
	({                                  \
		__typeof__(p) _taken = (p); \
		(p) = NULL;                 \
		_taken;                     \
	})
#define SBX_TAKE_FD(fd)            \
	({                         \
		int _taken = (fd); \
		(fd) = -1;         \
		_taken;            \
	})

/* All return memory owned by the caller (free()); never NULL. */
SBX_PUBLIC void *sbx_xcalloc(size_t n, size_t size);
SBX_PUBLIC void *sbx_xrealloc(void *p, size_t n, size_t size);
SBX_PUBLIC char *sbx_xstrdup(const char *s);
SBX_PUBLIC char *sbx_xasprintf(const char *fmt, ...) SBX_PRINTF(1, 2);
SBX_PUBLIC char *sbx_xvasprintf(const char *fmt, va_list ap) SBX_PRINTF(1, 0);

/* A NULL-terminated vector of owned strings. Zero-initialise; end with sbx_strv_done(). */
struct sbx_strv {
	char **v; /* NULL, or n strings and a NULL */
	size_t n;
};

/* add_ copies s, take_ owns it. Returns the stored string. */
SBX_PUBLIC char *sbx_strv_add(struct sbx_strv *sv, const char *s);
SBX_PUBLIC char *sbx_strv_take(struct sbx_strv *sv, char *s);
SBX_PUBLIC char *sbx_strv_addf(struct sbx_strv *sv, const char *fmt, ...)
	SBX_PRINTF(2, 3);
SBX_PUBLIC bool sbx_strv_contains(const struct sbx_strv *sv, const char *s);
SBX_PUBLIC void sbx_strv_done(struct sbx_strv *sv);

/* Value of NAME in a NULL-terminated environment, borrowed; NULL when absent. */
SBX_PUBLIC const char *sbx_env_get(char *const *envp, const char *name);

/* Writes all of buf or returns -errno. */
SBX_PUBLIC int sbx_write_all(int fd, const void *buf, size_t len);

/* Reads a whole small file. *ret is NUL-terminated and owned by the caller.
 * Returns 0, -errno, or -EFBIG when it is longer than max bytes. */
SBX_PUBLIC int sbx_read_file(const char *path, size_t max, char **ret, size_t *ret_len);

/* Takes fd and returns it, or a close-on-exec copy, as a number of 3 or more; -errno on failure
 * (fd is closed then). A descriptor of ours on 0, 1 or 2 would become somebody's stdio. */
SBX_PUBLIC int sbx_fd_high(int fd);

/* A pipe of such descriptors: ret[0] to read, ret[1] to write. 0 or -errno. */
SBX_PUBLIC int sbx_pipe(int ret[2]);

/* A pair of connected stream sockets, likewise. */
SBX_PUBLIC int sbx_socketpair(int ret[2]);

/* A close-on-exec, sealed memory file holding buf, its offset at 0. Returns fd or -errno. */
SBX_PUBLIC int sbx_memfd(const char *name, const void *buf, size_t len);

/* The same for a program: it may be executed, whatever vm.memfd_noexec says by default. */
SBX_PUBLIC int sbx_memfd_program(const char *name, const void *buf, size_t len);

/* CLOCK_MONOTONIC in milliseconds. */
SBX_PUBLIC long long sbx_now_ms(void);
