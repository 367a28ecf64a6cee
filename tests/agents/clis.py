"""The agents under test: how each is set up for a scripted model, called, and understood."""

import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


def pinned():
    """{name: (package, version)} of the file "versions"."""
    rows = {}
    for line in (HERE / "versions").read_text().splitlines():
        if line and not line.startswith("#"):
            name, package, version = line.split()
            rows[name] = (package, version)
    return rows


class Cli:
    """One agent. `row` is its name in sbx's table."""

    row = ""
    skip = ()  # what a user gives it to switch its prompts off; sbx adds it by itself
    key_name = ""
    key = ""
    settings = ""  # its own settings, below HOME, that name programs
    plant = ""  # a file below HOME that it would run or obey later
    transcripts = ""  # kept on the host
    resumes = True
    offline = re.compile("")  # what it says when the model cannot be reached
    refuses = {}  # {call: why}: what it does not do even when its prompts are off

    def __init__(self, path, node=None):
        self.path = pathlib.Path(path)  # the directory that holds the command
        self.node = node

    def search_path(self):
        return ":".join(str(p) for p in (self.path, self.node, "/usr/bin", "/bin") if p)

    def native(self, words):
        return [str(self.path / self.row), *self.skip, *words]

    def configure(self, home, url):
        """What a user who has set the agent up has in his home."""

    def environment(self, url):
        return {self.key_name: self.key}

    def strict_env(self, url):
        """What a user passes by name to a model that needs no login."""
        return self.environment(url)

    def words(self, prompt):
        raise NotImplementedError

    def resume(self, prompt):
        raise NotImplementedError

    def offline_words(self, prompt):
        """With what makes it say that there is no model."""
        return self.words(prompt)

    def secretive_words(self, prompt):
        """With the agent's own way to keep its key from its tools; None when it has none."""
        return None

    def strict_words(self, prompt, url):
        return self.words(prompt)

    def events(self, out):
        """What happened, event for event, without what differs from run to run."""
        raise NotImplementedError


def lines_of_json(out):
    return [json.loads(line) for line in out.splitlines() if line.strip()]


class Claude(Cli):
    row = "claude"
    skip = ("--dangerously-skip-permissions",)
    key_name = "ANTHROPIC_API_KEY"
    key = "sk-ant-fake-0a1b2c3d"
    settings = ".claude/settings.json"
    plant = ".claude/hooks/planted.sh"
    offline = re.compile("api_retry|ECONNREFUSED")
    transcripts = ".claude/projects"

    def configure(self, home, url):
        write(home / ".claude/settings.json", '{"cleanupPeriodDays": 99}\n')
        write(home / ".claude/hooks/mine.sh", "#!/bin/sh\n")
        (home / ".claude/projects").mkdir(parents=True)

    def environment(self, url):
        return {
            self.key_name: self.key,
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }

    def words(self, prompt):
        return ["-p", prompt, "--output-format", "stream-json", "--verbose"]

    def resume(self, prompt):
        return ["--continue", *self.words(prompt)]

    def events(self, out):
        kinds = []
        for event in lines_of_json(out):
            kind = event["type"] + "." + event.get("subtype", "")
            content = event.get("message", {}).get("content", [])
            if isinstance(content, list):
                kind += "".join("+" + block["type"] for block in content)
            kinds.append(kind)
        return kinds


class StandIn(Claude):
    """A small program that speaks claude's protocol, for machines without the real ones."""

    offline = re.compile("no model")

    def words(self, prompt):
        return ["-p", prompt]


class Codex(Cli):
    row = "codex"
    skip = ("--dangerously-bypass-approvals-and-sandbox",)
    key_name = "CODEX_API_KEY"
    key = "sk-fake-codex-4d5e6f"
    settings = ".codex/config.toml"
    plant = ".codex/skills/mine/SKILL.md"
    offline = re.compile("waiting for network|error sending request")
    transcripts = ".codex/sessions"
    provider = {"name": "mock", "wire_api": "responses", "request_max_retries": 0}

    def configure(self, home, url):
        rows = dict(self.provider, base_url=f"{url}/v1", env_key=self.key_name)
        rows["stream_max_retries"] = 1
        text = 'model = "mock"\nmodel_provider = "mock"\n[model_providers.mock]\n'
        text += "".join(f"{k} = {json.dumps(v)}\n" for k, v in rows.items())
        write(home / ".codex/config.toml", text)
        write(home / ".codex/skills/mine/SKILL.md", "---\nname: mine\ndescription: mine\n---\n")
        (home / ".codex/sessions").mkdir()

    def words(self, prompt):
        return ["exec", "--json", "--disable", "plugins", prompt]

    def resume(self, prompt):
        return ["exec", "--json", "--disable", "plugins", "resume", "--last", prompt]

    def secretive_words(self, prompt):
        return ["-c", 'shell_environment_policy.exclude=["*KEY*"]', *self.words(prompt)]

    def strict_env(self, url):
        return {}

    def strict_words(self, prompt, url):
        rows = dict(self.provider, base_url=f"{url}/v1", stream_max_retries=1)
        table = ", ".join(f"{k} = {json.dumps(v)}" for k, v in rows.items())
        options = ["model=mock", "model_provider=mock", f"model_providers.mock={{{table}}}"]
        return [w for o in options for w in ("-c", o)] + self.words(prompt)

    def events(self, out):
        kinds = []
        for event in lines_of_json(out):
            item = event.get("item", {})
            kinds.append(".".join([event["type"], item.get("type", "")]).strip("."))
        return kinds


class Gemini(Cli):
    row = "gemini"
    skip = ("--yolo",)
    key_name = "GEMINI_API_KEY"
    key = "AIza-fake-gemini-7a8b"
    settings = ".gemini/settings.json"
    plant = ".gemini/commands/planted.toml"
    offline = re.compile("fetch failed|ECONNREFUSED")
    transcripts = ".gemini/tmp"
    refuses = {
        "leak.aws": "its file tools know the work dir only",
        "other.write": "its file tools know the work dir only",
    }
    config = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "maxAttempts": 1},
    }

    def configure(self, home, url):
        write(home / ".gemini/settings.json", json.dumps(self.config) + "\n")
        write(home / ".gemini/commands/mine.toml", 'prompt = "mine"\n')
        (home / ".gemini/tmp").mkdir()

    def environment(self, url):
        return {
            self.key_name: self.key,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def words(self, prompt):
        return ["-p", prompt, "-o", "stream-json"]

    def resume(self, prompt):
        return ["--resume", "latest", *self.words(prompt)]

    def events(self, out):
        kinds = []
        for event in lines_of_json(out):
            kind = event["type"] + "." + event.get("role", event.get("status", ""))
            if kind != (kinds[-1] if kinds else None):  # a text may come in pieces
                kinds.append(kind)
        return kinds


class Opencode(Cli):
    row = "opencode"
    skip = ()  # behind the word "run", see words()
    key_name = "OPENCODE_CONFIG_CONTENT"
    key = "sk-fake-opencode-9c0d"
    settings = ".config/opencode/opencode.json"
    plant = ".config/opencode/plugin/planted.js"
    offline = re.compile("Unable to connect")
    transcripts = ".local/share/opencode"
    resumes = False  # its sessions lie in one database, beside its keys

    def configure(self, home, url):
        write(home / ".config/opencode/opencode.json", '{"autoupdate": false}\n')
        # with a plugin in it, every start waits 70 s for a package registry that is not there
        (home / ".config/opencode/plugin").mkdir()
        (home / ".local/share/opencode").mkdir(parents=True)

    def environment(self, url):
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": self.key},
            "models": {"mock": {"name": "mock"}},
        }
        config = {
            "model": "mock/mock",
            "small_model": "mock/mock",
            "share": "disabled",
            "provider": {"mock": provider},
        }
        return {self.key_name: json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def native(self, words):
        return [str(self.path / self.row), words[0], "--auto", *words[1:]]

    def words(self, prompt):
        return ["run", "--format", "json", prompt]

    def offline_words(self, prompt):
        return ["run", "--print-logs", "--format", "json", prompt]

    def resume(self, prompt):
        return ["run", "--continue", "--format", "json", prompt]

    def events(self, out):
        return [e["type"] + "." + e["part"].get("tool", "") for e in lines_of_json(out)]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


REAL = {cls.row: cls for cls in (Claude, Codex, Gemini, Opencode)}


def installed(cache):
    """{name: Cli} of the pinned agents that the cache directory holds."""
    found = {}
    rows = pinned()
    if not cache:
        return found

    def place(name):
        package, version = rows[name]
        root = pathlib.Path(cache) / re.sub(r"[^a-z0-9.-]+", "-", f"{package}-{version}").strip("-")
        return root / "node_modules/.bin"

    for name, cls in REAL.items():
        if (place(name) / name).exists() and (place("node") / "node").exists():
            found[name] = cls(place(name), place("node"))
    return found
