#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Every value is "canary-NONCE-NAME" unless given. */
static const struct {
	const char *name;
	const char *value;
} variables[] = {
	{ "PATH", "/usr/local/bin:/usr/bin:/bin" },
	{ "TERM", "xterm-256color" },
	{ "LANG", "C.UTF-8" },
	{ "SHELL", "/usr/bin/fish" }, /* a probe that needs a shell would notice */
	{ "ANTHROPIC_API_KEY", NULL },
	{ "OPENAI_API_KEY", NULL },
	{ "GEMINI_API_KEY", NULL },
	{ "OPENROUTER_API_KEY", NULL },
	{ "CURSOR_API_KEY", NULL },
	{ "KIRO_API_KEY", NULL },
	{ "AWS_SECRET_ACCESS_KEY", NULL },
	{ "GITHUB_TOKEN", NULL },
	{ "KUBECONFIG", NULL },
	{ "DATABASE_URL", NULL },
	{ "SSH_AUTH_SOCK", "/nonexistent/agent.sock" },
	{ "DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus" },
	{ "XDG_RUNTIME_DIR", "/nonexistent/run" },
	{ "LD_LIBRARY_PATH", "/nonexistent/lib" },
	{ "NODE_OPTIONS", "--max-old-space-size=1000" },
	{ "BASH_ENV", "/nonexistent/bashenv" },
	{ "PYTHONPATH", "/nonexistent/python" },
	{ "GIT_SSH_COMMAND", "/nonexistent/ssh" },
	{ "no_proxy", "127.0.0.1,::1,localhost" },
	{ "SBX_CANARY", NULL },
};

const char *scene_env(const struct scene *s, const char *name)
{
	return sbx_env_get(s->env.v, name);
}

static int make_root(struct scene *s, const char *base)
{
	uint64_t rnd;
	int r;

	if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd))
		return -errno;
	snprintf(s->nonce, sizeof(s->nonce), "sbx%016llx", (unsigned long long)rnd);
	s->root = sbx_xasprintf("%s/%s", base, s->nonce);
	r = guardian_start(&s->guardian, s->root, s->nonce);
	if (r < 0)
		return r;
	if (mkdir(s->root, 0700) < 0)
		return -errno;
	s->tree.home = sbx_xasprintf("%s/home", s->root);
	s->tree.nonce = sbx_xstrdup(s->nonce);
	return mkdir(s->tree.home, 0700) < 0 ? -errno : 0;
}

static int copy_program(const char *path, const struct probe_image *image)
{
	SBX_CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	return fd < 0 ? -errno : sbx_write_all(fd, image->data, image->len);
}

static int place_probes(struct scene *s, const struct probe_images *images)
{
	SBX_CLEANUP_FREE char *dir = sbx_xasprintf("%s/" TREE_PROBES, s->tree.work);
	int r;

	if (mkdir(dir, 0700) < 0)
		return -errno;
	s->probe = sbx_xasprintf("%s/sbx-probe", dir);
	s->probe_http = sbx_xasprintf("%s/sbx-probe-http", dir);
	r = copy_program(s->probe, &images->probe);
	return r ? r : copy_program(s->probe_http, &images->http);
}

static void make_env(struct scene *s)
{
	struct passwd *pw = getpwuid(getuid());

	sbx_strv_addf(&s->env, "HOME=%s", s->tree.home);
	/* A uid without a name goes by its number. */
	if (pw)
		sbx_strv_addf(&s->env, "USER=%s", pw->pw_name);
	else
		sbx_strv_addf(&s->env, "USER=%u", (unsigned)getuid());
	for (size_t i = 0; i < SBX_ARRAY_SIZE(variables); i++) {
		if (variables[i].value)
			sbx_strv_addf(
				&s->env, "%s=%s", variables[i].name, variables[i].value);
		else
			sbx_strv_addf(&s->env, "%s=canary-%s-%s", variables[i].name,
				s->nonce, variables[i].name);
	}
}

static int start_listeners(struct scene *s)
{
	SBX_CLEANUP_FREE char *inside = sbx_xasprintf("%s/host.sock", s->tree.work);
	SBX_CLEANUP_FREE char *outside = sbx_xasprintf("%s/host.sock", s->root);
	int r = listeners_start(&s->listeners,
		&(struct listener_names){
			.abstract = s->nonce, .unix_work = inside, .unix_out = outside });

	if (r == 0)
		sbx_strv_addf(&s->env, "http_proxy=http://127.0.0.1:%d",
			s->listeners.port[LISTEN_PROXY]);
	return r;
}

static int build(struct scene *s, const char *base, const struct probe_images *images,
	const char **ret_what)
{
	SBX_CLEANUP_FREE char *secret = NULL;
	struct statvfs fs;
	int r;

	*ret_what = "its directory";
	r = make_root(s, base);
	if (r < 0)
		return r;
	*ret_what = "its directory is mounted noexec";
	if (s->root && statvfs(s->root, &fs) == 0 && (fs.f_flag & ST_NOEXEC))
		return -EACCES;
	*ret_what = "its files";
	r = tree_create(&s->tree);
	if (r < 0)
		return r;
	r = place_probes(s, images);
	if (r < 0)
		return r;
	make_env(s);
	*ret_what = "IPC objects, the victim process or leaked descriptors";
	secret = sbx_xasprintf("%s/.ssh/id_ed25519", s->tree.home);
	r = objects_create(
		&s->objects, s->nonce, s->probe, s->env.v, s->tree.home, secret);
	if (r < 0)
		return r;
	*ret_what = "its listeners";
	return start_listeners(s);
}

int scene_create(struct scene *ret, const char *base, const struct probe_images *images,
	const char **ret_what)
{
	struct scene s = {
		.listeners.ctl = -1, .guardian.fd = -1, .objects = OBJECTS_NONE
	};
	int r = build(&s, base, images, ret_what);

	if (r < 0)
		scene_destroy(&s);
	else
		*ret = s;
	return r;
}

void scene_token(struct scene *s, char *buf)
{
	snprintf(buf, 48, "%s.%u", s->nonce, s->serial++);
}

int scene_reset(struct scene *s)
{
	int r = tree_restore(&s->tree);

	return r < 0 ? r : tree_fingerprint(&s->tree, &s->baseline);
}

void scene_destroy(struct scene *s)
{
	listeners_stop(&s->listeners);
	objects_done(&s->objects);
	if (s->root)
		tree_remove(s->root);
	guardian_dismiss(&s->guardian);
	sbx_strv_done(&s->env);
	free(s->root);
	free(s->tree.home);
	free(s->tree.work);
	free(s->tree.sibling);
	free(s->tree.nonce);
	free(s->probe);
	free(s->probe_http);
	*s = (struct scene){
		.listeners.ctl = -1, .guardian.fd = -1, .objects = OBJECTS_NONE
	};
}
