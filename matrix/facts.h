/* Facts of the machine that a verdict depends on: for the report, never for a decision. */
#pragma once

#include "util.h"

#define FACTS_MAX 32

struct fact {
	const char *key; /* "kernel", "bwrap.sha256", "sysctl.user.max_user_namespaces" */
	char *value; /* owned; "" when the machine does not have it */
};

struct facts {
	struct fact v[FACTS_MAX];
	size_t n;
};

/* bwrap: path of the program that was run, or NULL. probe: bytes of the probe program. */
/* Landlock's version on this kernel; 0: none. */
int facts_landlock_abi(void);

void facts_read(
	struct facts *ret, const char *bwrap, const void *probe, size_t probe_len);
/* Borrowed; "" when there is none. */
const char *facts_get(const struct facts *f, const char *key);
void facts_done(struct facts *f);

/* SHA-256 in hex into buf of 65 bytes. */
void facts_sha256(const void *data, size_t len, char *buf);
