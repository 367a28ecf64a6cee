#include "limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* What is counted. */
enum unit {
	UNIT_BYTES,
	UNIT_SECONDS,
	UNIT_NUMBER,
};

static const struct row {
	const char *name;
	int resource;
	enum unit unit;
	const char *why;
} rows[_SBX_LIMIT_MAX] = {
	[SBX_LIMIT_AS] = { "as", RLIMIT_AS, UNIT_BYTES, "address space of one process" },
	[SBX_LIMIT_CPU] = { "cpu", RLIMIT_CPU, UNIT_SECONDS,
		"processor time of one process, then it is killed" },
	[SBX_LIMIT_DATA] = { "data", RLIMIT_DATA, UNIT_BYTES,
		"private writable memory of one process" },
	[SBX_LIMIT_FSIZE] = { "fsize", RLIMIT_FSIZE, UNIT_BYTES,
		"size of a file that is written" },
	[SBX_LIMIT_MEMLOCK] = { "memlock", RLIMIT_MEMLOCK, UNIT_BYTES,
		"memory that cannot be swapped out" },
	[SBX_LIMIT_NOFILE] = { "nofile", RLIMIT_NOFILE, UNIT_NUMBER,
		"open descriptors of one process" },
	[SBX_LIMIT_NPROC] = { "nproc", RLIMIT_NPROC, UNIT_NUMBER,
		"processes and threads in this sandbox, pid 1 included" },
	[SBX_LIMIT_STACK] = { "stack", RLIMIT_STACK, UNIT_BYTES, "stack of one process" },
};

const char *sbx_limit_name(enum sbx_limit_kind which)
{
	return (unsigned)which < _SBX_LIMIT_MAX ? rows[which].name : "?";
}

int sbx_limit_from_string(const char *s, enum sbx_limit_kind *ret)
{
	for (int i = 0; s && i < _SBX_LIMIT_MAX; i++)
		if (strcmp(rows[i].name, s) == 0) {
			*ret = (enum sbx_limit_kind)i;
			return 0;
		}
	return -EINVAL;
}

int sbx_limit_resource(enum sbx_limit_kind which)
{
	return (unsigned)which < _SBX_LIMIT_MAX ? rows[which].resource : -1;
}

/* Digits, and for bytes at most one letter. False: something else, or too much. */
static bool read_value(const char *s, bool bytes, unsigned long long *ret)
{
	static const char letters[] = "KMGkmg";
	const char *letter;
	unsigned long long v;
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoull(s, &end, 10);
	letter = bytes && *end ? strchr(letters, *end) : NULL;
	if (errno || (*end && (letter == NULL || end[1])))
		return false;
	for (long k = letter ? (letter - letters) % 3 + 1 : 0; k > 0; k--)
		if (__builtin_mul_overflow(v, 1024ULL, &v))
			return false;
	*ret = v;
	return v < RLIM_INFINITY;
}

static int not_a_limit(struct sbx_error *e, const char *text)
{
	SBX_CLEANUP_FREE char *names = sbx_xstrdup("");

	for (size_t i = 0; i < _SBX_LIMIT_MAX; i++) {
		char *more = sbx_xasprintf("%s%s%s", names, i ? ", " : "", rows[i].name);

		free(names);
		names = more;
	}
	return sbx_error_set(e, SBX_E_LIMIT, EINVAL,
		"limit: '%s' is not NAME=VALUE with a NAME of these: %s", text, names);
}

int sbx_limit_parse(struct sbx_limit *ret, const char *text, struct sbx_error *e)
{
	static const char *const wanted[] = {
		[UNIT_BYTES] = "a number of bytes, which may end in K, M or G",
		[UNIT_SECONDS] = "a number of seconds",
		[UNIT_NUMBER] = "a number",
	};
	size_t len = strcspn(text, "=");
	SBX_CLEANUP_FREE char *name = sbx_xasprintf("%.*s", (int)len, text);
	struct sbx_limit limit;

	if (text[len] == '\0' || sbx_limit_from_string(name, &limit.which) < 0)
		return not_a_limit(e, text);
	if (!read_value(
		    text + len + 1, rows[limit.which].unit == UNIT_BYTES, &limit.value))
		return sbx_error_set(e, SBX_E_LIMIT, EINVAL, "limit %s: '%s' is not %s",
			name, text + len + 1, wanted[rows[limit.which].unit]);
	*ret = limit;
	return 0;
}

int sbx_size_parse(unsigned long long *ret, const char *text)
{
	return read_value(text, true, ret) ? 0 : -EINVAL;
}

int sbx_limits_read(unsigned long long ret[_SBX_LIMIT_MAX], struct sbx_error *e)
{
	struct rlimit lim;

	for (size_t i = 0; i < _SBX_LIMIT_MAX; i++) {
		if (getrlimit((__rlimit_resource_t)rows[i].resource, &lim) < 0)
			return sbx_error_set(e, SBX_E_SYSTEM, errno, "getrlimit: %s: %m",
				rows[i].name);
		ret[i] = lim.rlim_max;
	}
	return 0;
}

static int above(const struct sbx_limit *l, unsigned long long max, struct sbx_error *e)
{
	const char *name = rows[l->which].name;
	int r = sbx_error_set(e, SBX_E_LIMIT, EPERM,
		"limit %s: %llu is above what this process may have itself, %llu", name,
		l->value, max);

	sbx_error_remedy(e,
		"give at most %s=%llu, or have the hard limit of the caller raised (as root: "
		"prlimit --pid $$ --%s=%llu:%llu)",
		name, max, name, l->value, l->value);
	return r;
}

int sbx_limits_add(struct sbx_plan *plan, const struct sbx_policy *p,
	const struct sbx_host *h, struct sbx_error *e)
{
	for (int which = 0; which < _SBX_LIMIT_MAX; which++) {
		const struct sbx_limit *last = NULL;
		char value[24];

		for (size_t i = 0; i < p->n_limits; i++)
			if ((int)p->limits[i].which == which)
				last = &p->limits[i];
		if (last == NULL)
			continue;
		if (last->value > h->max[which])
			return above(last, h->max[which], e);
		snprintf(value, sizeof(value), "%llu", last->value);
		sbx_plan_add(
			plan, SBX_OP_LIMIT, value, rows[which].name, rows[which].why);
	}
	return 0;
}
