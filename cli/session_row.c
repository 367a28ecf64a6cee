#include "session_row.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define NAME_MAX_LEN 64

void session_done(struct session *s)
{
	free(s->id);
	free(s->name);
	free(s->agent);
	free(s->workdir);
	free(s->sandbox);
	free(s->args);
	free(s->conversation);
	*s = (struct session){ .status = -1 };
}

bool session_name_valid(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789._-";
	size_t len = strlen(name);

	return len > 0 && len <= NAME_MAX_LEN && isalnum((unsigned char)name[0]) &&
	       strspn(name, letters) == len &&
	       !(len == 8 && strspn(name, "0123456789abcdef") == len);
}

/* ---- to JSON ---- */

static char *dump(json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	return text;
}

static int not_utf8(struct sbx_error *e, const char *what)
{
	sbx_error_set(e, SBX_E_SESSION_INVALID, EILSEQ,
		"%s is no UTF-8, and cannot be recorded", what);
	sbx_error_remedy(e, "rename it; or use 'sbx run', which records nothing");
	return -1;
}

static json_t *binds_json(const struct sbx_policy *p, struct sbx_error *e)
{
	json_t *binds = json_array();

	for (size_t i = 0; i < p->n_binds; i++) {
		json_t *one = json_pack("{s:s, s:s}", "path", p->binds[i].path, "mode",
			p->binds[i].rw ? "rw" : "ro");

		if (one == NULL) {
			not_utf8(e, "the path of a bind");
			json_decref(binds);
			return NULL;
		}
		json_array_append_new(binds, one);
	}
	return binds;
}

static json_t *allow_json(unsigned allow)
{
	json_t *names = json_array();

	for (unsigned bit = 1; bit && bit <= _SBX_ALLOW_ALL; bit <<= 1)
		if (allow & bit)
			json_array_append_new(
				names, json_string(sbx_allow_name((enum sbx_allow)bit)));
	return names;
}

char *session_sandbox_format(const struct sbx_policy *p, bool skip, struct sbx_error *e)
{
	json_t *binds = binds_json(p, e), *env = json_array();

	if (binds == NULL) {
		json_decref(env);
		return NULL;
	}
	for (size_t i = 0; i < p->n_env; i++)
		json_array_append_new(env, json_string(p->env[i]));
	return dump(json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "profile",
		sbx_profile_name(p->profile), "fs", sbx_fs_name(p->fs), "net",
		sbx_net_name(sbx_policy_net(p)), "binds", binds, "env", env, "allow",
		allow_json(p->allow), "skip_permissions", skip));
}

char *session_args_format(char *const *args, struct sbx_error *e)
{
	json_t *j = json_array();

	for (; args && *args; args++) {
		json_t *one = json_string(*args);

		if (one == NULL) {
			not_utf8(e, "an argument");
			json_decref(j);
			return NULL;
		}
		json_array_append_new(j, one);
	}
	return dump(j);
}

/* ---- from JSON ---- */

static int invalid(struct sbx_error *e, const char *what)
{
	sbx_error_set(e, SBX_E_SESSION_INVALID, EINVAL,
		"the sandbox choice on record cannot be read: %s", what);
	sbx_error_remedy(e, "nothing was run; record the session again with 'sbx session "
			    "new', and remove this one with 'sbx session rm'");
	return -1;
}

static json_t *load(const char *text, const char **ret_why)
{
	json_error_t je;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &je);

	*ret_why = j ? NULL : "it is no JSON, or names a key twice";
	return j;
}

static int take_binds(struct session_sandbox *s, const json_t *list)
{
	size_t i;
	json_t *one;

	s->binds = sbx_xcalloc(json_array_size(list) + 1, sizeof(*s->binds));
	json_array_foreach (list, i, one) {
		const char *path, *mode;

		if (json_unpack(one, "{s:s, s:s !}", "path", &path, "mode", &mode) < 0 ||
			(strcmp(mode, "rw") != 0 && strcmp(mode, "ro") != 0))
			return -1;
		s->binds[s->policy.n_binds++] =
			(struct sbx_bind){ .path = path, .rw = mode[1] == 'w' };
	}
	s->policy.binds = s->binds;
	return 0;
}

static int take_env(struct session_sandbox *s, const json_t *list)
{
	size_t i;
	json_t *one;

	s->env = sbx_xcalloc(json_array_size(list) + 1, sizeof(*s->env));
	json_array_foreach (list, i, one) {
		if (!json_is_string(one))
			return -1;
		s->env[s->policy.n_env++] = json_string_value(one);
	}
	s->policy.env = s->env;
	return 0;
}

static int take_allow(struct session_sandbox *s, const json_t *list)
{
	size_t i;
	json_t *one;

	json_array_foreach (list, i, one) {
		enum sbx_allow bit;

		if (sbx_allow_from_string(json_string_value(one), &bit) < 0)
			return -1;
		s->policy.allow |= bit;
	}
	return 0;
}

/* NULL, or what is wrong with it. */
static const char *take_sandbox(struct session_sandbox *s)
{
	const char *profile, *fs, *net;
	json_t *binds, *env, *allow;
	int skip;

	if (json_unpack(s->root, "{s:s, s:s, s:s, s:o, s:o, s:o, s:b !}", "profile",
		    &profile, "fs", &fs, "net", &net, "binds", &binds, "env", &env,
		    "allow", &allow, "skip_permissions", &skip) < 0)
		return "it wants exactly profile, fs, net, binds, env, allow and "
		       "skip_permissions";
	if (sbx_profile_from_string(profile, &s->policy.profile) < 0)
		return "there is no such profile";
	if (sbx_fs_from_string(fs, &s->policy.fs) < 0)
		return "fs is neither rw nor ro";
	/* "default" would change when the profile's default does. */
	if (sbx_net_from_string(net, &s->policy.net) < 0 ||
		s->policy.net == SBX_NET_DEFAULT)
		return "net is neither on nor off";
	if (!json_is_array(binds) || take_binds(s, binds) < 0)
		return "binds is no list of {path, mode}";
	if (!json_is_array(env) || take_env(s, env) < 0)
		return "env is no list of names";
	if (!json_is_array(allow) || take_allow(s, allow) < 0)
		return "allow has a word that is not known";
	s->skip = skip != 0;
	return NULL;
}

int session_sandbox_parse(
	struct session_sandbox *ret, const char *text, struct sbx_error *e)
{
	struct session_sandbox s = { 0 };
	struct sbx_error why_not = { 0 };
	const char *why;
	int r = 0;

	s.root = load(text, &why);
	if (why == NULL)
		why = take_sandbox(&s);
	if (why == NULL && sbx_policy_check(&s.policy, &why_not) < 0)
		why = why_not.message;
	if (why) {
		r = invalid(e, why);
		session_sandbox_done(&s);
	} else {
		*ret = s;
	}
	sbx_error_done(&why_not);
	return r;
}

void session_sandbox_done(struct session_sandbox *s)
{
	free(s->binds);
	free(s->env);
	json_decref(s->root);
	*s = (struct session_sandbox){ 0 };
}

char *session_sandbox_upgrade(const char *text)
{
	struct sbx_policy p = { .profile = SBX_PROFILE_LENIENT };
	const char *fs, *net, *why;
	json_t *j = load(text, &why);
	char *better = NULL;

	if (j && json_unpack(j, "{s:s, s:s !}", "fs", &fs, "net", &net) == 0 &&
		sbx_fs_from_string(fs, &p.fs) == 0 &&
		sbx_net_from_string(net, &p.net) == 0 && p.net != SBX_NET_DEFAULT)
		better = session_sandbox_format(&p, true, NULL);
	json_decref(j);
	return better;
}

char *session_sandbox_summary(const char *text)
{
	struct session_sandbox s;
	char *summary;

	if (text == NULL)
		return NULL;
	if (session_sandbox_parse(&s, text, NULL) < 0)
		return sbx_xstrdup("invalid");
	summary = sbx_xasprintf("%s, %s, net %s", sbx_profile_name(s.policy.profile),
		sbx_fs_name(s.policy.fs), sbx_net_name(s.policy.net));
	session_sandbox_done(&s);
	return summary;
}

int session_args_parse(struct sbx_strv *ret, const char *text, struct sbx_error *e)
{
	struct sbx_strv args = { 0 };
	const char *why;
	json_t *j = load(text, &why), *one;
	bool good = json_is_array(j);
	size_t i;

	json_array_foreach (j, i, one) {
		good &= json_is_string(one);
		if (json_is_string(one))
			sbx_strv_add(&args, json_string_value(one));
	}
	json_decref(j);
	if (!good) {
		sbx_strv_done(&args);
		return invalid(e, "its arguments are no list of strings");
	}
	*ret = args;
	return 0;
}
