/* Limits of what a process of the command's may use (setrlimit(2)): their names, their values,
 * and the operations of a plan that carry them. Pid 1 sets them (init/init.c). */
#pragma once

#include "plan.h"

/* "nofile"; "?" for a value that is none. Never NULL. */
SBX_PUBLIC const char *sbx_limit_name(enum sbx_limit_kind which);
/* 0 and *ret, or -EINVAL. */
SBX_PUBLIC int sbx_limit_from_string(const char *s, enum sbx_limit_kind *ret);

/* The number that setrlimit(2) knows it by; -1: out of range. */
SBX_PUBLIC int sbx_limit_resource(enum sbx_limit_kind which);

/* "NAME=VALUE": a number, which may end in K, M or G (powers of 1024; in either case) where it counts bytes.
 * 0, or -EINVAL with e set. */
SBX_PUBLIC int sbx_limit_parse(
	struct sbx_limit *ret, const char *text, struct sbx_error *e);

/* The same without a name, of bytes: 0, or -EINVAL. */
SBX_PUBLIC int sbx_size_parse(unsigned long long *ret, const char *text);

/* What this process itself may have at most, in the order of enum sbx_limit_kind. */
int sbx_limits_read(unsigned long long ret[_SBX_LIMIT_MAX], struct sbx_error *e);

/* Adds the policy's to the plan. One that is above the caller's own is refused: it could not be
 * set, and to take less silently is no better. */
int sbx_limits_add(struct sbx_plan *plan, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e);
