/* The probe's hash, so that both sides name a canary without showing it. The constants must
 * stay those of probes/result.c; tests/unit/test_tree.c compares the two. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t probe_hash(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}
