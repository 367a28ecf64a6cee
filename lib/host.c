#include "host.h"

#include "gitdirs.h"
#include "look.h"
#include "protect.h"
#include "reserved.h"
#include "transcripts.h"

#include "judge.h"
#include "limit.h"
#include "path.h"
#include "subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BWRAP_HELP_TIMEOUT_MS 5000
#define BWRAP_HELP_MAX 65536

/* Index of path, or of where it would be inserted. */
static size_t fact_slot(const struct sbx_host *h, const char *path, bool *ret_found)
{
	size_t lo = 0, hi = h->n_facts;

	*ret_found = false;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strcmp(h->facts[mid].path, path);

		if (c == 0) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void fact_done(struct sbx_fact *f)
{
	free(f->path);
	free(f->link);
	free(f->real);
}

void sbx_host_add_fact(struct sbx_host *h, const char *path, enum sbx_ftype type,
	enum sbx_ftype target, const char *link, const char *real)
{
	struct sbx_fact f = {
		.path = sbx_xstrdup(path),
		.type = type,
		.target = target,
		.link = link ? sbx_xstrdup(link) : NULL,
		.real = real ? sbx_xstrdup(real) : NULL,
	};
	bool found;
	size_t i = fact_slot(h, path, &found);

	if (found && h->facts) {
		fact_done(&h->facts[i]);
		h->facts[i] = f;
		return;
	}
	h->facts = sbx_xrealloc(h->facts, h->n_facts + 1, sizeof(*h->facts));
	memmove(&h->facts[i + 1], &h->facts[i], (h->n_facts - i) * sizeof(*h->facts));
	h->facts[i] = f;
	h->n_facts++;
}

struct sbx_fact *sbx_host_change_fact(struct sbx_host *h, const char *path)
{
	bool found;

	return &h->facts[fact_slot(h, path, &found)];
}

const struct sbx_fact *sbx_host_fact(const struct sbx_host *h, const char *path)
{
	static const struct sbx_fact absent;
	bool found;
	size_t i = fact_slot(h, path, &found);

	return found ? &h->facts[i] : &absent;
}

static void look_at_variable(struct sbx_host *h, const char *name)
{
	const char *value = sbx_env_get(h->environ.v, name);

	if (value && value[0] == '/')
		sbx_look_beneath(h, "/", value);
}

static void collect_facts(struct sbx_host *h, const struct sbx_agent *agent)
{
	const char *const homes[] = { h->home, h->home_real, NULL };
	const char *const *sys = sbx_host_system_paths();
	const char *const *user = sbx_host_user_paths();
	const struct sbx_protected *prot;
	size_t n;

	for (size_t i = 0; sys[i]; i++)
		sbx_look_at(h, sys[i]);
	for (size_t i = 0; user[i]; i++)
		sbx_look_beneath(h, h->home, user[i]);
	for (const struct sbx_agent_path *p = agent->paths; p->path; p++) {
		sbx_look_beneath(h, p->path[0] == '/' ? "/" : h->home, p->path);
		sbx_transcripts_read(h, p);
	}
	prot = sbx_protected_paths(&n);
	sbx_look_protected(h, h->workdir.real, ".git");
	for (size_t i = 0; i < n; i++)
		sbx_look_protected(h, h->workdir.real, prot[i].path);
	sbx_gitdirs_read(h, homes);
	sbx_reserved_confirm(h);
	look_at_variable(h, "SSL_CERT_FILE");
	look_at_variable(h, "SSL_CERT_DIR");
	look_at_variable(h, "NODE_EXTRA_CA_CERTS");
	look_at_variable(h, "CURL_CA_BUNDLE");
}

static int open_error(int err, const char *what, const char *path, struct sbx_error *e)
{
	switch (err) {
	case ENOENT:
		return sbx_error_set(
			e, SBX_E_PATH_MISSING, err, "%s '%s' does not exist", what, path);
	case ENOTDIR:
		return sbx_error_set(e, SBX_E_PATH_NOT_DIR, err,
			"%s '%s' is not a directory", what, path);
	case EACCES:
		return sbx_error_set(e, SBX_E_PATH_DENIED, err,
			"%s '%s' may not be entered by this user", what, path);
	default:
		return sbx_error_set(
			e, SBX_E_SYSTEM, err, "%s '%s': %s", what, path, strerror(err));
	}
}

/* Opens path once, resolves what was opened, and judges that. */
static int open_judged(struct sbx_opened *ret, const char *path, const char *what,
	int flags, const char *const *homes, struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC | flags);
	SBX_CLEANUP_FREE char *self = NULL;
	char real[PATH_MAX];
	struct stat st, again;
	int r;

	if (fd < 0)
		return open_error(errno, what, path, e);
	self = sbx_xasprintf("/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0 || realpath(self, real) == NULL || stat(real, &again) < 0)
		return open_error(errno, what, path, e);
	if (st.st_dev != again.st_dev || st.st_ino != again.st_ino)
		return sbx_error_set(e, SBX_E_PATH_CHANGED, ESTALE,
			"%s '%s' was replaced while it was being opened", what, path);
	r = sbx_judge_path(real, what, homes, e);
	if (r < 0)
		return r;
	*ret = (struct sbx_opened){
		.real = sbx_xstrdup(real),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.is_dir = S_ISDIR(st.st_mode),
	};
	ret->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return ret->fd < 0 ? sbx_error_set(e, SBX_E_SYSTEM, errno, "dup: %m") : 0;
}

static int open_paths(struct sbx_host *h, const struct sbx_policy *p, struct sbx_error *e)
{
	const char *const homes[] = { h->home, h->home_real, NULL };
	int r;

	r = open_judged(&h->workdir, p->workdir ? p->workdir : ".", "work dir",
		O_DIRECTORY, homes, e);
	if (r < 0)
		return r;
	h->binds = sbx_xcalloc(p->n_binds, sizeof(*h->binds));
	for (size_t i = 0; i < p->n_binds; i++) {
		r = open_judged(&h->binds[i], p->binds[i].path, "bind", 0, homes, e);
		if (r < 0)
			return r;
		h->binds[i].rw = p->binds[i].rw;
		h->n_binds++;
	}
	return 0;
}

static int read_identity(struct sbx_host *h, const char *home, struct sbx_error *e)
{
	struct passwd *pw = getpwuid(getuid());
	char real[PATH_MAX];
	int r;

	h->uid = getuid();
	h->gid = getgid();
	h->user = pw ? sbx_xstrdup(pw->pw_name) : sbx_xasprintf("%u", (unsigned)h->uid);
	h->home = home ? sbx_path_normalise(home) : NULL;
	if (h->home == NULL || strcmp(h->home, "/") == 0) {
		r = sbx_error_set(e, SBX_E_HOME_INVALID, 0,
			"HOME is '%s'; it must be an absolute path other than /",
			home ? home : "not set");
		sbx_error_remedy(e, "set HOME to the user's home directory");
		return r;
	}
	h->home_real = sbx_xstrdup(realpath(h->home, real) ? real : h->home);
	return 0;
}

char *sbx_host_find_bwrap(const char *search)
{
	struct sbx_strv dirs = { 0 };
	char *found = NULL;

	for (const char *p = search ? search : "/usr/bin:/bin"; p;) {
		size_t len = strcspn(p, ":");

		sbx_strv_addf(&dirs, "%.*s/bwrap", (int)len, p);
		p = p[len] ? p + len + 1 : NULL;
	}
	for (size_t i = 0; found == NULL && i < dirs.n; i++) {
		struct stat st;

		if (dirs.v[i][0] == '/' && stat(dirs.v[i], &st) == 0 &&
			S_ISREG(st.st_mode) &&
			faccessat(AT_FDCWD, dirs.v[i], X_OK, AT_EACCESS) == 0)
			found = sbx_xstrdup(dirs.v[i]);
	}
	sbx_strv_done(&dirs);
	return found;
}

static void parse_options(struct sbx_strv *ret, const char *help)
{
	for (const char *line = help; line; line = strchr(line, '\n')) {
		size_t len;

		line += strspn(line, " \n");
		if (strncmp(line, "--", 2) != 0)
			continue;
		len = strcspn(line, " \n");
		sbx_strv_addf(ret, "%.*s", (int)len, line);
	}
}

/* The options of the program file last asked: asking costs an exec, and a matrix reads the
 * host once a cell. */
static struct {
	struct stat st;
	struct sbx_strv options;
} asked;

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void ask_options(const char *path, const struct stat *st)
{
	SBX_CLEANUP_FREE char *help = NULL;

	if (asked.options.n > 0 && same_file(&asked.st, st))
		return;
	sbx_strv_done(&asked.options);
	asked.st = *st;
	if (sbx_subprocess_output((char *const[]){ (char *)path, (char *)"--help", NULL },
		    BWRAP_HELP_TIMEOUT_MS, BWRAP_HELP_MAX, &help) >= 0)
		parse_options(&asked.options, help);
}

/* The state directory of any agent that holds path; owned, or NULL. What one agent may write to,
 * another must not run. */
static char *state_above(const struct sbx_host *h, const char *path)
{
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);

	for (size_t i = 0; i < n; i++)
		for (const struct sbx_agent_path *p = agents[i].paths; p->path; p++) {
			SBX_CLEANUP_FREE char *state =
				sbx_path_join(h->home_real, p->path);

			if (p->mode == SBX_PATH_STATE && sbx_path_is_beneath(path, state))
				return SBX_TAKE_PTR(state);
		}
	return NULL;
}

char *sbx_host_bwrap_exposed(const struct sbx_host *h)
{
	const char *real = h->bwrap.real ? h->bwrap.real : h->bwrap.path;

	if (sbx_path_is_beneath(real, h->workdir.real))
		return sbx_xstrdup(h->workdir.real);
	for (size_t i = 0; i < h->n_binds; i++)
		if (h->binds[i].rw && sbx_path_is_beneath(real, h->binds[i].real))
			return sbx_xstrdup(h->binds[i].real);
	return h->home_real ? state_above(h, real) : NULL;
}

static void read_bwrap(struct sbx_host *h, const char *given)
{
	SBX_CLEANUP_FREE char *exposed = NULL;
	struct sbx_bwrap *b = &h->bwrap;
	char real[PATH_MAX];
	struct stat st;

	if (given == NULL)
		b->path = sbx_host_find_bwrap(sbx_env_get(h->environ.v, "PATH"));
	else if (*given)
		b->path = sbx_xstrdup(given);
	if (b->path == NULL || stat(b->path, &st) < 0)
		return;
	if (realpath(b->path, real))
		b->real = sbx_xstrdup(real);
	b->uid = st.st_uid;
	b->mode = st.st_mode;
	/* It is not executed, not even to ask for its options; the launch says why. */
	exposed = sbx_host_bwrap_exposed(h);
	if (exposed || (b->mode & (S_IWGRP | S_IWOTH)))
		return;
	ask_options(b->path, &st);
	for (size_t i = 0; i < asked.options.n; i++)
		sbx_strv_add(&b->options, asked.options.v[i]);
}

static void remove_need(struct sbx_host *h, size_t i)
{
	free(h->needs[i].path);
	free(h->needs[i].link);
	memmove(&h->needs[i], &h->needs[i + 1], (h->n_needs - i - 1) * sizeof(*h->needs));
	h->n_needs--;
}

void sbx_host_add_need(
	struct sbx_host *h, const char *path, const char *link, const char *why)
{
	for (size_t i = h->n_needs; i-- > 0;) {
		const struct sbx_need *n = &h->needs[i];

		if (n->link ? strcmp(n->path, path) == 0
			    : sbx_path_is_beneath(path, n->path))
			return;
		if (link == NULL && sbx_path_is_beneath(n->path, path))
			remove_need(h, i);
	}
	h->needs = sbx_xrealloc(h->needs, h->n_needs + 1, sizeof(*h->needs));
	h->needs[h->n_needs++] = (struct sbx_need){
		.path = sbx_xstrdup(path),
		.link = link ? sbx_xstrdup(link) : NULL,
		.why = why,
	};
}

bool sbx_host_has_option(const struct sbx_host *h, const char *option)
{
	return sbx_strv_contains(&h->bwrap.options, option);
}

static int read_all(struct sbx_host *h, const struct sbx_policy *p,
	const struct sbx_host_opts *opts, struct sbx_error *e)
{
	const struct sbx_agent *agent = sbx_agent_find(p->agent);
	char *const *env = opts && opts->environ ? opts->environ : environ;
	int r = sbx_policy_check(p, e);

	if (r < 0)
		return r;
	if (agent == NULL)
		return sbx_error_set(e, SBX_E_AGENT_UNKNOWN, 0, "agent '%s' is not known",
			p->agent ? p->agent : "");
	for (size_t i = 0; env[i]; i++)
		sbx_strv_add(&h->environ, env[i]);
	r = read_identity(
		h, opts && opts->home ? opts->home : sbx_env_get(env, "HOME"), e);
	if (r < 0)
		return r;
	r = open_paths(h, p, e);
	if (r < 0)
		return r;
	r = sbx_limits_read(h->max, e);
	if (r < 0)
		return r;
	collect_facts(h, agent);
	read_bwrap(h, opts ? opts->bwrap : NULL);
	return 0;
}

int sbx_host_read(struct sbx_host *ret, const struct sbx_policy *p,
	const struct sbx_host_opts *opts, struct sbx_error *e)
{
	struct sbx_host h = { .workdir.fd = -1, .git.fd = -1 };
	int r = read_all(&h, p, opts, e);

	if (r < 0) {
		sbx_host_done(&h);
		return r;
	}
	*ret = h;
	return 0;
}

void sbx_host_done(struct sbx_host *h)
{
	free(h->home);
	free(h->home_real);
	free(h->user);
	sbx_strv_done(&h->environ);
	free(h->bwrap.path);
	free(h->bwrap.real);
	sbx_strv_done(&h->bwrap.options);
	free(h->workdir.real);
	sbx_close_fd(&h->workdir.fd);
	sbx_strv_done(&h->modules);
	sbx_strv_done(&h->worktrees);
	if (h->state.real)
		sbx_close_fd(&h->state.fd);
	free(h->state.real);
	free(h->state_name);
	free(h->state_shown);
	free(h->state_marker);
	if (h->git.real)
		sbx_close_fd(&h->git.fd);
	free(h->git.real);
	free(h->git_admin);
	for (size_t i = 0; i < h->n_binds; i++) {
		free(h->binds[i].real);
		sbx_close_fd(&h->binds[i].fd);
	}
	free(h->binds);
	for (size_t i = 0; i < h->n_facts; i++)
		fact_done(&h->facts[i]);
	free(h->facts);
	while (h->n_needs > 0)
		remove_need(h, h->n_needs - 1);
	free(h->needs);
	sbx_strv_done(&h->path_dirs);
	sbx_strv_done(&h->path_dirs_after);
	*h = (struct sbx_host){ .workdir.fd = -1, .git.fd = -1 };
}
