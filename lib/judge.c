#include "judge.h"

#include "path.h"

#include <string.h>

/* Neither they nor what holds them may be a work dir. */
static const char *const system_dirs[] = {
	"/bin",
	"/boot",
	"/dev",
	"/etc",
	"/home",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/mnt",
	"/media",
	"/opt",
	"/proc",
	"/run",
	"/sbin",
	"/srv",
	"/sys",
	"/tmp",
	"/usr",
	"/usr/local",
	"/var",
	"/var/tmp",
	"/var/run",
	"/nix",
	"/nix/store",
	NULL,
};

/* Nothing below them may be one either: the kernel's files, and the host's sockets. */
static const char *const system_trees[] = {
	"/boot",
	"/dev",
	"/proc",
	"/run",
	"/sys",
	"/etc",
	"/var/run",
	"/bin",
	"/sbin",
	"/lib",
	"/lib64",
	"/usr/bin",
	"/usr/sbin",
	"/usr/lib",
	NULL,
};

static int refuse(struct sbx_error *e, enum sbx_code code, const char *what,
	const char *path, const char *fmt, const char *arg)
{
	SBX_CLEANUP_FREE char *why = NULL;
	int r;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	why = sbx_xasprintf(fmt, arg);
#pragma GCC diagnostic pop
	r = sbx_error_set(e, code, 0, "%s '%s' %s", what, path, why);
	if (strcmp(what, "bind") == 0)
		sbx_error_remedy(e,
			"bind less: the one file or directory that is needed, apart from "
			"logins, agents' state and the system's own");
	else
		sbx_error_remedy(e,
			"choose one project directory, for example a subdirectory "
			"of your home that holds only that project");
	return r;
}

static int judge_system(const char *path, const char *what, struct sbx_error *e)
{
	for (size_t i = 0; system_dirs[i]; i++)
		if (strcmp(path, system_dirs[i]) == 0)
			return refuse(e, SBX_E_PATH_SYSTEM, what, path,
				"is a system directory%s", "");
	for (size_t i = 0; system_trees[i]; i++)
		if (sbx_path_is_beneath(path, system_trees[i]))
			return refuse(e, SBX_E_PATH_SYSTEM, what, path,
				"lies in the system directory %s", system_trees[i]);
	return 0;
}

static int judge_credential(const char *path, const char *what, const char *home,
	const char *rel, struct sbx_error *e)
{
	SBX_CLEANUP_FREE char *cred = sbx_path_join(home, rel);

	if (sbx_path_is_beneath(path, cred))
		return refuse(e, SBX_E_PATH_IN_CRED, what, path,
			"lies in %s, which holds credentials, an agent's state or what the host runs",
			cred);
	if (sbx_path_is_beneath(cred, path))
		return refuse(e, SBX_E_PATH_ABOVE_CRED, what, path,
			"contains %s, which holds credentials, an agent's state or what the host runs",
			cred);
	return 0;
}

static int judge_home(
	const char *path, const char *what, const char *home, struct sbx_error *e)
{
	const char *const *dirs = sbx_credential_dirs();
	const struct sbx_agent *agents;
	size_t n;
	int r = 0;

	if (strcmp(path, home) == 0)
		return refuse(
			e, SBX_E_PATH_HOME, what, path, "is the home directory%s", "");
	if (sbx_path_is_beneath(home, path))
		return refuse(e, SBX_E_PATH_ABOVE_HOME, what, path,
			"contains the home directory %s", home);
	for (size_t i = 0; r == 0 && dirs[i]; i++)
		r = judge_credential(path, what, home, dirs[i], e);
	agents = sbx_agents(&n);
	for (size_t a = 0; a < n; a++)
		for (size_t i = 0; r == 0 && agents[a].roots[i]; i++)
			r = judge_credential(path, what, home, agents[a].roots[i], e);
	return r;
}

int sbx_judge_path(
	const char *path, const char *what, const char *const *homes, struct sbx_error *e)
{
	int r = 0;

	if (strcmp(path, "/") == 0)
		return refuse(e, SBX_E_PATH_ROOT, what, path,
			"is the root of the file system%s", "");
	for (size_t i = 0; r == 0 && homes[i]; i++)
		r = judge_home(path, what, homes[i], e);
	return r ? r : judge_system(path, what, e);
}
