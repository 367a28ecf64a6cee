#include "evidence.h"
#include "probe_hash.h"
#include "t.h"
#include "tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(void **state)
{
	struct tree *t = sbx_xcalloc(1, sizeof(*t));

	t->home = t_mkdir();
	t->nonce = sbx_xstrdup("sbxtest");
	*state = t;
	return tree_create(t) || tree_make_material(t);
}

static int end(void **state)
{
	struct tree *t = *state;

	t_rmdir(t->home);
	free(t->work);
	free(t->sibling);
	free(t->nonce);
	free(t);
	return 0;
}

static void write_to(const struct tree *t, const char *rel, const char *text, int flags)
{
	SBX_CLEANUP_FREE char *path = sbx_xasprintf("%s/%s", t->home, rel);
	SBX_CLEANUP_FD int fd = open(path, O_WRONLY | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Every kind of change shows in its part and in no other. */
static void the_fingerprint_sees_changes(void **state)
{
	static const struct {
		const char *rel;
		int flags;
		enum tree_part part;
	} changes[] = {
		{ ".bashrc", O_APPEND, TREE_HOME },
		{ ".ssh/new", O_CREAT, TREE_HOME },
		{ "projects/other/secret.txt", O_APPEND, TREE_SIBLING },
		{ "projects/app/README.md", O_APPEND, TREE_WORK },
		{ "projects/app/new", O_CREAT, TREE_WORK },
		{ "projects/app/.git/hooks/post-checkout", O_CREAT, TREE_PROTECTED },
		{ "projects/app/.git/config", O_APPEND, TREE_PROTECTED },
		{ "projects/app/.claude/settings.json", O_APPEND, TREE_PROTECTED },
	};
	const struct tree *t = *state;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(changes); i++) {
		struct tree_print before, after;

		assert_int_equal(tree_fingerprint(t, &before), 0);
		assert_int_equal(tree_fingerprint(t, &after), 0);
		assert_memory_equal(&before, &after, sizeof(before));
		write_to(t, changes[i].rel, "x", changes[i].flags);
		assert_int_equal(tree_fingerprint(t, &after), 0);
		for (int p = 0; p < _TREE_PART_MAX; p++)
			assert_int_equal(after.part[p] != before.part[p],
				p == (int)changes[i].part);
	}
}

static void a_mode_and_a_second_name_are_changes_too(void **state)
{
	const struct tree *t = *state;
	SBX_CLEANUP_FREE char *key = sbx_xasprintf("%s/.ssh/id_ed25519", t->home);
	SBX_CLEANUP_FREE char *alias = sbx_xasprintf("%s/.material/alias", t->work);
	struct tree_print a, b, c;

	assert_int_equal(tree_fingerprint(t, &a), 0);
	assert_int_equal(chmod(key, 0644), 0);
	assert_int_equal(tree_fingerprint(t, &b), 0);
	assert_true(a.part[TREE_HOME] != b.part[TREE_HOME]);
	/* The alias itself lies where nobody looks; the link count gives it away. */
	assert_int_equal(link(key, alias), 0);
	assert_int_equal(tree_fingerprint(t, &c), 0);
	assert_true(b.part[TREE_HOME] != c.part[TREE_HOME]);
}

static void restoring_brings_everything_back(void **state)
{
	const struct tree *t = *state;
	SBX_CLEANUP_FREE char *rc = sbx_xasprintf("%s/.bashrc", t->home);
	SBX_CLEANUP_FREE char *stranger = sbx_xasprintf("%s/.config/evil", t->home);
	SBX_CLEANUP_FREE char *want = tree_canary(t, ".bashrc");
	SBX_CLEANUP_FREE char *got = NULL;

	write_to(t, ".bashrc", "evil", O_TRUNC);
	write_to(t, ".config/evil", "x", O_CREAT);
	assert_int_equal(tree_restore(t), 0);
	assert_int_equal(sbx_read_file(rc, 4096, &got, NULL), 0);
	assert_string_equal(got, want);
	assert_int_equal(access(stranger, F_OK), -1);
	assert_true(tree_has(t, rc));
	assert_false(tree_has(t, stranger));
}

/* A fifo of the scene belongs; another is a stranger. */
static void fifos_are_restored_and_strangers_go(void **state)
{
	const struct tree *t = *state;
	SBX_CLEANUP_FREE char *ours = sbx_xasprintf("%s/host.fifo", t->work);
	SBX_CLEANUP_FREE char *stranger = sbx_xasprintf("%s/other.fifo", t->work);

	assert_int_equal(access(ours, F_OK), 0);
	assert_int_equal(unlink(ours), 0);
	assert_int_equal(mkfifo(stranger, 0600), 0);
	assert_int_equal(tree_restore(t), 0);
	assert_int_equal(access(ours, F_OK), 0);
	assert_int_equal(access(stranger, F_OK), -1);
}

static void a_mark_is_seen_in_every_part(void **state)
{
	const struct tree *t = *state;
	struct tree_print before, marked, after;

	assert_int_equal(tree_fingerprint(t, &before), 0);
	assert_int_equal(tree_mark(t, "tok", true), 0);
	assert_int_equal(tree_fingerprint(t, &marked), 0);
	tree_mark(t, "tok", false);
	assert_int_equal(tree_fingerprint(t, &after), 0);
	for (int p = 0; p < _TREE_PART_MAX; p++) {
		assert_true(before.part[p] != marked.part[p]);
		assert_true(before.part[p] == after.part[p]);
	}
}

/* The host's look at each kind of effect: absent, then there. */
static void evidence_finds_effects(void **state)
{
	const struct tree *t = *state;
	SBX_CLEANUP_FREE char *new = sbx_xasprintf("%s/new", t->work);
	SBX_CLEANUP_FREE char *file = sbx_xasprintf("%s/.bashrc", t->home);
	SBX_CLEANUP_FREE char *victim = sbx_xasprintf("%s/.material/unlink_me", t->work);
	char *a_new[] = { new, NULL }, *a_file[] = { file, NULL },
	     *a_victim[] = { victim, NULL };

	assert_int_equal(evidence_effect("create", a_new, "tok"), -1);
	write_to(t, "projects/app/new", "tok", O_CREAT);
	assert_int_equal(evidence_effect("create", a_new, "tok"), 1);
	evidence_clean("create", a_new, 1, t);
	assert_int_equal(access(new, F_OK), -1);

	assert_int_equal(evidence_effect("append", a_file, "tok"), -1);
	write_to(t, ".bashrc", "..tok..", O_APPEND);
	assert_int_equal(evidence_effect("append", a_file, "tok"), 1);
	evidence_clean("append", a_file, 1, t);
	assert_int_equal(evidence_effect("append", a_file, "tok"), -1);

	assert_int_equal(evidence_effect("unlink", a_victim, "tok"), -1);
	unlink(victim);
	assert_int_equal(evidence_effect("unlink", a_victim, "tok"), 1);

	assert_int_equal(evidence_effect("chmod_suid", a_file, "tok"), -1);
	assert_int_equal(chmod(file, 04700), 0);
	assert_int_equal(evidence_effect("chmod_suid", a_file, "tok"), 1);

	assert_int_equal(evidence_effect("chmod_sgid", a_file, "tok"), -1);
	assert_int_equal(chmod(file, 02700), 0);
	assert_int_equal(evidence_effect("chmod_sgid", a_file, "tok"), 1);

	assert_int_equal(evidence_effect("mkdir_closed", a_new, "tok"), -1);
	assert_int_equal(mkdir(new, 0), 0);
	assert_int_equal(evidence_effect("mkdir_closed", a_new, "tok"), 1);
	evidence_clean("mkdir_closed", a_new, 1, t);
	assert_int_equal(access(new, F_OK), -1);

	assert_int_equal(evidence_effect("stat", a_file, "tok"), 0);
}

static void canaries_differ_and_hash_as_the_probe_does(void **state)
{
	const struct tree *t = *state;

	assert_true(tree_canary_hash(t, ".bashrc") != tree_canary_hash(t, ".profile"));
	/* FNV-1a of "a", from its published test vectors: the probe has the same constants. */
	assert_true(probe_hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(the_fingerprint_sees_changes),
		TREE_TEST(a_mode_and_a_second_name_are_changes_too),
		TREE_TEST(restoring_brings_everything_back),
		TREE_TEST(fifos_are_restored_and_strangers_go),
		TREE_TEST(a_mark_is_seen_in_every_part),
		TREE_TEST(evidence_finds_effects),
		TREE_TEST(canaries_differ_and_hash_as_the_probe_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
