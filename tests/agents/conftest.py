"""The scene that the agents are let loose on, and the ways to let them.

SBX_BUILD names the build directory, SBX_AGENTS_CACHE where ci/agents has installed the real
agents; without it the stand-in is the only one. Every test runs in the namespace of namespace.py.
"""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import clis  # noqa: E402
import models  # noqa: E402
import namespace  # noqa: E402
import scripts  # noqa: E402
import table  # noqa: E402
from clis import wait_until  # noqa: E402
from terminal import Terminal  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SBX_BUILD", HERE.parents[1] / "build")).resolve()
ROOT = os.getuid() == 0
UID = 65534 if ROOT else os.getuid()
TIMEOUT = 240  # of one run of an agent, on a busy machine
REQUIRED = os.environ.get("SBX_AGENTS") == "1"
# For the gate, which has no time for more than two real agents, and less than a minute for those.
FEW = os.environ.get("SBX_AGENTS_FEW") == "1"
FEW_AGENTS = ("claude", "codex")
FEW_TESTS = (
    "test_control_without_a_sandbox",
    "test_nothing_gets_through[claude-lenient-rw",
    "test_nothing_gets_through[codex-lenient-rw",
    "test_a_second_run_resumes_the_first",
)
HOMES = []  # where namespace.enter() has made room for homes
FOUND = clis.installed(os.environ.get("SBX_AGENTS_CACHE"))


def pytest_configure(config):
    # A run that is ended by a timeout must end the daemons that it has started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "having(name): for agents of which that is true")
    if REQUIRED and sorted(FOUND) != sorted(clis.REAL):
        pytest.exit(f"not installed: {sorted(set(clis.REAL) - set(FOUND))}; run ci/agents", 4)
    needed = [HERE, BUILD, *(cli.path.resolve() for cli in FOUND.values())]
    HOMES.append(namespace.enter(needed))


def pytest_generate_tests(metafunc):
    if "cli_name" in metafunc.fixturenames:
        metafunc.parametrize("cli_name", ["stand-in", *FOUND], scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """A test is about the agents that have what its mark "having" names."""
    kept, left_out = [], []
    for item in items:
        mark = item.get_closest_marker("having")
        name = item.callspec.params["cli_name"] if hasattr(item, "callspec") else "stand-in"
        fits = mark is None or getattr(clis.KNOWN[name], mark.args[0])
        if FEW and name != "stand-in":
            fits = fits and name in FEW_AGENTS and item.name.startswith(FEW_TESTS)
        (kept if fits else left_out).append(item)
    items[:] = sorted(kept, key=lambda item: item.path.name == "test_table.py")
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter):
    if table.SEEN:
        terminalreporter.section("what came through: without a sandbox, and with sbx")
        for line in table.lines():
            terminalreporter.write_line(line)


def as_user(command, **kwargs):
    """Runs a command as an ordinary user, whoever runs the tests."""
    who = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
    return subprocess.Popen(command, start_new_session=True, **who, **kwargs)


class Done:
    """How a run ended."""

    def __init__(self, status, out, err, seconds):
        self.status = status
        self.out = out
        self.err = err
        self.seconds = seconds

    def __repr__(self):
        return f"status {self.status} after {self.seconds:.1f} s\n{self.out[-1500:]}\n{self.err[-1500:]}"


def finish(process, timeout=TIMEOUT):
    start = time.monotonic()
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += f"\nended by the test after {timeout} s\n".encode()
    text = [b.decode(errors="replace") for b in (out, err)]
    return Done(process.returncode, *text, time.monotonic() - start)


@pytest.fixture(scope="session")
def place():
    """A directory in which homes can be made that an ordinary user reaches."""
    if HOMES[0]:
        path = HOMES[0] / "tests"
        path.mkdir(mode=0o755)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="sbx-agents-", dir="/var/tmp") as name:
        yield pathlib.Path(name)


@pytest.fixture(scope="session")
def sbx(place):
    """The built sbx, where an ordinary user can execute it."""
    path = place / "sbx"
    shutil.copy(BUILD / "cli/sbx", path)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def clis_by_name(place):
    """The agents, where an ordinary user can execute them."""
    directory = place / "standin"
    directory.mkdir()
    shutil.copy(HERE / "standin.py", directory / "claude")
    (directory / "claude").chmod(0o755)
    found = {"stand-in": clis.StandIn(directory)}
    if FOUND and ROOT:
        cache = place / "agents"
        cache.mkdir()
        subprocess.run(["mount", "--bind", os.environ["SBX_AGENTS_CACHE"], cache], check=True)
        found.update(clis.installed(cache))
    else:
        found.update(FOUND)
    return found


@pytest.fixture
def cli(cli_name, clis_by_name):
    return clis_by_name[cli_name]


class Scene:
    """A home with secrets, a project, the project next to it, and a process of the user's."""

    def __init__(self, root, cli):
        self.cli = cli
        self.root = root
        self.home = root / "home"
        self.work = self.home / "src/project"
        self.other = self.home / "src/other"
        self.outside = root / "outside"
        nonce = secrets.token_hex(8)
        names = ("ssh", "aws", "other", "gh", "environment", "source")
        self.secrets = {n: f"secret-{n}-{nonce}" for n in names}
        self._fill()
        self.bystander = None
        self.terminals = []
        self.host_side = None

    def _fill(self):
        s = self.secrets
        for path, text in (
            (self.home / ".bashrc", "# mine\n"),
            (self.home / ".gitconfig", "[user]\n\tname = U\n\temail = u@example.org\n"),
            (self.home / ".ssh/id_rsa", s["ssh"] + "\n"),
            (self.home / ".ssh/authorized_keys", "# mine\n"),
            (self.home / ".aws/credentials", s["aws"] + "\n"),
            (self.home / ".config/gh/hosts.yml", s["gh"] + "\n"),
            (self.other / "notes.txt", s["other"] + "\n"),
            (self.work / "source.txt", s["source"] + "\n"),
            (self.work / ".claude/settings.json", "{}\n"),
            (self.work / ".mcp.json", '{"mcpServers": {}}\n'),
            (self.work / ".gemini/settings.json", json.dumps(clis.Gemini.config) + "\n"),
            (self.work / ".opencode/.gitignore", "*\n"),
        ):
            clis.write(path, text)
        (self.work / ".codex").mkdir()
        self.outside.mkdir()
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)

    def start(self, url):
        """Configures the agent, gives all to the user, and starts the bystander."""
        self.cli.configure(self.home, url)
        self.own()
        self.bystander = as_user(["/bin/sleep", "600"])

    def own(self):
        """Gives all of it to the user."""
        for path in [self.root, *self.root.rglob("*")]:
            os.chown(path, UID, UID, follow_symlinks=False)

    def running(self, word=""):
        """Numbers of the processes with this home, and with the word on their command line."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environ = (path / "environ").read_bytes().split(b"\0")
                if f"HOME={self.home}".encode() in environ:
                    if word.encode() in (path / "cmdline").read_bytes():
                        found.append(int(path.name))
            except OSError:  # gone meanwhile, or not ours to read
                pass
        return found

    def stop(self):
        """Ends everything that was started in this home, daemons included."""
        if self.bystander:
            self.bystander.kill()
            self.bystander.wait()

        def ended():
            left = self.running()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left

        wait_until(ended, "what was started ends")
        while self.terminals:
            self.forget(self.terminals[0])

    def names(self):
        return {
            "home": self.home,
            "work": self.work,
            "other": self.other,
            "outside": self.outside,
            "pid": self.bystander.pid,
            "settings": self.cli.settings,
            "plant": self.cli.plant,
        }

    def script(self, calls):
        return [scripts.fill(c, self.names()) for c in calls]

    def happened(self, call, model):
        """What the host, or the model, saw of a call."""
        kind, *rest = call.evidence
        if kind == "heard":
            return model.heard(self.secrets[rest[0]])
        if kind == "gone":
            return self.bystander.poll() is not None
        path = pathlib.Path(rest[0].format(**self.names()))
        return path.exists() and scripts.MARK in path.read_text(errors="replace")

    def environ(self, more):
        return {
            "HOME": str(self.home),
            "PATH": self.cli.search_path(),
            "USER": "user",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SECRET_TOKEN": self.secrets["environment"],
            **more,
        }

    def _begin(self, command, more):
        pipes = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        return as_user(command, cwd=self.work, env=self.environ(more), **pipes)

    def native(self, words, url, timeout=TIMEOUT):
        """The agent as it would run without a sandbox, its prompts off."""
        return finish(self._begin(self.cli.native(words), self.cli.environment(url)), timeout)

    def begin_plain(self, words, url):
        """As native(), without the flags that switch prompts off."""
        return self._begin([str(self.cli.path / self.cli.row), *words], self.cli.environment(url))

    def terminal(self, command, url):
        """A command on a terminal; it ends with the scene."""
        who = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
        env = self.environ(self.cli.environment(url))
        self.terminals.append(Terminal(command, cwd=self.work, env=env, **who))
        return self.terminals[-1]

    def forget(self, terminal):
        self.terminals.remove(terminal)
        terminal.close()

    def begin_boxed(self, sbx, words, url, *options, env=None):
        command = [str(sbx), "run", *options, self.cli.row, "--", *words]
        more = self.cli.environment(url) if env is None else env
        return self._begin(command, more)

    def boxed(self, *args, timeout=TIMEOUT, **kwargs):
        return finish(self.begin_boxed(*args, **kwargs), timeout)


@pytest.fixture
def model():
    with models.Model() as m:
        yield m
    assert m.errors == []


@pytest.fixture
def scene(place, cli, model):
    with tempfile.TemporaryDirectory(prefix="scene-", dir=place) as name:
        root = pathlib.Path(name)
        root.chmod(0o755)
        s = Scene(root, cli)
        s.start(model.url)
        yield s
        s.stop()


@pytest.fixture
def deputy(scene, model):
    """A scene beside which the agent's host side runs and waits for orders."""
    scene.host_side = scene.cli.begin_host_side(scene, model)
    return scene


@pytest.fixture
def note(cli_name):
    """note(call, arm, happened) is a row of the table at the end."""

    def row(call, arm, happened):
        table.SEEN.setdefault(call.name, {}).setdefault(cli_name, {})[arm] = happened

    return row
