#include "json_where.h"

#include <stdbool.h>
#include <string.h>

static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* p is at the opening quote; behind the closing one. */
static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

static const char *skip_value(const char *p)
{
	int depth = 0;

	do {
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p += *p != '\0';
		if (depth == 0)
			p += strcspn(p, ",]} \t\r\n");
	} while (*p && depth > 0);
	return p;
}

static bool is_key(const char *quoted, const char *key)
{
	size_t n = strlen(key);

	return strncmp(quoted + 1, key, n) == 0 && quoted[n + 1] == '"';
}

/* The place that one step leads to from the value at p, or NULL; *ret_value is what stands there. */
static const char *step_down(
	const char *p, const struct json_step *step, const char **ret_value)
{
	const bool object = *p == '{';

	if ((*p != '{' && *p != '[') || object != (step->key != NULL))
		return NULL;
	p = skip_space(p + 1);
	for (size_t i = 0; *p && *p != '}' && *p != ']'; i++) {
		const char *at = p;

		if (object) {
			p = skip_space(skip_string(p));
			p = skip_space(p + (*p == ':'));
		}
		*ret_value = p;
		if (object ? is_key(at, step->key) : i == step->index)
			return at;
		p = skip_space(skip_value(p));
		p = skip_space(p + (*p == ','));
	}
	return NULL;
}

void json_where(const char *text, const struct json_step *steps, size_t n, int *ret_line,
	int *ret_column)
{
	const char *value = skip_space(text), *at = value, *line = text;

	for (size_t i = 0; i < n; i++) {
		const char *next = step_down(value, &steps[i], &value);

		if (next == NULL)
			break;
		at = next;
	}
	*ret_line = 1;
	for (const char *p = text; p < at; p++)
		if (*p == '\n') {
			(*ret_line)++;
			line = p + 1;
		}
	*ret_column = (int)(at - line) + 1;
}
