#include "files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ERROR_MAX 256
#define TABLE_MAX (4U << 20)
#define PROGRAM_MAX (64U << 20)

/* Relative to the directory of the program; the first that exists. */
static const char *const table_places[] = { "../share/sbx", "oracle" };
static const char *const probe_places[] = { "../libexec/sbx", "../probes" };

static int own_directory(char *buf)
{
	ssize_t n = readlink("/proc/self/exe", buf, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -1;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (slash == NULL)
		return -1;
	*slash = '\0';
	return 0;
}

/* Owned path of name in the first place that has it, or NULL. */
static char *find(const char *const *places, size_t n, const char *name)
{
	char dir[PATH_MAX];

	if (own_directory(dir) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		SBX_CLEANUP_FREE char *path =
			sbx_xasprintf("%s/%s/%s", dir, places[i], name);

		if (access(path, R_OK) == 0)
			return SBX_TAKE_PTR(path);
	}
	return NULL;
}

static int read_image(
	struct probe_image *ret, const char *given_dir, const char *name, char *error)
{
	SBX_CLEANUP_FREE char *path =
		given_dir ? sbx_xasprintf("%s/%s", given_dir, name)
			  : find(probe_places, SBX_ARRAY_SIZE(probe_places), name);
	int r;

	if (path == NULL) {
		snprintf(error, ERROR_MAX,
			"%s is not installed beside sbx-verify; name its "
			"directory with --probe-dir",
			name);
		return -1;
	}
	r = sbx_read_file(path, PROGRAM_MAX, &ret->data, &ret->len);
	if (r < 0) {
		snprintf(error, ERROR_MAX, "%.200s: %s", path, strerror(-r));
		return -1;
	}
	return 0;
}

/* One of the tables that people write: given, or the installed one. */
static int read_table(char **ret_name, char **ret_text, const char *given,
	const char *file, const char *option, char *error)
{
	int r;

	*ret_name = given ? sbx_xstrdup(given)
			  : find(table_places, SBX_ARRAY_SIZE(table_places), file);
	if (*ret_name == NULL) {
		snprintf(error, ERROR_MAX,
			"%s is not installed beside sbx-verify; name it with %s", file,
			option);
		return -1;
	}
	r = sbx_read_file(*ret_name, TABLE_MAX, ret_text, NULL);
	if (r < 0)
		snprintf(error, ERROR_MAX, "%.200s: %s", *ret_name, strerror(-r));
	return r < 0 ? -1 : 0;
}

int files_read(struct files *ret, const char *expect, bool here, const char *probe_dir,
	char *error)
{
	struct files f = { 0 };

	if (read_table(&f.table_name, &f.table, expect, here ? "here.tbl" : "expect.tbl",
		    "--expect", error) < 0 ||
		read_image(&f.images.probe, probe_dir, "sbx-probe", error) < 0 ||
		read_image(&f.images.http, probe_dir, "sbx-probe-http", error) < 0) {
		files_done(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

int files_read_equivalent(struct files *f, const char *given, char *error)
{
	return read_table(&f->equivalent_name, &f->equivalent, given, "equivalent.tbl",
		"--equivalent", error);
}

void files_done(struct files *f)
{
	free(f->table_name);
	free(f->table);
	free(f->equivalent_name);
	free(f->equivalent);
	free(f->images.probe.data);
	free(f->images.http.data);
	*f = (struct files){ 0 };
}
