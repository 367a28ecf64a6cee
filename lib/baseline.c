#include "baseline.h"

#include "host.h"

const char baseline_path[] =
	"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/* In every cell, whatever the policy. */
const struct baseline_flag baseline_flags[] = {
	{ "--unshare-user", NULL, "no capability over anything of the host" },
	{ "--unshare-pid", NULL, "host processes are out of sight and out of reach" },
	{ "--unshare-ipc", NULL,
		"System V and POSIX IPC objects of the host are out of reach" },
	{ "--unshare-uts", NULL, "the host name can be neither read nor set" },
	{ "--unshare-cgroup", NULL, "the host's cgroup paths are hidden" },
	{ "--disable-userns", NULL,
		"no nested namespace, where caps would be full again" },
	{ "--cap-drop", "ALL", "bwrap keeps capabilities when started by uid 0" },
	{ "--new-session", NULL,
		"no controlling terminal: no typing into the user's shell" },
	{ "--die-with-parent", NULL, "nothing outlives the runner" },
	{ "--as-pid-1", NULL,
		"our own pid 1: bwrap's can be read, traced and made to lie by its user" },
	{ "--hostname", "sbx", "the host's name stays outside" },
};

const struct baseline_path_row baseline_system[] = {
	{ "/usr", false, false, "programs and libraries" },
	{ "/bin", true, false, "programs by their old path" },
	{ "/sbin", true, false, "programs by their old path" },
	{ "/lib", true, false, "libraries by their old path" },
	{ "/lib32", true, false, "libraries by their old path" },
	{ "/lib64", true, false, "the dynamic loader's path" },
	{ "/libx32", true, false, "libraries by their old path" },
	{ "/etc/alternatives", false, false, "awk, editor, which are links through it" },
	{ "/etc/bash.bashrc", false, false, "read by the agents' tool shells" },
	{ "/etc/hosts", false, false, "localhost must resolve" },
	{ "/etc/inputrc", false, false, "line editing" },
	{ "/etc/ld.so.cache", false, false, "where the loader finds libraries" },
	{ "/etc/localtime", false, false, "local time" },
	{ "/etc/mime.types", false, false, "file types" },
	{ "/etc/os-release", false, false, "which system this is" },
	{ "/etc/profile", false, false, "login shells of the agents' tools" },
	{ "/etc/profile.d", false, false, "login shells of the agents' tools" },
	{ "/etc/terminfo", false, false, "terminals the distribution adds" },
	{ "/etc/timezone", false, false, "local time" },
	{ "/etc/ca-certificates", false, true, "roots of trust for TLS" },
	{ "/etc/host.conf", false, true, "name resolution" },
	{ "/etc/nsswitch.conf", false, true, "name resolution" },
	{ "/etc/pki/ca-trust/extracted", false, true, "roots of trust for TLS" },
	{ "/etc/pki/tls/certs", false, true,
		"roots of trust for TLS, not the private keys" },
	{ "/etc/protocols", false, true, "names of protocols" },
	{ "/etc/resolv.conf", false, true, "name servers", .live = true },
	{ "/etc/services", false, true, "names of ports" },
	{ "/etc/ssl/cert.pem", false, true, "roots of trust for TLS" },
	{ "/etc/ssl/certs", false, true, "roots of trust for TLS, not /etc/ssl/private" },
	{ "/etc/ssl/openssl.cnf", false, true, "defaults of TLS" },
};

/* Files of the user's that every agent's tools need; bound where state is. */
const struct baseline_path_row baseline_user[] = {
	{ ".gitconfig", false, false,
		"commits need a name; read-only, since it names programs" },
	{ ".config/git/config", false, false, "as .gitconfig" },
	{ ".config/git/ignore", false, false, "what git leaves out" },
};

/* Parts of /proc that show the host. /dev/null, bound without the right to open devices. */
const struct baseline_path_row baseline_proc_masks[] = {
	{ "/proc/keys", false, false,
		"names and serial numbers of the host user's keys" },
	{ "/proc/key-users", false, false, "likewise" },
};

/* Passed from the user's environment when set. Everything else is withheld. */
const struct baseline_env_row baseline_env[] = {
	{ "TERM", false, "terminal type" },
	{ "COLORTERM", false, "terminal colours" },
	{ "NO_COLOR", false, "the user wants none" },
	{ "FORCE_COLOR", false, "the user wants them" },
	{ "LANG", false, "locale" },
	{ "LANGUAGE", false, "locale" },
	{ "LC_ALL", false, "locale" },
	{ "LC_CTYPE", false, "locale" },
	{ "LC_MESSAGES", false, "locale" },
	{ "LC_TIME", false, "locale" },
	{ "LC_NUMERIC", false, "locale" },
	{ "LC_COLLATE", false, "locale" },
	{ "TZ", false, "local time" },
	{ "HTTP_PROXY", true, "the way out" },
	{ "HTTPS_PROXY", true, "the way out" },
	{ "ALL_PROXY", true, "the way out" },
	{ "NO_PROXY", true, "the way out" },
	{ "http_proxy", true, "the way out" },
	{ "https_proxy", true, "the way out" },
	{ "all_proxy", true, "the way out" },
	{ "no_proxy", true, "the way out" },
	{ "SSL_CERT_FILE", true, "roots of trust for TLS" },
	{ "SSL_CERT_DIR", true, "roots of trust for TLS" },
	{ "NODE_EXTRA_CA_CERTS", true, "roots of trust for TLS" },
	{ "CURL_CA_BUNDLE", true, "roots of trust for TLS" },
};

const size_t n_baseline_flags = SBX_ARRAY_SIZE(baseline_flags);
const size_t n_baseline_system = SBX_ARRAY_SIZE(baseline_system);
const size_t n_baseline_user = SBX_ARRAY_SIZE(baseline_user);
const size_t n_baseline_proc_masks = SBX_ARRAY_SIZE(baseline_proc_masks);
const size_t n_baseline_env = SBX_ARRAY_SIZE(baseline_env);

const char *const *sbx_host_system_paths(void)
{
	static const char *paths[SBX_ARRAY_SIZE(baseline_system) +
				 SBX_ARRAY_SIZE(baseline_proc_masks) + 1];
	size_t n = 0;

	for (size_t i = 0; i < n_baseline_system; i++)
		paths[n++] = baseline_system[i].path;
	for (size_t i = 0; i < n_baseline_proc_masks; i++)
		paths[n++] = baseline_proc_masks[i].path;
	return paths;
}

const char *const *sbx_host_user_paths(void)
{
	static const char *paths[SBX_ARRAY_SIZE(baseline_user) + 1];

	for (size_t i = 0; i < n_baseline_user; i++)
		paths[i] = baseline_user[i].path;
	return paths;
}
