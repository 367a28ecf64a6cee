#include "identity.h"

#include "baseline.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NO_HOME "/nonexistent"

static void fill(struct identity *id, char **ret_home, const struct passwd *pw, uid_t uid)
{
	/* Somebody whom passwd does not know, as in containers, has his own number as group. */
	*id = (struct identity){
		.uid = uid,
		.gid = pw ? pw->pw_gid : (gid_t)uid,
		.name = pw ? sbx_xstrdup(pw->pw_name)
			   : sbx_xasprintf("%u", (unsigned)uid),
	};
	*ret_home = sbx_xstrdup(pw && pw->pw_dir[0] == '/' ? pw->pw_dir : NO_HOME);
}

static int choose_named(
	struct identity *ret, char **ret_home, const char *who, struct sbx_error *e)
{
	const struct passwd *pw = getpwnam(who);
	unsigned long n = pw ? pw->pw_uid : 0;
	char *end = NULL;

	if (pw == NULL) {
		errno = 0;
		n = strtoul(who, &end, 10);
		if (errno || end == who || *end || *who == '-' || n > 0xfffffffeUL) {
			sbx_error_set(e, SBX_E_USER_UNKNOWN, ENOENT,
				"--as: there is no user '%s'", who);
			sbx_error_remedy(e, "give a name of /etc/passwd, or a uid");
			return -1;
		}
		pw = getpwuid((uid_t)n);
	}
	if (n == 0) {
		sbx_error_set(e, SBX_E_ROOT, EPERM, "--as: '%s' is root", who);
		sbx_error_remedy(e,
			"name an ordinary user; --allow-root stays root, which a sandbox "
			"confines less well");
		return -1;
	}
	fill(ret, ret_home, pw, (uid_t)n);
	return 0;
}

static int choose_owner(
	struct identity *ret, char **ret_home, const char *workdir, struct sbx_error *e)
{
	char real[PATH_MAX];
	struct stat st;

	if (stat(workdir, &st) < 0) {
		sbx_error_set(e, errno == ENOENT ? SBX_E_PATH_MISSING : SBX_E_SYSTEM,
			errno, "work dir '%s': %m", workdir);
		return -1;
	}
	if (st.st_uid == 0) {
		sbx_error_set(e, SBX_E_ROOT, EPERM,
			"refused as root: the work dir '%s' belongs to root, and uid 0 inside is "
			"uid 0 of the host, which keeps too much",
			realpath(workdir, real) ? real : workdir);
		sbx_error_remedy(e,
			"--as USER runs it as an ordinary user, who needs the right to write "
			"there; or start sbx as that user; in a container that has nobody else, "
			"--allow-root");
		return -1;
	}
	fill(ret, ret_home, getpwuid(st.st_uid), st.st_uid);
	return 0;
}

int identity_choose(struct identity *ret, char **ret_home, const struct options *o,
	struct sbx_error *e)
{
	if (o->as)
		return choose_named(ret, ret_home, o->as, e);
	return choose_owner(
		ret, ret_home, o->policy.workdir ? o->policy.workdir : ".", e);
}

static bool agent_has(const struct sbx_agent *agent, const char *name)
{
	for (size_t i = 0; agent->env[i]; i++)
		if (strcmp(agent->env[i], name) == 0)
			return true;
	return false;
}

static bool any_agent_has(const char *name)
{
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);

	for (size_t i = 0; i < n; i++)
		if (agent_has(&agents[i], name))
			return true;
	return false;
}

/* May the plan pass it, or does sbx itself need it? */
static bool is_kept(
	const struct options *o, const struct sbx_agent *agent, const char *name)
{
	if (strcmp(name, "PATH") == 0 || (agent && agent_has(agent, name)))
		return true;
	for (size_t i = 0; i < n_baseline_env; i++)
		if (strcmp(baseline_env[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < o->policy.n_env; i++)
		if (strcmp(o->policy.env[i], name) == 0)
			return true;
	return false;
}

/* /proc/PID/environ shows the strings where the kernel put them: they are overwritten there. */
static int forget_environment(const struct options *o, const struct sbx_agent *agent)
{
	struct sbx_strv names = { 0 }, values = { 0 };
	int r = 0;

	for (char **v = environ; v && *v; v++) {
		SBX_CLEANUP_FREE char *name =
			sbx_xasprintf("%.*s", (int)strcspn(*v, "="), *v);
		const char *value = strchr(*v, '=');

		if (value && is_kept(o, agent, name)) {
			sbx_strv_add(&names, name);
			sbx_strv_add(&values, value + 1);
		} else if (agent == NULL && any_agent_has(name)) {
			sbx_strv_add(&names, name);
			sbx_strv_add(&values, "set");
		}
		explicit_bzero(*v, strlen(*v));
	}
	if (clearenv() != 0)
		r = -1;
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = setenv(names.v[i], values.v[i], 1);
	sbx_strv_done(&names);
	sbx_strv_done(&values);
	return r;
}

static int set_environment(const struct identity *id, const char *home)
{
	const char *path = getenv("PATH");
	SBX_CLEANUP_FREE char *longer = sbx_xasprintf("%s:%s/.local/bin:%s/bin",
		path && *path ? path : "/usr/bin:/bin", home, home);

	return setenv("HOME", home, 1) < 0 || setenv("USER", id->name, 1) < 0 ||
			       setenv("LOGNAME", id->name, 1) < 0 ||
			       setenv("PATH", longer, 1) < 0
		       ? -1
		       : 0;
}

static int become(const struct identity *id, const char *home, const struct options *o,
	const struct sbx_agent *agent, struct sbx_error *e)
{
	if (forget_environment(o, agent) < 0 || set_environment(id, home) < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "environment: %m");
		return -1;
	}
	if (setgroups(0, NULL) < 0 || setresgid(id->gid, id->gid, id->gid) < 0 ||
		setresuid(id->uid, id->uid, id->uid) < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "cannot become %s (uid %u): %m",
			id->name, (unsigned)id->uid);
		return -1;
	}
	/* A change of uid leaves /proc/self to root, and with it the maps of a user namespace. */
	if (prctl(PR_SET_DUMPABLE, 1) < 0) {
		sbx_error_set(e, SBX_E_SYSTEM, errno, "prctl: %m");
		return -1;
	}
	return 0;
}

static int stay(struct identity *ret, const struct options *o, struct sbx_error *e)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (o->as && geteuid() != 0) {
		sbx_error_set(e, SBX_E_USAGE, EPERM,
			"--as: only root may run the agent as another user");
		return -1;
	}
	*ret = (struct identity){
		.uid = geteuid(),
		.gid = getegid(),
		.name = pw ? sbx_xstrdup(pw->pw_name)
			   : sbx_xasprintf("%u", (unsigned)geteuid()),
	};
	if (ret->uid == 0)
		cli_warn(
			"--allow-root: uid 0 inside is uid 0 of the host; for containers "
			"that have nobody else");
	return 0;
}

int identity_assume(struct identity *ret, const struct options *o,
	const struct sbx_agent *agent, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *home = NULL;
	struct identity id = { 0 };

	if (geteuid() != 0 || o->allow_root)
		return stay(ret, o, e);
	if (identity_choose(&id, &home, o, e) < 0)
		return -1;
	if (become(&id, home, o, agent, e) < 0) {
		identity_done(&id);
		return -1;
	}
	id.assumed = true;
	*ret = id;
	return 0;
}

void identity_done(struct identity *id)
{
	free(id->name);
	*id = (struct identity){ 0 };
}

/* ---- asking as somebody else ---- */

#define ANSWER_MAX (1 << 20)

bool identity_changes(const struct options *o)
{
	return geteuid() == 0 && !o->allow_root;
}

/* In the child. What it has to say is a digit, and the text or the error's three parts. */
static void __attribute__((noreturn))
answer(int to, const struct options *o, identity_question *fn, const void *arg)
{
	struct sbx_error e = { 0 };
	struct identity id = { 0 };
	SBX_CLEANUP_FREE char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r, null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* What it has to say goes to the caller, who may have a dialog on the screen. */
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	r = f == NULL || identity_assume(&id, o, NULL, &e) < 0 || fn(f, o, arg, &e) < 0;

	if (f)
		fclose(f);
	f = fdopen(to, "w");
	if (f && r == 0)
		fprintf(f, "0%s", text);
	else if (f)
		fprintf(f, "1%d\n%s%c%s", (int)e.code, e.message ? e.message : "failed",
			'\0', e.remedy ? e.remedy : "");
	if (f)
		fclose(f);
	_exit(0);
}

static size_t gather(int from, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size && ((n = read(from, buf + len, size - len)) > 0 ||
				     (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	return len;
}

static int take_error(const char *text, size_t len, struct sbx_error *e)
{
	char *end;
	long code = strtol(text, &end, 10);
	const char *message = *end == '\n' ? end + 1 : "it ended without a word";
	const char *remedy = memchr(text, '\0', len);

	sbx_error_set(e,
		code > 0 && code < _SBX_CODE_MAX ? (enum sbx_code)code : SBX_E_SYSTEM,
		EIO, "%s", message);
	if (remedy && remedy[1])
		sbx_error_remedy(e, "%s", remedy + 1);
	return -1;
}

int identity_ask(char **ret, const struct options *o, identity_question *fn,
	const void *arg, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *buf = sbx_xcalloc(1, ANSWER_MAX + 2);
	SBX_CLEANUP_FD int from = -1;
	int p[2], r = sbx_pipe(p);
	size_t len;
	pid_t pid;

	if (r < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, -r, "pipe: %s", strerror(-r));
	from = p[0];
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		answer(p[1], o, fn, arg);
	close(p[1]);
	if (pid < 0)
		return sbx_error_set(e, SBX_E_SYSTEM, errno, "fork: %m");
	len = gather(from, buf, ANSWER_MAX);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (buf[0] != '0')
		return take_error(buf + 1, len, e);
	*ret = sbx_xstrdup(buf + 1);
	return 0;
}
