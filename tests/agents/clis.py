"""The agents under test: how each is set up for a scripted model, called, and understood."""

import json
import pathlib
import re
import socket
import time

import models

HERE = pathlib.Path(__file__).resolve().parent


def wait_until(true, what, seconds=180):
    """Polls: what is waited for is done by processes that tell nobody."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


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
    keeps_key = False  # from its shell's environment, by the flags of its row
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

    def strict_words(self, prompt, url):
        return self.words(prompt)

    # What of the agent runs on the host and takes orders from the agent's own command line:
    deputy = False
    by_network = False  # by a port of loopback
    daemon = ""  # a word of its command line, when its terminal form looks for one in /tmp
    order_options = ()  # of sbx, for order()

    def begin_host_side(self, scene, model):
        """Starts it, and waits until it takes orders."""
        raise NotImplementedError

    def order(self, text):
        """Words that give it an order."""
        raise NotImplementedError

    def order_natively(self, text):
        return self.order(text)

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


    deputy = True

    def begin_host_side(self, scene, model):
        """The daemon is started by the first order that it gets."""
        known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        config = {
            "hasCompletedOnboarding": True,
            "bypassPermissionsModeAccepted": True,
            "projects": {str(scene.work): known},
            "customApiKeyResponses": {"approved": [self.key[-20:]]},
        }
        write(scene.home / ".claude.json", json.dumps(config))
        scene.own()
        first = scene.outside / "first"
        model.orders[b"first-order"] = [{"tool": "shell", "command": f"echo done > {first}"}]
        order = scene.begin_plain(self.order_natively("first-order"), model.url)
        out, err = order.communicate(timeout=60)
        assert order.returncode == 0, (out, err)
        wait_until(first.exists, (out, err))

    def order(self, text):
        return ["--bg", text]

    def order_natively(self, text):
        return [*self.skip, "--bg", text]


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

    deputy = True
    keeps_key = True
    order_options = ("--no-skip-permissions",)  # queue does not know the flag
    daemon = "app-server"

    def begin_host_side(self, scene, model):
        """An open session in a terminal, which starts a daemon in /tmp, too."""
        with open(scene.home / ".codex/config.toml", "a", encoding="utf-8") as f:
            f.write("[features]\nplugins = false\n")
            f.write(f'[projects."{scene.work}"]\ntrust_level = "trusted"\n')
        tui = scene.terminal(self.native([]), model.url)
        self.say(tui, "hello")
        sessions = scene.home / self.transcripts
        wait_until(lambda: list(sessions.rglob("*.jsonl")), tui.text)
        name = next(sessions.rglob("*.jsonl")).stem
        self.thread = name[-36:]
        wait_until(lambda: models.DONE in tui.text, tui.text)
        return tui

    def say(self, tui, text):
        wait_until(lambda: "Ask Codex to do anything" in tui.text, "codex starts: " + tui.text)
        tui.type(text)
        wait_until(lambda: text in tui.text, "codex shows what is typed: " + tui.text)
        tui.type("\r")

    def order(self, text):
        return ["queue", "--thread", self.thread, "--message", text]

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

    deputy = True
    by_network = True

    def begin_host_side(self, scene, model):
        """A server; free_port() is free in a namespace where nobody else is."""
        self.port = free_port()
        words = ["serve", "--hostname", "127.0.0.1", "--port", str(self.port)]
        server = scene.begin_plain(words, model.url)
        wait_until(lambda: listens(self.port), "opencode serves")
        return server

    def order(self, text):
        return ["run", "--attach", f"http://127.0.0.1:{self.port}", text]

    def order_natively(self, text):
        return ["run", "--auto", *self.order(text)[1:]]

    def resume(self, prompt):
        return ["run", "--continue", "--format", "json", prompt]

    def events(self, out):
        return [e["type"] + "." + e["part"].get("tool", "") for e in lines_of_json(out)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


REAL = {cls.row: cls for cls in (Claude, Codex, Gemini, Opencode)}
KNOWN = {"stand-in": StandIn, **REAL}


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
