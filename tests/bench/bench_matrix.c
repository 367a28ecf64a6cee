/* How much dearer is the whole matrix than starting bwrap 56 times?
 *
 *     bench_matrix [ROUNDS]     as an ordinary user, or as root (which becomes nobody)
 *
 * Interleaves, in one process: (A) the full matrix, scene and controls included, one job;
 * (B) 56 plain starts of bwrap with the same options around /bin/true, the policy floor;
 * (C) 56 starts of `bwrap --ro-bind / / true`, the bare floor. Prints medians and the medians
 * of the per-round ratios. Asserts nothing: timing is no test.
 */
#include "files.h"
#include "identity.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_ROUNDS 100

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *v, int n)
{
	double copy[MAX_ROUNDS];

	memcpy(copy, v, (size_t)n * sizeof(*v));
	qsort(copy, (size_t)n, sizeof(*copy), by_value);
	return n % 2 ? copy[n / 2] : (copy[n / 2 - 1] + copy[n / 2]) / 2;
}

static void spawn_and_wait(char *const argv[], char *const env[])
{
	posix_spawn_file_actions_t fa;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	if (posix_spawn(&pid, argv[0], &fa, NULL, argv, env) != 0 ||
		waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "bench: %s failed (status %d)\n", argv[0], status);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&fa);
}

/* One command line a cell, made once: the floor pays for bwrap alone. */
struct floor {
	struct sbx_wrapped w[CELL_MAX];
};

static void make_floor(struct floor *f, struct scene *s)
{
	struct sbx_host_opts ho = { .home = s->tree.home, .environ = s->env.v };
	char *const cmd[] = { (char *)"/bin/true", NULL };

	for (size_t i = 0; i < cell_count(); i++) {
		struct cell c = cell_at(i, UID_USER);
		struct sbx_policy p = { .agent = cell_value(&c, AXIS_AGENT),
			.workdir = s->tree.work };
		struct sbx_error e = { 0 };

		sbx_profile_from_string(cell_value(&c, AXIS_PROFILE), &p.profile);
		sbx_fs_from_string(cell_value(&c, AXIS_FS), &p.fs);
		sbx_net_from_string(cell_value(&c, AXIS_NET), &p.net);
		if (sbx_wrap(&f->w[i], cmd, &p, &ho, &e) < 0) {
			fprintf(stderr, "bench: %s\n", e.message);
			exit(1);
		}
		for (size_t k = 0; k < f->w[i].n_fds; k++)
			fcntl(f->w[i].fds[k], F_SETFD, 0);
	}
}

static double policy_floor(const struct floor *f)
{
	double start = now();

	for (size_t i = 0; i < cell_count(); i++) {
		/* bwrap reads them to their end; the next start wants them from the beginning. */
		for (size_t k = 0; k < f->w[i].n_fds; k++)
			lseek(f->w[i].fds[k], 0, SEEK_SET);
		spawn_and_wait(f->w[i].argv.v, f->w[i].env.v);
	}
	return now() - start;
}

static double bare_floor(const char *bwrap)
{
	char *const argv[] = { (char *)bwrap, (char *)"--ro-bind", (char *)"/",
		(char *)"/", (char *)"/bin/true", NULL };
	char *const env[] = { NULL };
	double start = now();

	for (size_t i = 0; i < cell_count(); i++)
		spawn_and_wait(argv, env);
	return now() - start;
}

static double whole_matrix(const struct run_options *ro, size_t *ret_rules)
{
	double start = now(), took;
	struct run run;

	if (run_matrix(&run, ro) < 0) {
		fprintf(stderr, "bench: %s\n", run.error.message);
		exit(1);
	}
	took = now() - start;
	*ret_rules = 0;
	for (size_t i = 0; i < run.n; i++)
		*ret_rules += run.cells[i].n;
	run_done(&run);
	return took;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	double a[MAX_ROUNDS], b[MAX_ROUNDS], c[MAX_ROUNDS], ab[MAX_ROUNDS],
		ac[MAX_ROUNDS];
	char error[EXPECT_ERROR_MAX];
	const char *note, *what;
	bool cells[CELL_MAX];
	struct files files;
	struct table table;
	struct scene scene;
	struct floor floor;
	size_t rules = 0;

	if (rounds < 1 || rounds > MAX_ROUNDS)
		rounds = 10;
	if (files_read(&files, BENCH_TABLE, false, BENCH_PROBES, error) < 0 ||
		table_parse(&table, files.table, files.table_name, error) < 0 ||
		identity_assume(NULL, &note, error) < 0) {
		fprintf(stderr, "bench: %s\n", error);
		return 1;
	}
	memset(cells, 1, sizeof(cells));
	struct run_options ro = { .table = &table,
		.images = &files.images,
		.select = { .quick = true }, /* one start a cell */
		.cells = cells,
		.scene_base = "/var/tmp",
		.jobs = 1,
		.timeout_ms = 30000 };

	if (scene_create(&scene, "/var/tmp", &files.images, &what) < 0) {
		fprintf(stderr, "bench: scene: %s\n", what);
		return 1;
	}
	make_floor(&floor, &scene);
	policy_floor(&floor); /* warms the caches */
	for (int i = 0; i < rounds; i++) {
		a[i] = whole_matrix(&ro, &rules);
		b[i] = policy_floor(&floor);
		c[i] = bare_floor(floor.w[0].argv.v[0]);
		ab[i] = a[i] / b[i];
		ac[i] = a[i] / c[i];
	}
	printf("rounds %d, cells 56, observations %zu\n", rounds, rules);
	printf("full matrix                 %8.1f ms\n", median(a, rounds));
	printf("56 x same options + true    %8.1f ms   ratio %.2f\n", median(b, rounds),
		median(ab, rounds));
	printf("56 x bare bwrap + true      %8.1f ms   ratio %.2f\n", median(c, rounds),
		median(ac, rounds));
	printf("observations per second     %8.0f\n",
		(double)rules / median(a, rounds) * 1000);
	for (size_t i = 0; i < CELL_MAX; i++)
		sbx_wrapped_done(&floor.w[i]);
	scene_destroy(&scene);
	table_done(&table);
	files_done(&files);
	return 0;
}
