/* The seccomp filter: a table of refused system calls, compiled with libseccomp.
 *
 * Default allow: agents run compilers, browsers and package managers. A row is there because
 * no namespace, mount flag or missing capability confines what the call does, or as a second
 * wall where one does. Deliberate losses are listed in docs/security.md.
 */
#pragma once

#include "error.h"

#include <stdint.h>

/* Matches when (argument & mask) == value. Masks of 32 bits: the kernel ignores the upper
 * half of an int argument, so a filter that compares 64 bits is bypassed (CVE-2019-10063). */
struct sbx_filter_cmp {
	unsigned arg;
	uint64_t mask; /* 0: the row has no such condition */
	uint64_t value;
};

struct sbx_filter_row {
	const char *name;
	int nr; /* number for calls newer than the library's table; -1: look the name up */
	int err;
	struct sbx_filter_cmp cmp[2];
	const char *why;
};

/* The rows, borrowed; *ret_n of them. */
SBX_PUBLIC const struct sbx_filter_row *sbx_filter_rows(size_t *ret_n);

/* A sealed, close-on-exec memory file with the BPF program for this machine's architecture,
 * leaving out the rows whose bit is set in skip (NULL: none; else one bool a row, for
 * sbx-verify's mutants). Returns the descriptor, owned by the caller, or -errno. */
SBX_PUBLIC int sbx_filter_memfd(const bool *skip, struct sbx_error *e);
