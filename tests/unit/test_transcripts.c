/* The part of an agent's transcripts that belongs to one project. */
#include "transcripts.h"
#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the real claude was seen to name them. */
static const struct row {
	const char *name, *path, *slug;
} rows[] = {
	{ "letters and digits", "/home/u/Src/app2", "-home-u-Src-app2" },
	{ "dots and blanks", "/a b/c.d-e_f", "-a-b-c-d-e-f" },
	{ "two bytes", "/\xc3\xa4", "--" },
	{ "three bytes", "/\xe6\x97\xa5\xe6\x9c\xac", "---" },
	{ "four bytes are two units", "/\xf0\x9f\x98\x80", "---" },
	{ "a combining accent", "/e\xcc\x81", "-e-" },
	{ "a line end", "/a\nb", "-a-b" },
	{ "no UTF-8", "/\xff", NULL },
	{ "a cut sequence", "/\xe6\x97", NULL },
	{ "an overlong one", "/\xc0\xaf", NULL },
};

static void claudes_name(void **state)
{
	const struct row *r = *state;
	SBX_CLEANUP_FREE char *got = sbx_transcripts_name(SBX_BY_PATH, "/", r->path);

	if (r->slug)
		assert_string_equal(got, r->slug);
	else
		assert_null(got);
}

T_ROWS(slugs, rows, claudes_name)

/* From 201 units on it ends with a hash of claude's own. */
static void a_long_path_has_no_name_that_we_know(void **state)
{
	char path[202];
	SBX_CLEANUP_FREE char *fits = NULL, *longer = NULL;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[200] = '\0';
	fits = sbx_transcripts_name(SBX_BY_PATH, "/", path);
	assert_int_equal(strlen(fits), 200);
	path[200] = 'a';
	path[201] = '\0';
	longer = sbx_transcripts_name(SBX_BY_PATH, "/", path);
	assert_null(longer);
}

static void mark(const char *dir, const char *name, const char *text)
{
	SBX_CLEANUP_FREE char *sub = sbx_path_join(dir, name);
	SBX_CLEANUP_FREE char *path = sbx_path_join(sub, ".project_root");
	int fd;

	mkdir(sub, 0700);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void geminis_is_the_marked_one(void **state)
{
	char *dir = t_mkdir();
	char *other = t_mkdir();
	SBX_CLEANUP_FREE char *linked = sbx_path_join(dir, "linked");
	SBX_CLEANUP_FREE char *link = sbx_path_join(dir, "linked/.project_root");
	SBX_CLEANUP_FREE char *outside = sbx_path_join(other, "app/.project_root");
	SBX_CLEANUP_FREE char *got = NULL, *none = NULL, *by_link = NULL, *by_hash = NULL,
			      *by_name = NULL, *shown = NULL;
	SBX_CLEANUP_FREE char *ours = sbx_transcripts_new_name("/home/u/evil", &shown);

	(void)state;
	mark(dir, "app", "/home/u/other");
	mark(dir, "app-1", "/home/u/app\n");
	/* the only one with this path is a link */
	mark(other, "app", "/home/u/through/a/link");
	mkdir(linked, 0700);
	assert_int_equal(symlink(outside, link), 0);
	got = sbx_transcripts_name(SBX_BY_MARKER, dir, "/home/u/app");
	assert_string_equal(got, "app-1");
	none = sbx_transcripts_name(SBX_BY_MARKER, dir, "/home/u/ap");
	assert_null(none);
	by_link = sbx_transcripts_name(SBX_BY_MARKER, dir, "/home/u/through/a/link");
	assert_null(by_link);
	/* what is named by us was marked inside, and may say anything */
	mark(dir, "evil-0123456789abcdef", "/home/u/evil");
	by_hash = sbx_transcripts_name(SBX_BY_MARKER, dir, "/home/u/evil");
	assert_null(by_hash);
	mark(dir, ours, "/home/u/evil");
	by_name = sbx_transcripts_name(SBX_BY_MARKER, dir, "/home/u/evil");
	assert_string_equal(by_name, ours);
	t_rmdir(other);
	t_rmdir(dir);
}

/* What gemini 0.61 makes of the last part of a path, where no other project has the name. */
static const struct new_row {
	const char *name, *path, *slug;
} new_rows[] = {
	{ "as it is", "/home/u/app2", "app2" },
	{ "capitals and dots", "/home/u/My.App", "my-app" },
	{ "runs and ends", "/home/u/__a  b__", "a-b" },
	{ "not ASCII", "/home/u/caf\xc3\xa9s", "caf-s" },
	{ "nothing left", "/home/u/\xe6\x97\xa5", "project" },
};

static void a_new_name_is_the_one_that_gemini_takes(void **state)
{
	const struct new_row *r = *state;
	SBX_CLEANUP_FREE char *shown = NULL, *again = NULL;
	SBX_CLEANUP_FREE char *host = sbx_transcripts_new_name(r->path, &shown);
	SBX_CLEANUP_FREE char *host_again = sbx_transcripts_new_name(r->path, &again);
	SBX_CLEANUP_FREE char *longer = sbx_path_join("/other", r->path);
	SBX_CLEANUP_FREE char *other_shown = NULL;
	SBX_CLEANUP_FREE char *other = sbx_transcripts_new_name(longer, &other_shown);

	assert_string_equal(shown, r->slug);
	assert_string_equal(host, host_again);
	assert_memory_equal(host, shown, strlen(shown));
	assert_int_equal(host[strlen(shown)], '-');
	/* two projects with the same last part are told apart */
	assert_string_not_equal(host, other);
	assert_string_equal(other_shown, shown);
}

T_ROWS(new_names, new_rows, a_new_name_is_the_one_that_gemini_takes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_path_has_no_name_that_we_know),
		cmocka_unit_test(geminis_is_the_marked_one),
	};

	return slugs() + new_names() + cmocka_run_group_tests(tests, NULL, NULL);
}
