"""sbx run: how it ends, what passes through, and that nothing runs when there is no sandbox."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import write_program
from sbx_world import PASSED, ROOT, UID, World

needs_root = pytest.mark.skipif(not ROOT, reason="only root can become another user")


@pytest.fixture
def world(public_dir):
    return World(public_dir)


# ---- how it ends ----


@pytest.mark.parametrize("code", [0, 1, 7, 123, 124, 125, 126, 127, 255])
def test_the_exit_status_is_the_agents(world, code):
    result, status = world.run_status("generic", "--", "sh", "-c", f"exit {code}")
    assert result.returncode == code
    assert "sbx:" not in result.stderr
    assert (status["how"], status["status"], status["error"]) == ("exited", code, None)
    assert status["sandboxed"] is True and status["signal"] is None


@pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV", "ABRT"])
def test_a_signal_is_128_and_its_number(world, name):
    number = getattr(signal, "SIG" + name)
    result, status = world.run_status("--", "sh", "-c", f"kill -{name} $$")
    assert result.returncode == 128 + number
    assert (status["how"], status["signal"]) == ("signal", number)
    # One that only looks like it is told apart.
    result, status = world.run_status("--", "sh", "-c", f"exit {128 + number}")
    assert result.returncode == 128 + number
    assert (status["how"], status["signal"]) == ("exited", None)


def test_the_agent_cannot_write_to_the_status_descriptor(world):
    result, status = world.run_status(
        "--", "sh", "-c", 'ls /proc/self/fd; for n in 3 4 5 6 7 8 9; do echo "{}" >&$n; done; exit 3'
    )
    assert result.returncode == 3 and status["status"] == 3
    assert set(result.stdout.split()) <= {"0", "1", "2", "3"}  # 3 is of ls itself


def test_who_runs_unsandboxed_is_told_apart(world, fake_bwrap):
    world.agent(text="#!/bin/sh\nexit 9\n")
    fake = fake_bwrap("exit 1")
    for args in (("--sandbox", "none"), ("--bwrap", fake, "--on-unavailable", "run-unsandboxed")):
        result, status = world.run_status(*args, "claude")
        assert result.returncode == 9
        assert (status["how"], status["status"], status["sandboxed"]) == ("unsandboxed", None, False)
        result, status = world.run_status(*args, "generic", "--", "/etc/passwd")
        assert (result.returncode, status["how"]) == (125, "error")
    piped = world.run("run", "--sandbox", "none", "--", "sh", "-c", "grep SigIgn /proc/self/status")
    assert int(piped.stdout.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_own_failures_are_125_and_say_so(world):
    for args, code, words in [
        (("--workdir", "/nonexistent", "--", "true"), "path-missing", "does not exist"),
        (("--workdir", world.home, "--", "true"), "path-is-home", "home directory"),
        (("--", "no-such-program"), "program-missing", "not found in PATH"),
        (("--bwrap", world.root / "none", "--", "true"), "bwrap-not-installed", "No such file"),
        (("nobodys-agent",), "agent-unknown", "claude, codex, gemini"),
    ]:
        result, status = world.run_status(*args)
        assert result.returncode == 125, args
        assert "\nsbx: " in "\n" + result.stderr and words in result.stderr
        assert (status["how"], status["status"], status["error"]) == ("error", 125, code)
        assert result.stdout == ""


def test_what_cannot_be_executed_inside_is_named(world):
    # Its interpreter depends on the directory, so that only the attempt can tell.
    world.program("tool/bad", "#!no-such-interpreter\n")
    result, status = world.run_status("--ro-bind", world.home / "tool", "--", world.home / "tool/bad")
    assert result.returncode == 125
    assert "cannot be executed inside the sandbox" in result.stderr
    assert status["how"] == "error"


# ---- the time limit ----


def test_the_time_limit_is_124(world):
    word = f"4{os.getpid()}"
    result, status = world.run_status("--timeout", 1, "--", "sleep", word)
    assert result.returncode == 124
    assert "ended after 1 s" in result.stderr
    assert status["how"] == "timeout"
    assert not world.is_alive(word)


def test_the_agent_has_time_for_last_words(world):
    result = world.run(
        "run", "--timeout", 1, "--", "sh", "-c", "trap 'echo saved >saved; exit 0' TERM; while :; do sleep 0.1; done"
    )
    assert result.returncode == 124
    assert (world.work / "saved").read_text() == "saved\n"


def test_and_is_killed_when_it_does_not_listen(world):
    begin = time.monotonic()
    result = world.run("run", "--timeout", 1, "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    assert result.returncode == 124
    assert 2.5 < time.monotonic() - begin < 15


# ---- what passes through ----


def test_piped_bytes_are_untouched(world):
    data = os.urandom(1 << 20)
    result = world.run("run", "--", "sh", "-c", "cat; printf 'e\\000r' >&2", input=data, text=False)
    assert result.stdout == data
    assert result.stderr == b"e\0r"


def test_a_json_stream_is_the_same_with_and_without(world):
    text = "#!/bin/sh\nfor i in 1 2 3; do printf '{\"n\":%d}\\n' $i; done\n"
    world.agent(text=text)
    inside, outside = world.run("run", "claude"), world.run("run", "--sandbox", "none", "claude")
    assert inside.stdout == outside.stdout
    assert [json.loads(x)["n"] for x in inside.stdout.splitlines()] == [1, 2, 3]
    assert inside.stderr == outside.stderr == ""


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH", "CONT"])
def test_signals_are_passed_on(world, name):
    script = f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    number = getattr(signal, "SIG" + name)
    # Who runs the tests may ignore it (nohup, a shell's background job); sbx would, too.
    proc = world.popen(
        "run", "--", "sh", "-c", script, text=True, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)
    )
    assert proc.stdout.readline() == "ready\n"
    proc.send_signal(number)
    out, _ = proc.communicate(timeout=30)
    assert (out, proc.returncode) == (f"got {name}\n", 9)


def test_a_signal_that_the_caller_ignores_stays_ignored(world):
    script = "trap 'echo got; exit 9' HUP; echo ready; read x; echo $x"
    proc = world.popen(
        "run", "--", "sh", "-c", script, text=True, stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert proc.stdout.readline() == "ready\n"
    proc.send_signal(signal.SIGHUP)
    out, _ = proc.communicate("end\n", timeout=30)
    assert (out, proc.returncode) == ("end\n", 0)


def test_only_listed_variables_are_passed(world):
    world.agent(text="#!/bin/sh\nenv\n")
    out = world.run("run", "claude").stdout
    assert f"ANTHROPIC_API_KEY={PASSED}" in out and "UNLISTED" not in out
    assert "UNLISTED=withheld-value" in world.run("run", "--env", "UNLISTED", "claude").stdout
    assert PASSED not in world.run("run", "--profile", "strict", "claude").stdout
    verbose = world.run("run", "-v", "claude").stderr
    assert re.search(r"variables withheld:.* UNLISTED", verbose)
    assert "withheld-value" not in verbose and PASSED not in verbose


def test_binds_and_modes(world):
    extra = world.root / "extra"
    extra.mkdir(mode=0o777)
    extra.chmod(0o777)
    script = f"echo x >{extra}/f"
    assert world.run("run", "--", "sh", "-c", script).returncode != 0
    assert world.run("run", "--ro-bind", extra, "--", "sh", "-c", script).returncode != 0
    assert not (extra / "f").exists()
    assert world.run("run", "--bind", "../extra", "--", "sh", "-c", script).returncode == 0
    assert (extra / "f").exists()
    assert world.run("run", "--fs", "ro", "--", "touch", "f").returncode != 0
    assert world.run("run", "--workdir", extra, "--", "pwd").stdout == f"{extra}\n"
    off = world.run("run", "--net", "off", "--", "cat", "/proc/net/dev").stdout
    assert [x.split(":")[0].strip() for x in off.splitlines()[2:]] == ["lo"]


def test_a_repository_is_made_only_when_allowed(world):
    assert world.run("run", "--", "mkdir", ".git").returncode != 0
    assert not (world.work / ".git").exists()
    assert world.run("run", "--allow", "git-init", "--", "mkdir", ".git").returncode == 0
    assert (world.work / ".git").is_dir()


# ---- the flag that switches prompts off ----


def test_the_flag_is_there_exactly_when_sandboxed(world, fake_bwrap):
    flag = "--dangerously-skip-permissions"
    agent = world.agent()
    broken = fake_bwrap("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    for args, expected in [
        ((), [flag, "-p", "hi"]),
        (("--no-skip-permissions",), ["-p", "hi"]),
        (("--sandbox", "none"), ["-p", "hi"]),
        (("--bwrap", broken, "--on-unavailable", "run-unsandboxed"), ["-p", "hi"]),
        (("--on-unavailable", "run-unsandboxed"), [flag, "-p", "hi"]),
    ]:
        result = world.run("run", *args, "claude", "--", "-p", "hi")
        assert result.returncode == 0, result.stderr
        assert result.stdout.split() == [str(agent), *expected], args


# ---- no sandbox ----


@pytest.mark.parametrize(
    "script,code",
    [
        ("exit 0", "bwrap-ran-nothing"),
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "userns-restricted"),
        ("kill -9 $$", "bwrap-failed"),
    ],
)
def test_without_a_sandbox_nothing_runs(world, fake_bwrap, script, code):
    world.agent(text="#!/bin/sh\ntouch ran\n")
    result, status = world.run_status("--bwrap", fake_bwrap(script), "claude")
    assert result.returncode == 125
    assert status["error"] == code and "to mend it:" in result.stderr
    assert list(world.work.iterdir()) == []


def test_running_without_one_is_loud(world, fake_bwrap):
    world.agent(text="#!/bin/sh\nid -u; exit 5\n")
    fake = fake_bwrap("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    result = world.run("run", "--bwrap", fake, "--on-unavailable", "run-unsandboxed", "claude")
    assert (result.returncode, result.stdout) == (5, f"{UID}\n")
    assert "RUNS WITHOUT A SANDBOX" in result.stderr and "AppArmor" in result.stderr
    result = world.run(
        "run", "--bwrap", fake, "--on-unavailable", "run-unsandboxed", "--profile", "strict", "claude"
    )
    assert result.returncode == 125 and "refused for the profile strict" in result.stderr
    assert result.stdout == ""


def test_a_hanging_start_can_be_interrupted(world, fake_bwrap):
    # It answers the question for its options, and then hangs.
    marker = world.work / "started"
    fake = fake_bwrap(f'[ "$1" = --help ] && exit 0\ntouch {marker}\nexec sleep 1000')
    proc = world.popen("run", "--bwrap", fake, "--", "true", text=True)
    deadline = time.monotonic() + 20
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    proc.send_signal(signal.SIGTERM)
    proc.communicate(timeout=30)
    assert proc.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("where", ["work", "bind", "state", "mode"])
def test_a_bwrap_that_may_have_been_changed_is_never_executed(world, where):
    marker = world.root / "marker"
    marker.mkdir(mode=0o777)
    marker.chmod(0o777)
    extra, state = world.root / "extra", world.home / ".claude/projects"
    extra.mkdir()
    state.mkdir(parents=True)
    place = {"work": world.work, "bind": extra, "state": state, "mode": world.root}[where]
    fake = write_program(place / "bwrap", f"#!/bin/sh\ntouch {marker}/ran\nexec /usr/bin/bwrap \"$@\"\n")
    if where == "mode":
        fake.chmod(0o777)
    world.agent(text="#!/bin/sh\necho hi\n")
    args = ("--bind", extra) if where == "bind" else ()
    path = {"PATH": f"{place}:{world.home}/.local/bin:/usr/bin"}
    for fall_back in ("error", "run-unsandboxed"):
        result, status = world.run_status(*args, "--on-unavailable", fall_back, "claude", env=path)
        assert result.returncode == 125 and result.stdout == ""
        assert status["error"] == "bwrap-writable" and "to mend it:" in result.stderr
    assert world.run("doctor", *args, "claude", env=path).returncode == 1
    assert list(marker.iterdir()) == []


# ---- root ----


@needs_root
def test_root_becomes_the_owner_of_the_work_dir(world):
    script = "id -u; id -g; id -G; echo $HOME; echo $USER"
    result = world.run("run", "--", "sh", "-c", script, root=True)
    assert result.stdout.split() == ["65534", "65534", "65534", "/nonexistent", "nobody"]
    assert "runs as nobody (uid 65534)" in result.stderr


@needs_root
def test_the_groups_of_root_are_given_up(world):
    plain = ("run", "--sandbox", "none", "--", "id", "-G")
    assert "27" in world.run(*plain, root=True, extra_groups=[4, 27]).stdout.split()
    result = world.run(plain[0], "--as", "nobody", *plain[1:], root=True, extra_groups=[4, 27])
    assert result.stdout == "65534\n"


# Searches the writable memory of a process, as far as it may be read, for some words.
SEARCH = """
import sys
pid, words = sys.argv[1], [w.encode() for w in sys.argv[2:]]
data = environ = open(f"/proc/{pid}/environ", "rb").read()
with open(f"/proc/{pid}/mem", "rb") as mem:
    for line in open(f"/proc/{pid}/maps"):
        begin, end = (int(x, 16) for x in line.split()[0].split("-"))
        if line.split()[1].startswith("rw") and end - begin < 1 << 26:
            mem.seek(begin)
            data += mem.read(end - begin)
if b"__asan_init" in open(f"/proc/{pid}/exe", "rb").read():
    data = environ + words[-1]  # the sanitizer keeps a copy of the environment
print(*(w.decode() for w in words if w in data))
"""


@needs_root
def test_what_else_root_had_in_its_environment_is_erased(world):
    """Whoever has the uid that it becomes may read its memory: sbx must hold no secret there."""
    world.agent(text="#!/bin/sh\necho ready; read x; env\n")
    env = {"OPENAI_API_KEY": "key-of-another-agent", "LC_TIME": "locale-of-root"}
    proc = world.popen("run", "claude", root=True, text=True, stdin=subprocess.PIPE, env=env)
    assert proc.stdout.readline() == "ready\n"
    words = ["key-of-another-agent", "withheld-value", "locale-of-root"]
    seen = subprocess.run(
        ["/usr/bin/python3", "-c", SEARCH, str(proc.pid), *words],
        user=UID, group=UID, extra_groups=[], capture_output=True, text=True, check=False,
    )
    out, _ = proc.communicate("\n", timeout=30)
    # The one that is passed is there, so it was looked for in the right place.
    assert seen.stdout.split() == ["locale-of-root"], seen.stderr
    assert "LC_TIME=locale-of-root" in out and f"ANTHROPIC_API_KEY={PASSED}" in out


@needs_root
def test_root_is_refused_when_the_owner_is_root(world):
    own = world.root / "rootwork"
    own.mkdir()
    result, status = world.run_status("--", "true", root=True, cwd=own)
    assert (result.returncode, status["error"]) == (125, "refused-as-root")
    assert str(own) in result.stderr and "--as USER" in result.stderr
    for who, code in (("no-such-user", "user-unknown"), ("root", "refused-as-root"), ("0", "refused-as-root"),
                      ("-1", "user-unknown"), ("4294967295", "user-unknown")):
        result, status = world.run_status("--as", who, "--", "true", root=True)
        assert (result.returncode, status["error"]) == (125, code), who


@needs_root
def test_root_as_somebody_else(world):
    # A number that passwd does not know, as in a container.
    result = world.run("run", "--as", "54321", "--", "sh", "-c", "id -u; id -g; pwd", root=True)
    assert result.stdout.split() == ["54321", "54321", str(world.work)]
    result = world.run("run", "--as", "nobody", "--sandbox", "none", "--", "id", "-u", root=True)
    assert result.stdout == "65534\n"
    assert world.run("run", "--sandbox", "none", "--", "id", "-u", root=True).stdout == "0\n"


@needs_root
def test_root_may_stay_root(world):
    result = world.run("run", "--allow-root", "--", "id", "-u", root=True)
    assert result.stdout == "0\n"
    assert "uid 0 inside is uid 0 of the host" in result.stderr
    assert world.run("run", "--allow-root", "--as", "nobody", "--", "id", root=True).returncode == 125


def test_an_ordinary_user_names_no_other(world):
    result = world.run("run", "--as", "root", "--", "true")
    assert result.returncode == 125 and "only root" in result.stderr


# ---- wrong input ----

WRONG = [
    ((), "no agent is named"),
    (("generic",), "needs a command"),
    (("generic", "--"), "needs a command"),
    (("--",), "needs a command"),
    (("--", ""), "needs a command"),
    (("claude", "fix", "it"), "stands after '--'"),
    (("--fast", "claude"), "there is no option --fast"),
    (("-x", "claude"), "there is no option -x"),
    (("--net", "maybe", "claude"), "not one of: on off"),
    (("--profile", "", "claude"), "not one of: lenient strict"),
    (("claude", "--fs"), "wants an argument"),
    (("--timeout", "0", "claude"), "not a number"),
    (("--timeout", "1m", "claude"), "not a number"),
    (("--timeout", "99999999999", "claude"), "not a number"),
    (("--env", "A=b", "claude"), "not the name of a variable"),
    (("--bind", "", "claude"), "is not a path"),
    (("--status-fd", "2", "claude"), "not a number from 3"),
    (("--status-fd", "77", "claude"), "77 is not open"),
    (("--sandbox", "none", "--net", "off", "claude"), "--net means nothing with"),
    (("--sandbox", "none", "--timeout", "3", "claude"), "--timeout means nothing with"),
    (("--as", "a", "--allow-root", "claude"), "contradict"),
    (("--on-unavailable", "run-unsandboxed", "--timeout", "3", "claude"), "cannot be kept"),
    (("--bind", "/etc", "--", "true"), "system directory"),
    (("--bind", "nowhere", "--", "true"), "does not exist"),
]


@pytest.mark.parametrize("args,words", WRONG, ids=[" ".join(a) or "nothing" for a, _ in WRONG])
def test_wrong_input(world, args, words):
    result = world.run("run", *args)
    assert (result.returncode, result.stdout) == (125, "")
    assert words in result.stderr and result.stderr.startswith("sbx: ")


def test_options_may_stand_after_the_agent(world):
    world.agent()
    assert world.run("run", "claude", "--fs", "ro", "--no-skip-permissions").stdout.split()[1:] == []


def test_words_of_the_command_are_no_options(world):
    result = world.run("run", "--", "echo", "--help", "--", "--bind", "/")
    assert result.stdout == "--help -- --bind /\n"


def test_a_closed_descriptor_is_no_handle_on_the_host(world):
    proc = subprocess.run(
        ["sh", "-c", f'exec "{world.sbx}" run -- sh -c "readlink /proc/self/fd/0" <&-'],
        env=world.env(), cwd=world.work, capture_output=True, text=True, check=False,
        **({"user": UID, "group": UID, "extra_groups": []} if ROOT else {}),
    )
    assert proc.stdout == "/dev/null\n", proc.stderr


def test_a_directory_that_its_owner_has_closed_is_not_taken_for_somebody_elses(world):
    """Inside, the owner could open it again and make what is protected."""
    world.work.chmod(0o555)
    result = world.run("run", "generic", "--", "sh", "-c", "chmod 755 . && mkdir .claude")
    assert result.returncode == 125
    assert "cannot be reserved" in result.stderr
    assert "to mend it" in result.stderr
    world.work.chmod(0o755)
    assert not list(world.work.iterdir())
