#include "agents.h"

#include <string.h>

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PATHS(...) ((const struct sbx_agent_path[]){ __VA_ARGS__, { 0 } })
#define SETS(...) ((const struct sbx_agent_env[]){ __VA_ARGS__, { 0 } })
#define RESUME(...) (&(const struct sbx_agent_resume){ __VA_ARGS__ })
#define NO_NAMES ((const char *const[]){ NULL })
#define NO_PATHS ((const struct sbx_agent_path[]){ { 0 } })
#define NO_SETS ((const struct sbx_agent_env[]){ { 0 } })

#define CONFIG SBX_PATH_CONFIG
#define EXEC SBX_PATH_EXEC
#define CRED SBX_PATH_CREDENTIAL
#define STATE SBX_PATH_STATE
#define COPY SBX_PATH_COPY

/* A state directory is never bound whole: the host's daemons take orders from files in it
 * (claude's daemon/dispatch, codex's queue), and settings in it name programs that the host
 * runs. What is not listed here is absent inside, or lives in the private HOME and is lost. */
/* clang-format off: a table, one thing a line */
static const struct sbx_agent agents[] = {
	{
		.name = "claude",
		.command = "claude",
		.skip_flags = NAMES("--dangerously-skip-permissions"),
		.roots = NAMES(".claude", ".config/anthropic"),
		.paths = PATHS(
			{ ".claude.json", COPY,
				"account and MCP list; replaced by rename, so a bind would break" },
			{ ".claude/settings.json", EXEC,
				"names hooks, statusLine, apiKeyHelper" },
			{ ".claude/settings.local.json", EXEC, "as settings.json" },
			{ ".claude/.credentials.json", CRED, "OAuth login" },
			{ ".claude/CLAUDE.md", CONFIG,
				"the user's standing instructions" },
			{ ".claude/agents", EXEC, "sub-agents with their own tools" },
			{ ".claude/commands", EXEC, "slash commands may run shell text" },
			{ ".claude/hooks", EXEC,
				"scripts that settings.json usually names" },
			{ ".claude/skills", EXEC, "skills carry scripts" },
			{ ".claude/rules", CONFIG, "instructions" },
			{ ".claude/plugins", EXEC,
				"plugins carry hooks and MCP servers" },
			{ ".claude/projects", STATE,
				"transcripts of this project; needed by --continue",
				SBX_BY_PATH },
			{ ".config/anthropic", CRED, "profiles and keys of the SDK" },
			{ "/etc/claude-code", CONFIG, "the administrator's policy" }),
		.env = NAMES("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
			"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
			"ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_CUSTOM_HEADERS",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK",
			"CLAUDE_CODE_USE_VERTEX",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY",
			"DISABLE_ERROR_REPORTING", "MAX_THINKING_TOKENS"),
		.set_env = SETS({ "DISABLE_AUTOUPDATER", "1",
			"the installation is read-only inside" }),
		.resume = RESUME(.start = NAMES("--session-id", "{}"),
			.again = NAMES("--resume", "{}"),
			.own = NAMES("--session-id", "--resume", "-r", "--continue", "-c",
				"--from-pr", "--fork-session"),
			.kept_as = "{}.jsonl",
			.why = "it takes an id of ours at the start"),
		.verified = true,
		.why = "Claude Code 2.x, run under bwrap with a scripted model",
	},
	{
		.name = "codex",
		.command = "codex",
		.skip_flags = NAMES("--dangerously-bypass-approvals-and-sandbox"),
		/* its tools' environment only: /proc and auth.json still have it */
		.key_flags = NAMES("-c", "shell_environment_policy.exclude="
					 "[\"CODEX_API_KEY\",\"OPENAI_API_KEY\"]"),
		.roots = NAMES(".codex"),
		.paths = PATHS({ ".codex/config.toml", EXEC,
				       "names notify programs and MCP servers" },
			{ ".codex/hooks.json", EXEC, "hooks" },
			{ ".codex/auth.json", CRED, "API key or login" },
			{ ".codex/AGENTS.md", CONFIG,
				"the user's standing instructions" },
			{ ".codex/rules", EXEC, "rules decide what runs unasked" },
			{ ".codex/skills", EXEC, "skills carry scripts" },
			{ ".codex/prompts", CONFIG, "prompts" },
			{ ".codex/sessions", STATE, "transcripts; needed by resume" },
			{ "/etc/codex", CONFIG, "the administrator's policy" }),
		.env = NAMES("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL",
			"OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_CA_CERTIFICATE"),
		.set_env = NO_SETS,
		.resume = RESUME(.again = NAMES("resume", "--last"),
			.own = NAMES(
				"resume", "exec", "e", "review", "mcp", "login", "queue"),
			.kept_as = "rollout-*.jsonl",
			.why = "it makes up its own id: the latest of the work dir is taken up"),
		.verified = true,
		.why = "Codex CLI 0.171, run under bwrap with a scripted model",
	},
	{
		.name = "gemini",
		.command = "gemini",
		.skip_flags = NAMES("--yolo"),
		.roots = NAMES(".gemini"),
		.paths = PATHS(
			{ ".gemini/settings.json", EXEC, "names hooks and MCP servers" },
			{ ".gemini/.env", CRED, "keys" },
			{ ".gemini/GEMINI.md", CONFIG,
				"the user's standing instructions" },
			{ ".gemini/trustedFolders.json", EXEC,
				"decides whose settings are obeyed" },
			{ ".gemini/trusted_hooks.json", EXEC, "decides which hooks run" },
			{ ".gemini/extensions", EXEC,
				"extensions carry hooks and MCP servers" },
			{ ".gemini/policies", EXEC, "decides what runs unasked" },
			{ ".gemini/commands", EXEC, "commands may run shell text" },
			{ ".gemini/skills", EXEC, "skills carry scripts" },
			{ ".gemini/agents", EXEC, "sub-agents with their own tools" },
			{ ".gemini/oauth_creds.json", CRED, "login" },
			{ ".gemini/google_accounts.json", CRED,
				"which account is active" },
			{ ".gemini/gemini-credentials.json", CRED, "stored keys" },
			{ ".gemini/tmp", STATE, "chats and logs of this project",
				SBX_BY_MARKER },
			{ "/etc/gemini-cli", CONFIG, "the administrator's policy" }),
		.env = NAMES("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
			"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA",
			"GOOGLE_VERTEX_BASE_URL", "GEMINI_MODEL"),
		.set_env = SETS(
			{ "GEMINI_CLI_TRUST_WORKSPACE", "true",
				"without trust it refuses to work non-interactively (exit 55)" },
			{ "GEMINI_CLI_NO_RELAUNCH", "true",
				"its relauncher does not pass signals on" }),
		.resume = RESUME(.again = NAMES("--resume", "latest"),
			.own = NAMES(
				"--resume", "-r", "--list-sessions", "mcp", "extensions"),
			.kept_as = "session-*",
			.why = "it makes up its own id: the latest of the project is taken up"),
		.verified = true,
		.why = "Gemini CLI 0.61, run under bwrap with a scripted model",
	},
	{
		.name = "opencode",
		.command = "opencode",
		.skip_flags = NAMES("--auto"),
		.skip_behind = NAMES("run"), /* "opencode --auto run" prints its help */
		.roots = NAMES(".config/opencode", ".local/share/opencode",
			".local/state/opencode", ".cache/opencode"),
		.paths = PATHS({ ".config/opencode/opencode.json", EXEC,
				       "names MCP servers and plugins" },
			{ ".config/opencode/opencode.jsonc", EXEC, "as opencode.json" },
			{ ".config/opencode/config.json", EXEC, "as opencode.json" },
			{ ".config/opencode/AGENTS.md", CONFIG,
				"the user's standing instructions" },
			{ ".config/opencode/agent", EXEC,
				"sub-agents with their own tools" },
			{ ".config/opencode/command", EXEC,
				"commands may run shell text" },
			{ ".config/opencode/plugin", EXEC, "plugins are code" },
			{ ".local/share/opencode/auth.json", CRED, "keys and logins" },
			{ "/etc/opencode", CONFIG, "the administrator's policy" }),
		.env = NAMES("OPENCODE_CONFIG_CONTENT", "OPENCODE_PERMISSION",
			"OPENCODE_AUTH_CONTENT", "OPENROUTER_API_KEY", "GROQ_API_KEY"),
		.set_env = SETS({ "OPENCODE_DISABLE_AUTOUPDATE", "1",
			"the installation is read-only inside" }),
		.resume = RESUME(.again = NAMES("--continue"),
			.own = NAMES("--continue", "-c", "--session", "-s", "run", "auth",
				"serve"),
			.why = "only unsandboxed: its database is not kept in a sandbox"),
		.verified = true,
		.why = "opencode 1.18, run under bwrap with a scripted model; its session "
		       "database shares a directory with its keys, so sessions are not kept",
	},
	{
		.name = "agent",
		.command = "agent",
		.skip_flags = NAMES("--force"),
		.roots = NAMES(".cursor", ".config/cursor"),
		.paths = PATHS(
			{ ".cursor/cli-config.json", EXEC, "decides what runs unasked" },
			{ ".cursor/mcp.json", EXEC, "names MCP servers" },
			{ ".cursor/rules", CONFIG, "instructions" },
			{ ".cursor/chats", STATE, "transcripts" },
			{ ".config/cursor/cli-config.json", EXEC, "as above, under XDG" },
			{ ".config/cursor/auth.json", CRED, "login" }),
		.env = NAMES("CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"),
		.set_env = NO_SETS,
		.resume = RESUME(.again = NAMES("--continue"),
			.own = NAMES("--continue", "--resume", "resume", "ls", "login"),
			.why = "from its documentation: the latest conversation"),
		.verified = false,
		.why = "Cursor's CLI: from its public documentation, never run by us",
	},
	{
		.name = "kiro",
		.command = "kiro-cli",
		.skip_flags = NAMES("--trust-all-tools"),
		.skip_behind = NAMES("chat"),
		.roots = NAMES(".kiro", ".local/share/kiro-cli"),
		.paths = PATHS({ ".kiro/settings", EXEC, "names MCP servers" },
			{ ".kiro/agents", EXEC, "sub-agents and their hooks" },
			{ ".kiro/hooks", EXEC, "hooks" },
			{ ".kiro/steering", CONFIG, "instructions" },
			{ ".kiro/sessions/cli", STATE, "transcripts" },
			{ ".local/share/kiro-cli/data.sqlite3", CRED, "login" }),
		.env = NAMES("KIRO_API_KEY"),
		.set_env = NO_SETS,
		.resume = RESUME(.again = NAMES("chat", "--resume"),
			.own = NAMES("chat", "login"),
			.why = "from its documentation: the latest of the directory"),
		.verified = false,
		.why = "Kiro CLI: from its public documentation, never run by us; the flag "
		       "belongs to its chat subcommand",
	},
	{
		.name = "generic",
		.command = NULL,
		.skip_flags = NO_NAMES,
		.roots = NO_NAMES,
		.paths = NO_PATHS,
		.env = NO_NAMES,
		.set_env = NO_SETS,
		.verified = true,
		.why = "any command: no state, no keys",
	},
};
/* clang-format on */

static const char *const credential_dirs[] = {
	".ssh",
	".aws",
	".gnupg",
	".azure",
	".config/gcloud",
	".config/gh",
	".config/hub",
	".config/op",
	".docker",
	".kube",
	".password-store",
	".local/share/keyrings",
	".config/google-chrome",
	".config/chromium",
	".mozilla",
	".thunderbird",
	".cargo/credentials",
	".cargo/credentials.toml",
	".netrc",
	".npmrc",
	".pypirc",
	".git-credentials",
	".config/git/credentials",
	".terraform.d",
	".vault-token",
	/* no secrets, but the host runs what lies there */
	".config/autostart",
	".config/systemd",
	".local/bin",
	"bin",
	/* whoever writes there decides that a session is resumed without a sandbox */
	".local/state/sbx",
	NULL,
};

static const struct sbx_agent *table = agents;
static size_t n_table = SBX_ARRAY_SIZE(agents);

void sbx_agents_use(const struct sbx_agent *rows, size_t n)
{
	table = rows;
	n_table = n;
}

const struct sbx_agent *sbx_agents(size_t *ret_n)
{
	*ret_n = n_table;
	return table;
}

const struct sbx_agent *sbx_agent_find(const char *name)
{
	if (name == NULL)
		name = "generic";
	for (size_t i = 0; i < n_table; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

const char *sbx_path_mode_name(enum sbx_path_mode mode)
{
	static const char *const names[_SBX_PATH_MODE_MAX] = {
		[SBX_PATH_CONFIG] = "config",
		[SBX_PATH_EXEC] = "executable config",
		[SBX_PATH_CREDENTIAL] = "credential",
		[SBX_PATH_STATE] = "state",
		[SBX_PATH_COPY] = "private copy",
	};

	return (unsigned)mode < _SBX_PATH_MODE_MAX ? names[mode] : "?";
}

const char *const *sbx_credential_dirs(void)
{
	return credential_dirs;
}
