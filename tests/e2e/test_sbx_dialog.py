"""The New Session dialog in a real terminal: tmux types, and its screen is read."""

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

from conftest import write_program
from sbx_world import PASSED, ROOT, UID, World

DEADLINE = 20
NUMBERS = itertools.count()
CANCELLED = 130


# The pane's own shell says how it ended, and stays; tmux now and then misses that a child has.
WRAPPER = 'trap : INT; "$@"; echo $? >"$0.new"; mv "$0.new" "$0"; exec sleep infinity'


class Terminal:
    """A tmux server of its own with one pane in which a command runs."""

    def __init__(self, world, words, size=(80, 24), env=None, root=False):
        name = f"tmux-{next(NUMBERS)}"  # one that has been told to go may still be there
        self.socket, self.ended = world.root / name, world.root / f"{name}.status"
        full = world.env(**{"TERM": "tmux-256color", "SHELL": "/bin/sh", **(env or {})})
        become = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if ROOT and not root else []
        words = ["env", "-i", *(f"{k}={v}" for k, v in full.items()), *become, *map(str, words)]
        (world.root / "tmux.conf").write_text("set -g status off\nset -s escape-time 0\n")
        self.tmux("-f", world.root / "tmux.conf", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  "-c", world.work, shlex.join(["exec", "sh", "-c", WRAPPER, str(self.ended), *words]))

    def tmux(self, *args):
        return subprocess.run(
            ["tmux", "-S", self.socket, *args], capture_output=True, text=True, timeout=DEADLINE, check=True
        ).stdout

    def screen(self, *flags):
        """Its lines, those that were broken joined again."""
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane", "-pJ", *flags).split("\n"))

    def until(self, *words, absent=(), last=None):
        """Waits until all of them are on the screen, none of the others, and that line is the last; returns
        it. last is (number of lines, words)."""
        deadline = time.monotonic() + DEADLINE
        while True:
            screen = self.screen()
            if all(w in screen for w in words) and not any(w in screen for w in absent):
                lines = screen.rstrip("\n").split("\n")
                if last is None or (len(lines) == last[0] and last[1] in lines[-1]):
                    return screen
            assert time.monotonic() < deadline, f"no {words} in:\n{screen}"
            time.sleep(0.02)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def text(self, text):
        self.tmux("send-keys", "-l", text)

    def pid(self):
        """Of the command."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["ps", "-o", "pid=", "--ppid", shell], capture_output=True, check=True).stdout)

    def status(self):
        """The exit status, once it has ended."""
        deadline = time.monotonic() + DEADLINE
        while not self.ended.exists():
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.02)
        return int(self.ended.read_text())

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], stderr=subprocess.DEVNULL, check=False)


@pytest.fixture
def world(public_dir):
    world = World(public_dir)
    (world.work / ".git").mkdir()
    (world.work / "sub").mkdir()
    world.agent("codex", '#!/bin/sh\necho "codex ran in $(pwd): $@"\n')
    world.agent("gemini", '#!/bin/sh\necho "gemini ran in $(pwd): $@"\n')
    return world


@pytest.fixture
def terminal(world):
    made = []

    def make(*args, **kwargs):
        made.append(Terminal(world, [world.sbx, "session", "new", *args], **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.close()


def rows(world):
    result = world.run("session", "list", "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def focus(screen):
    """The label of the line that is marked."""
    return re.search(r"^> (\w+)", screen, re.M).group(1)


# ---- on a screen ----


def test_enter_takes_what_is_proposed(world, terminal):
    t = terminal()
    screen = t.until("New session", "ENTER start")
    # codex is the first agent that is found here
    assert re.search(r"Agent +< codex >", screen) and f"Directory  {world.work}" in screen
    assert re.search(r"Sandboxed +\[x\]", screen)
    assert re.search(r"Files +\(\*\) read-write +\( \) read-only", screen)
    assert re.search(r"Network +\(\*\) on +\( \) off", screen)
    assert focus(screen) == "Agent"
    t.keys("Enter")
    t.until(f"codex ran in {world.work}: --dangerously-bypass-approvals-and-sandbox")
    assert t.status() == 0
    (row,) = rows(world)
    assert row["agent"] == "codex" and row["status"] == 0 and row["workdir"] == str(world.work)
    assert row["sandbox"] == {"profile": "lenient", "fs": "rw", "net": "on", "binds": [], "env": [], "allow": [],
                              "skip_permissions": True}
    assert "\x1b[?1049h" not in t.screen("-e")


def test_everything_by_keys(world, terminal):
    t = terminal("--no-start", "--name", "one")
    t.until("ENTER start")
    t.keys("Right")
    t.until("< gemini >")
    t.keys("Tab")
    t.text("/sub")
    t.until("/sub")
    t.keys("Tab")
    t.until("> Sandboxed")
    t.keys("Tab", "Space")
    t.until("( ) read-write  (*) read-only")
    t.keys("Down", "Right")
    t.until("( ) on  (*) off")
    t.keys("Tab", "Tab", "BTab", "Space")
    assert t.status() == 0
    (row,) = rows(world)
    assert (row["agent"], row["name"], row["workdir"]) == ("gemini", "one", str(world.work / "sub"))
    assert row["sandbox"]["fs"] == "ro" and row["sandbox"]["net"] == "off"
    assert t.until(row["id"])


def test_backwards_and_up(world, terminal):
    t = terminal()
    assert focus(t.until("ENTER start")) == "Agent"
    t.keys("BTab", "BTab", "Up")
    t.until("> Network")
    t.keys("Up")
    t.until("> Files")
    t.keys("Escape")
    assert t.status() == CANCELLED


def test_the_switch_hides_what_it_switches_off(world, terminal):
    t = terminal()
    t.until("ENTER start")
    t.keys("Tab", "Tab", "Space")
    t.until("[ ]", "all of your files", "Start WITHOUT A SANDBOX", absent=("Network", "read-only"))
    t.keys("Enter")  # leads to the button, and no further
    t.until("Start WITHOUT", absent=("> Sandboxed",))
    assert rows(world) == []
    t.keys("Enter")
    t.until("RUNS WITHOUT A SANDBOX", f"codex ran in {world.work}:")
    assert t.status() == 0
    assert rows(world)[0]["sandbox"] is None


@pytest.mark.parametrize("path,words", [
    ("/nonexistent", "does not exist"),
    ("/", "root of the file system"),
    ("", "no directory is named"),
    ("~", "home directory"),
    ("/etc/passwd", "not a directory"),
])
def test_a_bad_directory_is_said_inline_and_nothing_is_lost(world, terminal, path, words):
    t = terminal("--no-start")
    t.until("ENTER start")
    t.keys("Right", "Tab", "C-u")
    t.text(path)
    t.keys("Tab", "Tab", "Space", "Enter")
    screen = t.until(words, "> Directory")
    assert "< gemini >" in screen and "(*) read-only" in screen and f"Directory  {path}".rstrip() in screen
    t.keys("C-u")
    t.text(str(world.work))
    t.until(str(world.work), absent=(words,))
    t.keys("Enter")
    assert t.status() == 0
    (row,) = rows(world)
    assert row["agent"] == "gemini" and row["sandbox"]["fs"] == "ro"


def test_an_agent_that_is_not_here(world, terminal):
    t = terminal()
    t.until("ENTER start")
    t.keys("Right", "Right")
    t.until("< claude >  not found on this machine")
    t.keys("Enter")
    t.until("claude was not found in PATH", "> Agent")
    t.keys("Escape")
    assert t.status() == CANCELLED and rows(world) == []


def test_any_command(world, terminal):
    t = terminal()
    t.until("ENTER start", absent=("Command",))
    t.keys("Left")
    t.until("< generic >", "Command")
    t.keys("Enter")
    t.until("generic needs a command", "> Command")
    t.text('echo "$((6 * 7)) it is"')
    t.keys("Enter")
    t.until("42 it is")
    assert t.status() == 0
    assert rows(world)[0]["args"] == ["sh", "-c", 'echo "$((6 * 7)) it is"']


@pytest.mark.parametrize("keys", [("Escape",), ("C-c",), ("BTab", "Enter"), ("BTab", "Space")])
def test_it_can_be_left_and_nothing_is_recorded(world, terminal, keys):
    t = terminal()
    t.until("ENTER start")
    t.keys("Right", "Left")
    for key in keys:
        t.keys(key)
    assert t.status() == CANCELLED
    t.until("sbx: nothing was recorded", absent=("New session",))
    assert not (world.home / ".local/state").exists()


@pytest.mark.parametrize("name,status", [("TERM", 143), ("HUP", 129), ("INT", 130)])
def test_a_signal_ends_it_and_the_terminal_is_as_before(world, terminal, name, status):
    t = terminal()
    t.until("ENTER start")
    os.kill(t.pid(), getattr(signal, "SIG" + name))
    assert t.status() == status
    t.until("nothing was recorded", absent=("New session",))


def test_the_keys_of_the_line(world, terminal):
    t = terminal()
    t.until("ENTER start")
    t.keys("Tab", "C-u")
    t.text("/aXc é d")
    t.keys("Home", "Right", "Right", "DC", "End", "BSpace", "Left", "BSpace")
    t.text("b")
    t.until("Directory  /ac b")
    t.keys("Escape")
    assert t.status() == CANCELLED


def test_a_long_path_scrolls(world, terminal):
    t = terminal(size=(50, 16))
    t.until("ENTER start")
    t.keys("Tab", "C-u")
    t.text("/begin" + "/x" * 40 + "/end")
    t.until("/x/end", absent=("/begin",))
    t.keys("Home")
    t.until("/begin/x", absent=("/end",))
    t.keys("Escape")
    assert t.status() == CANCELLED


def test_it_is_resized(world, terminal):
    t = terminal("--no-start")
    t.until("ENTER start")
    t.keys("Tab")
    t.text("/sub")
    t.until("/sub")
    for size in ((50, 16), (132, 50), (80, 24)):
        t.tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        t.until("New session", "> Directory", "/sub", "[ Start ]  [ Cancel ]", last=(size[1], "ESC leave"))
    t.tmux("resize-window", "-x", "49", "-y", "16")
    t.until("too small: 50x16 at least", absent=("New session",))
    t.keys("Enter", "x", "Tab")  # what is not seen is not done
    t.tmux("resize-window", "-x", "80", "-y", "15")
    t.until("too small")
    t.tmux("resize-window", "-x", "80", "-y", "24")
    t.until("New session", "> Directory", "/sub\n")
    t.keys("Enter")
    assert t.status() == 0
    assert rows(world)[0]["workdir"] == str(world.work / "sub")


def test_the_smallest_shows_everything(world, terminal):
    t = terminal("--bwrap", "/bin/false", size=(50, 16))
    screen = t.until("ESC leave", "cannot be had here", "[ Start WITHOUT A SANDBOX ]  [ Cancel ]")
    assert "To mend it" in screen
    t.keys("Escape")
    assert t.status() == CANCELLED
    t.close()
    t = terminal(size=(50, 16))
    screen = t.until("ESC leave")
    for words in ("(*) read-write  ( ) read-only", "(*) on  ( ) off", "[ Start ]  [ Cancel ]"):
        assert words in screen
    t.keys("Escape")
    assert t.status() == CANCELLED


def test_colors_are_for_those_who_want_them(world, terminal):
    color = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|4[0-7]|9[0-7])(?:;[0-9]+)*m")
    for value, wanted in ((None, True), ("", True), ("1", False)):
        t = terminal(env={} if value is None else {"NO_COLOR": value})
        t.until("ENTER start")
        t.keys("Tab", "C-u", "Enter")
        t.until("no directory is named")
        screen = t.screen("-e")
        assert bool(color.search(screen)) == wanted, repr(screen)
        assert "\x1b[" in screen  # what has the focus is still to be seen
        t.keys("Escape")
        assert t.status() == CANCELLED
        t.close()


# ---- no sandbox here ----


@pytest.mark.parametrize("how", ["no bwrap", "a bwrap that fails"])
def test_where_none_can_be_had_the_switch_is_off_and_says_why(world, terminal, how):
    complaint = "bwrap: No permissions to create new namespace"
    false = write_program(world.root / "false", f'#!/bin/sh\necho "{complaint}" >&2\nexit 1\n')
    bwrap = "/nonexistent" if how == "no bwrap" else false
    t = terminal("--bwrap", bwrap)
    screen = t.until("Sandboxed  [ ] cannot be had here:", absent=("Network",))
    doctor = world.run("doctor", "--json", "--bwrap", bwrap, "codex")
    checks = json.loads(doctor.stdout)["checks"]
    said = next(c for c in checks if c["name"] in ("sandbox", "bwrap") and c["status"] == "fail")
    assert said["what"].split()[0] in " ".join(screen.split())
    t.keys("Tab", "Tab", "Space")  # past the switch, to the button that says so
    t.until("RUNS WITHOUT A SANDBOX")
    assert t.status() == 0
    assert rows(world)[0]["sandbox"] is None


def test_where_none_can_be_had_a_promise_is_refused(world, terminal):
    t = terminal("--bwrap", "/nonexistent", "--profile", "strict")
    t.until("cannot be had here")
    t.keys("Enter", "Enter")
    t.until("a session without a sandbox cannot keep --profile")
    assert t.status() == 125 and rows(world) == []


# ---- plain questions ----


@pytest.mark.parametrize("why,kwargs", [
    ("dumb", {"env": {"TERM": "dumb"}}),
    ("unknown", {"env": {"TERM": "no-such-terminal"}}),
    ("empty", {"env": {"TERM": ""}}),
    ("narrow", {"size": (49, 24)}),
    ("low", {"size": (80, 15)}),
])
def test_plain_questions_where_there_is_no_screen(world, terminal, why, kwargs):
    t = terminal(**kwargs)
    t.until("Agent [codex]:", "codex* gemini*")
    t.text("clawd")
    t.keys("Enter")
    t.until("there is no agent 'clawd'")
    t.text("gemini")
    t.keys("Enter")
    t.until("Directory [")
    t.text("/nonexistent")
    t.keys("Enter")
    t.until("Sandboxed (yes, no) [yes]:")
    t.keys("Enter")
    t.until("(ro) [rw]:")
    t.text("read")
    t.keys("Enter")
    t.until("'rw' or 'ro', please")
    t.text("ro")
    t.keys("Enter")
    t.until("Network (on, off) [on]:")
    t.keys("Enter")
    t.until("does not exist", "Agent [gemini]:")
    t.keys("Enter")
    t.until("Directory [/nonexistent]:")
    t.text(str(world.work))
    t.keys("Enter", "Enter", "Enter", "Enter")
    t.until("(ro) [ro]:", "Start (yes, no) [yes]:")
    t.keys("Enter")
    t.until("gemini ran in")
    assert t.status() == 0
    (row,) = rows(world)
    assert row["agent"] == "gemini" and row["sandbox"]["fs"] == "ro" and row["workdir"] == str(world.work)
    assert "\x1b[7m" not in t.screen("-e")


@pytest.mark.parametrize("at", ["Agent", "Directory", "Sandboxed", "Start"])
@pytest.mark.parametrize("key", ["C-d", "C-c", "no"])
def test_the_questions_can_be_left(world, terminal, at, key):
    if key == "no" and at != "Start":
        return  # an answer there, not a way out
    t = terminal(env={"TERM": "dumb"})
    for question in ("Agent [", "Directory [", "Sandboxed (", "Files", "Network", "Start"):
        t.until(question)
        if question.startswith(at):
            break
        t.keys("Enter")
    t.keys(key, *(["Enter"] if key == "no" else []))
    assert t.status() == CANCELLED  # of Ctrl-C: 128 and the signal
    assert not (world.home / ".local/state").exists()
    if key != "C-c":
        t.until("nothing was recorded")


def test_without_a_sandbox_a_mere_enter_does_not_start(world, terminal):
    t = terminal("--bwrap", "/nonexistent", env={"TERM": "dumb"})
    t.until("Agent [")
    t.keys("Enter")
    t.until("Directory [")
    t.keys("Enter")
    t.until("No sandbox can be had here", "Start WITHOUT A SANDBOX (yes, no) [no]:")
    t.keys("Enter")
    t.until("nothing was recorded")
    assert t.status() == CANCELLED and rows(world) == []


# ---- who is asked ----


def test_nobody_is_asked_without_a_terminal(world):
    for kwargs in ({"input": "codex\n"}, {}):
        result = world.run("session", "new", **kwargs)
        assert result.returncode == 125 and "no agent is named" in result.stderr
        assert result.stdout == ""


def test_options_are_what_is_proposed(world, terminal):
    t = terminal("--fs", "ro", "--net", "off", "--workdir", "sub", "--no-start")
    t.until("Directory  sub", "(*) read-only", "(*) off")
    t.keys("Enter")
    assert t.status() == 0
    (row,) = rows(world)
    assert row["workdir"] == str(world.work / "sub") and row["sandbox"]["fs"] == "ro"


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_root_is_asked_and_becomes_the_owner(world, terminal):
    world.agent("codex", '#!/bin/sh\necho "$(id -u) $ANTHROPIC_API_KEY"\n')
    t = terminal("--as", str(UID), root=True)
    t.until("[x]", "ENTER start")
    t.keys("Escape")
    assert t.status() == CANCELLED
    t.close()
    t = terminal("--workdir", "/root", root=True, env={"PATH": f"{world.home}/.local/bin:/usr/bin:/bin"})
    t.until("[x]", "ENTER start", "/root")  # who root becomes depends on what is chosen
    t.keys("Enter")
    t.until("refused as root")
    assert PASSED not in t.screen()
    t.keys("C-c")
    assert t.status() == CANCELLED


# ---- resume on a terminal ----


def test_a_second_start_has_the_terminal_as_the_first_had(world):
    """The agent does not find its conversation, and is started anew, with keys and colors and size."""
    (world.home / ".claude/projects").mkdir(parents=True)
    world.agent("claude", """#!/bin/sh
case "$*" in *--resume*) echo "no conversation"; exit 1 ;; esac
stty size
read -r x && echo "got $x"
""")
    id = world.run("session", "new", "--no-start", "claude").stdout.strip()
    t = Terminal(world, [world.sbx, "session", "resume", id], size=(70, 20))
    try:
        t.until("no conversation", "starts anew", "20 70")
        t.text("this")
        t.keys("Enter")
        t.until("got this")
        assert t.status() == 0
    finally:
        t.close()
    assert rows(world)[0]["status"] == 0


def test_the_list_fits_a_narrow_terminal(world):
    """Nothing is cut off; a path goes on in the next line of its column."""
    deep = world.work / "a-rather-long-name" / "and-another-one-below-it"
    deep.mkdir(parents=True)
    world.own()
    assert world.run("session", "new", "--no-start", "--workdir", deep, "codex").returncode == 0
    t = Terminal(world, [world.sbx, "session", "list"], size=(90, 20))
    try:
        assert t.status() == 0
        t.until("WORK DIR", str(deep)[:12])
        screen = t.tmux("capture-pane", "-p")  # with the lines as they are broken
    finally:
        t.close()
    lines = screen.splitlines()
    column = lines[0].index("WORK DIR")
    assert "".join(line[column:].strip() for line in lines[1:]) == str(deep)
    assert all(line[:column].strip() == "" for line in lines[2:])
