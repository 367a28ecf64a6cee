#include "roles.h"

#include "expand.h"
#include "role_rows.h"

#include <string.h>

/* clang-format off: a table, one thing a line */
static const struct role roles[] = {
	/* the work dir, by way of the material in it */
	NEW_IN("@work_new", "{work}/.material"),
	PATH("@work_file", "{work}/.material/file"),
	PATH("@work_trunc", "{work}/.material/trunc_me"),
	PATH("@work_victim", "{work}/.material/unlink_me"),
	PATH("@work_empty", "{work}/.material/empty"),
	{ .name = "@work_rename",
		.args = { "{work}/.material/{new}", "{work}/.material/rename_me" } },
	{ .name = "@work_link",
		.args = { "{work}/.material/{new}", "{work}/.material/file" } },
	{ .name = "@work_tmpfile",
		.args = { "{work}/.material/{new}", "{work}/.material" } },
	{ .name = "@work_symlink",
		.args = { "{work}/.material/{new}", "{home}/.ssh/id_ed25519" } },
	HOME_FILE("@work_readme", "projects/app/README.md"),
	HOME_FILE("@work_dotenv", "projects/app/.env"),
	PATH("@work", "{work}"),
	PATH("@work_socket", "{work}/.material/{new}.s"),
	{ .name = "@work_away", .args = { "{work}.{new}", "{work}" } },

	/* what the host would execute or obey, inside the work dir */
	NEW_IN("@git_hook", "{work}/.git/hooks"),
	PATH("@git_config", "{work}/.git/config"),
	{ .name = "@git_away", .args = { "{work}/.git.{new}", "{work}/.git" } },
	{ .name = "@git_hooks_away",
		.args = { "{work}/.git/hooks.{new}", "{work}/.git/hooks" } },
	NEW_IN("@git_object", "{work}/.git/objects"),
	PATH("@claude_project", "{work}/.claude/settings.json"),
	NEW_IN("@claude_project_new", "{work}/.claude"),
	PATH("@mcp_json", "{work}/.mcp.json"),
	PATH("@codex_project", "{work}/.codex/config.toml"),
	PATH("@gemini_project", "{work}/.gemini/settings.json"),
	PATH("@opencode_project", "{work}/.opencode/plugin/{new}.js"),
	PATH("@cursor_project", "{work}/.cursor/mcp.json"),
	PATH("@kiro_project", "{work}/.kiro/hooks/{new}.json"),
	PATH("@git_commondir", "{work}/.git/commondir"),
	PATH("@vscode_tasks", "{work}/.vscode/tasks.json"),
	PATH("@makefile", "{work}/Makefile"),

	/* around the work dir */
	NEW_IN("@parent_new", "{home}/projects"),
	NEW_IN("@sibling_new", "{sibling}"),
	HOME_FILE("@sibling_secret", "projects/other/secret.txt"),
	{ .name = "@sibling_rename",
		.args = { "{sibling}/{new}", "{work}/.material/rename_out" } },
	{ .name = "@sibling_tmpfile", .args = { "{sibling}/{new}", "{work}/.material" } },
	{ .name = "@sibling_dotdot",
		.args = { "{sibling}/{new}", "{work}", "../other/{new}" } },
	{ .name = "@secret_dotdot",
		.args = { "{sibling}/secret.txt", "{hash:projects/other/secret.txt}",
			"{work}", "../other/secret.txt" } },
	{ .name = "@secret_link",
		.args = { "{work}/link_secret", "{hash:.ssh/id_ed25519}" } },
	{ .name = "@secret_hardlink",
		.args = { "{work}/.material/{new}", "{home}/.ssh/id_ed25519" } },
	PATH("@secret_link_append", "{work}/link_secret"),
	NEW_IN("@sibling_link_new", "{work}/link_dir"),
	{ .name = "@secret_self_root",
		.args = { "/proc/self/root{home}/.ssh/id_ed25519",
			"{hash:.ssh/id_ed25519}" } },

	/* the user's home */
	NEW_IN("@home_new", "{home}"),
	NEW_IN("@ssh_new", "{home}/.ssh"),
	PATH("@autostart", "{home}/.config/autostart/{new}.desktop"),
	PATH("@systemd_unit", "{home}/.config/systemd/user/{new}.service"),
	PATH("@local_bin", "{home}/.local/bin/{new}"),
	HOME_FILE("@ssh_key", ".ssh/id_ed25519"),
	HOME_FILE("@ssh_authorized", ".ssh/authorized_keys"),
	HOME_FILE("@ssh_config", ".ssh/config"),
	HOME_FILE("@ssh_known_hosts", ".ssh/known_hosts"),
	HOME_FILE("@aws", ".aws/credentials"),
	HOME_FILE("@gnupg", ".gnupg/secring.gpg"),
	HOME_FILE("@netrc", ".netrc"),
	HOME_FILE("@gh", ".config/gh/hosts.yml"),
	HOME_FILE("@docker", ".docker/config.json"),
	HOME_FILE("@kube", ".kube/config"),
	HOME_FILE("@git_credentials", ".git-credentials"),
	HOME_FILE("@npmrc", ".npmrc"),
	HOME_FILE("@pypirc", ".pypirc"),
	HOME_FILE("@bashrc", ".bashrc"),
	HOME_FILE("@profile", ".profile"),
	HOME_FILE("@bash_history", ".bash_history"),
	HOME_FILE("@gitconfig", ".gitconfig"),
	HOME_FILE("@keyring_file", ".local/share/keyrings/login.keyring"),
	HOME_FILE("@firefox", ".mozilla/firefox/logins.json"),

	/* agents, each by name: nobody reads another's */
	HOME_FILE("@claude_credentials", ".claude/.credentials.json"),
	HOME_FILE("@claude_json", ".claude.json"),
	HOME_FILE("@claude_history", ".claude/history.jsonl"),
	HOME_FILE("@gemini_transcript", ".gemini/tmp/old/chat.json"),
	HOME_FILE("@codex_transcript", ".codex/sessions/old.jsonl"),
	HOME_FILE("@cursor_transcript", ".cursor/chats/old.json"),
	HOME_FILE("@kiro_transcript", ".kiro/sessions/cli/old.json"),
	HOME_FILE("@claude_transcript", ".claude/projects/old/session.jsonl"),
	HOME_FILE("@codex_credentials", ".codex/auth.json"),
	HOME_FILE("@gemini_credentials", ".gemini/oauth_creds.json"),
	HOME_FILE("@opencode_credentials", ".local/share/opencode/auth.json"),
	HOME_FILE("@cursor_credentials", ".config/cursor/auth.json"),
	HOME_FILE("@kiro_credentials", ".local/share/kiro-cli/data.sqlite3"),
	HOME_FILE("@claude_settings", ".claude/settings.json"),
	HOME_FILE("@codex_config", ".codex/config.toml"),
	PATH("@claude_daemon", "{home}/.claude/daemon/dispatch/{new}"),
	PATH("@codex_queue", "{home}/.codex/queue_1.sqlite"),
	/* and the one of the cell's own agent */
	OWN("@own_config", "{home}/{own:config}", "{ownhash:config}"),
	OWN("@own_credentials", "{home}/{own:credentials}", "{ownhash:credentials}"),
	OWN("@own_state_new", "{home}/{own:state}/{new}"),
	OWN("@own_root_new", "{home}/{own:root}/{new}"),
	ENV("@key_claude", "ANTHROPIC_API_KEY"),
	ENV("@key_codex", "OPENAI_API_KEY"),
	ENV("@key_gemini", "GEMINI_API_KEY"),
	ENV("@key_opencode", "OPENROUTER_API_KEY"),
	ENV("@key_cursor", "CURSOR_API_KEY"),
	ENV("@key_kiro", "KIRO_API_KEY"),

	/* the rest of the file system */
	NEW_IN("@root_new", ""),
	NEW_IN("@etc_new", "/etc"),
	NEW_IN("@usr_new", "/usr/share"),
	NEW_IN("@tmp_new", "/tmp"),
	NEW_IN("@var_tmp_new", "/var/tmp"),
	NEW_IN("@dev_shm_new", "/dev/shm"),
	NEW_IN("@run_new", "/run"),
	PATH("@usr", "/usr"),
	PATH("@etc_passwd", "/etc/passwd"),
	{ .name = "@accounts", .args = { "/etc/passwd", "daemon:" } },
	{ .name = "@groups", .args = { "/etc/group", "daemon:" } },
	HOST_FILE("@etc_hosts", "/etc/hosts"),
	PATH("@etc_shadow", "/etc/shadow"),
	PATH("@etc_ssh", "/etc/ssh"),
	PATH("@etc_machine_id", "/etc/machine-id"),
	HOST_FILE("@etc_resolv", "/etc/resolv.conf"),
	PATH("@etc_ssl_certs", "/etc/ssl/certs"),
	PATH("@etc_ssl_private", "/etc/ssl/private"),
	PATH("@run", "/run"),
	PATH("@sys", "/sys"),
	PATH("@boot", "/boot"),
	PATH("@var_log", "/var/log"),
	PATH("@var_lib", "/var/lib"),
	PATH("@root_home", "/root"),
	HOST_FILE("@ld_so_cache", "/etc/ld.so.cache"),
	PATH("@proc_sys_core_pattern", "/proc/sys/kernel/core_pattern"),
	PATH("@proc_kmsg", "/proc/kmsg"),
	IDENTITY("@dir_root", "/"),
	IDENTITY("@dir_tmp", "/tmp"),
	IDENTITY("@dir_var_tmp", "/var/tmp"),
	IDENTITY("@dir_dev", "/dev"),
	IDENTITY("@dir_dev_shm", "/dev/shm"),
	IDENTITY("@dir_proc", "/proc"),
	PATH("@home", "{home}"),
	{ .name = "@dir_home", .args = { "{home}", "{identity:home}" } },
	{ .name = "@dir_work", .args = { "{work}", "{identity:work}" } },

	/* devices */
	PATH("@dev", "/dev"),
	PATH("@dev_null", "/dev/null"),
	PATH("@dev_urandom", "/dev/urandom"),
	PATH("@dev_zero", "/dev/zero"),
	PATH("@dev_kmsg", "/dev/kmsg"),
	PATH("@dev_mem", "/dev/mem"),
	PATH("@dev_fuse", "/dev/fuse"),
	PATH("@dev_tun", "/dev/net/tun"),
	PATH("@dev_kvm", "/dev/kvm"),
	PATH("@dev_loop", "/dev/loop-control"),
	PATH("@dev_vsock", "/dev/vsock"),

	/* processes */
	PATH("@victim", "{victim}"),
	PATH("@victim_proc", "/proc/{victim}"),
	PATH("@victim_environ", "/proc/{victim}/environ"),
	PATH("@victim_root", "/proc/{victim}/root/"),
	{ .name = "@pid1_environ",
		.args = { "/proc/1/environ", "canary-{nonce}-SBX_CANARY" },
		.outside = { "/proc/{victim}/environ", "canary-{nonce}-SBX_CANARY" } },
	{ .name = "@self_environ",
		.args = { "/proc/self/environ", "canary-{nonce}-SBX_CANARY" } },
	{ .name = "@pid1_cmdline",
		.args = { "/proc/1/cmdline", OBJECTS_VICTIM_WORD },
		.outside = { "/proc/{victim}/cmdline", OBJECTS_VICTIM_WORD } },
	{ .name = "@pid1_mem",
		.args = { "/proc/1/mem" },
		.outside = { "/proc/{victim}/mem" } },
	{ .name = "@pid1_exe",
		.args = { "/proc/1/exe" },
		.outside = { "/proc/{victim}/exe" } },
	NS("@ns_user", "user"),
	NS("@ns_pid", "pid"),
	NS("@ns_net", "net"),
	NS("@ns_ipc", "ipc"),
	NS("@ns_uts", "uts"),
	NS("@ns_cgroup", "cgroup"),
	NS("@ns_mnt", "mnt"),

	/* network */
	INET("@tcp4", "127.0.0.1", "tcp4"),
	INET("@tcp6", "::1", "tcp6"),
	INET("@mptcp", "127.0.0.1", "mptcp"),
	INET("@udp4", "127.0.0.1", "udp4"),
	INET("@udp6", "::1", "udp6"),
	{ .name = "@abstract", .args = { "{nonce}" }, .listener = "abstract" },
	{ .name = "@unix_work", .args = { "{work}/host.sock" }, .listener = "unix_work" },
	{ .name = "@unix_out", .args = { "{root}/host.sock" }, .listener = "unix_out" },
	{ .name = "@proc_net_tcp",
		.args = { "/proc/net/tcp", "0100007F:{hexport:tcp4}" } },
	{ .name = "@raw", .args = { "2", "3", "1" } },
	{ .name = "@vsock", .args = { "40", "1", "0" } },
	{ .name = "@packet", .args = { "17", "0x80000", "0" } },
	{ .name = "@alg", .args = { "38", "5", "0" } },
	{ .name = "@inet_stream", .args = { "2", "1", "0" } },
	{ .name = "@netlink", .args = { "16", "3", "0" } },
	HTTP("@http4", "http://127.0.0.1:{port:http4}", "http4"),
	HTTP("@http6", "http://[::1]:{port:http6}", "http6"),
	HTTP("@httpname", "http://localhost:{port:httpname}", "httpname"),
	HTTP("@httpproxy", "http://127.0.0.2:1", "proxy"),
	{ .name = "@http_ca", .args = { "{http}", "ca", "-", "-" } },
	{ .name = "@lookup", .args = { "{http}", "lookup", "-", "-" } },

	/* IPC and keys */
	PATH("@shm", "{ipckey}"),
	PATH("@sem", "{ipckey}"),
	PATH("@msg", "{ipckey}"),
	PATH("@mq", "{nonce}"),
	PATH("@posix_shm", "/dev/shm/{nonce}"),
	PATH("@key", "{nonce}"),
	{ .name = "@proc_keys", .args = { "/proc/keys", "{nonce}" } },

	/* whom and what the payload finds around it */
	PATH("@ids", "{ids}"),
	PATH("@proc_key_users", "/proc/key-users"),
	{ .name = "@root_private",
		.args = { "/", "/bin\n/sbin\n/lib\n/lib32\n/lib64\n/libx32\n{etcfiles}" },
		.outside = { "{home}" } },
	{ .name = "@home_private",
		.args = { "{home}", "{copies}" },
		.outside = { "{home}" },
		.per_agent = true },
	{ .name = "@tmp_private", .args = { "/tmp" }, .outside = { "{home}" } },

	/* descriptors and environment */
	{ .name = "@leaked_dir", .args = { "{fd:dir}", ".ssh/id_ed25519" } },
	{ .name = "@leaked_path", .args = { "{fd:path}", ".ssh/id_ed25519" } },
	PATH("@leaked_file", "{fd:file}"),
	{ .name = "@mounts", .args = { "{mounts}" }, .per_agent = true },
	{ .name = "@env_names", .args = { "{envnames}" }, .per_agent = true },
	{ .name = "@env_path",
		.args = { "PATH",
			"{texthash:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin}" } },
	{ .name = "@env_shell", .args = { "SHELL", "{texthash:/bin/sh}" } },
	ENV("@env_home", "HOME"),
	ENV("@env_term", "TERM"),
	ENV("@env_lang", "LANG"),
	ENV("@env_proxy", "http_proxy"),
	{ .name = "@env_tmpdir", .args = { "TMPDIR", "{texthash:/tmp}" } },
	ENV("@env_aws", "AWS_SECRET_ACCESS_KEY"),
	ENV("@env_github", "GITHUB_TOKEN"),
	ENV("@env_kubeconfig", "KUBECONFIG"),
	ENV("@env_database", "DATABASE_URL"),
	ENV("@env_ssh_auth_sock", "SSH_AUTH_SOCK"),
	ENV("@env_dbus", "DBUS_SESSION_BUS_ADDRESS"),
	ENV("@env_runtime_dir", "XDG_RUNTIME_DIR"),
	ENV("@env_ld", "LD_LIBRARY_PATH"),
	ENV("@env_node_options", "NODE_OPTIONS"),
	ENV("@env_bash_env", "BASH_ENV"),
	ENV("@env_pythonpath", "PYTHONPATH"),
	ENV("@env_git_ssh", "GIT_SSH_COMMAND"),
	{ .name = "@hostname", .args = { "{hostname}" } },
	{ .name = "@session", .args = { "{sid}" } },

	/* programs */
	PATH("@bin_sh", "/bin/sh"),
	PATH("@usr_bin_env", "/usr/bin/env"),
	PATH("@lib_dir", "/lib/."),
	PATH("@lib64_dir", "/lib64/."),
	{ .name = "@sh", .args = { "/bin/sh", "-c", "exit 0" } },
	{ .name = "@usr_env", .args = { "/usr/bin/env", "true" } },
};
/* clang-format on */

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct role *const *)a)->name,
		(*(const struct role *const *)b)->name);
}

#define ROLES_MAX 1024

static const struct role *row(size_t i)
{
	if (i < SBX_ARRAY_SIZE(roles))
		return &roles[i];
	i -= SBX_ARRAY_SIZE(roles);
	return roles_more[i].name ? &roles_more[i] : NULL;
}

/* Asked for a thousand times a cell; hence sorted, once. */
static const struct role *find(const char *name)
{
	static const struct role *sorted[ROLES_MAX];
	static size_t n;
	const struct role key = { .name = name }, *k = &key, **found;

	if (n == 0) {
		for (; n < ROLES_MAX && row(n); n++)
			sorted[n] = row(n);
		qsort(sorted, n, sizeof(*sorted), by_name);
	}
	found = bsearch(&k, sorted, n, sizeof(*sorted), by_name);
	return found ? *found : NULL;
}

bool role_exists(const char *role)
{
	return role[0] != '@' || find(role) != NULL;
}

const char *role_name(size_t i)
{
	/* roles_more has no row behind its end. */
	if (i > SBX_ARRAY_SIZE(roles) && row(i - 1) == NULL)
		return NULL;
	return row(i) ? row(i)->name : NULL;
}

bool role_is_per_agent(const char *role)
{
	const struct role *r = role[0] == '@' ? find(role) : NULL;

	return r && r->per_agent;
}

int role_resolve(struct role_args *ret, const char *role, const struct role_use *use)
{
	struct role_args a = { .listener = -1 };
	const struct role *r = find(role);
	const char *const *from;

	if (role[0] != '@') {
		if (strcmp(role, "-") != 0)
			a.v[0] = sbx_xstrdup(role);
		*ret = a;
		return 0;
	}
	if (r == NULL)
		return -1;
	from = use->outside && r->outside[0] ? r->outside : r->args;
	for (int i = 0; i < ROLE_ARGS && from[i]; i++)
		a.v[i] = role_expand(from[i], use);
	if (r->listener)
		a.listener = listener_find(r->listener);
	*ret = a;
	return 0;
}

void role_args_done(struct role_args *a)
{
	for (int i = 0; i < ROLE_ARGS; i++)
		free(a->v[i]);
	*a = (struct role_args){ .listener = -1 };
}
