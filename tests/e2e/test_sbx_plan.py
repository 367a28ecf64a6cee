"""sbx plan shows what sbx run hands to bwrap, and can be pasted."""

import json
import re
import shlex
import subprocess

import pytest

from conftest import BWRAP, write_program
from sbx_world import PASSED, ROOT, UID, World


@pytest.fixture
def world(public_dir):
    world = World(public_dir)
    (world.home / ".claude" / "projects").mkdir(parents=True)
    (world.home / ".claude.json").write_text("{}")
    (world.home / ".gitconfig").write_text("[user]\n")
    (world.work / ".git" / "hooks").mkdir(parents=True)
    world.program(
        ".local/share/claude/versions/2.1/claude", '#!/bin/sh\necho "$0" "$@"\n', link=".local/bin/claude"
    )
    return world


@pytest.fixture
def recorder(world):
    """A bwrap that writes what it was handed: descriptors by what is behind them."""
    out = world.root / "record"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    fake = write_program(
        world.root / "bwrap",
        f"""\
        #!/usr/bin/python3 -IS
        import json, os, sys
        if sys.argv[1] != "--args":
            os.execv({BWRAP!r}, sys.argv)
        if os.path.exists({str(out / "json")!r}):
            sys.exit(1)  # the second start only asks why the first failed
        options = os.read(int(sys.argv[2]), 1 << 20).split(b"\\0")[:-1]
        options = [os.fsdecode(x) for x in options]
        fds = {{str(n): os.readlink(f"/proc/self/fd/{{n}}") for n in range(3, 100)
               if os.path.exists(f"/proc/self/fd/{{n}}") or os.path.islink(f"/proc/self/fd/{{n}}")}}
        with open({str(out / "json")!r}, "w") as f:
            json.dump({{"argv": [sys.argv[0], *options, *sys.argv[3:]], "fds": fds,
                       "env": dict(os.environ)}}, f)
        sys.exit(1)
        """,
    )
    return fake, out / "json"


def without_numbers(argv, fds=None):
    """A command line with what differs by nature taken out: numbers of descriptors, binds by
    descriptor instead of by path, and the channels of the runner."""
    words, i = [], 0
    end = argv.index("--")
    while i < len(argv):
        word = argv[i]
        if i < end and word in ("--bind-fd", "--ro-bind-fd"):
            words += [word[:-3], fds[argv[i + 1]]]
            i += 2
        elif i < end and word in ("--seccomp", "--file", "--ro-bind-data"):
            words += [word, "N"]
            i += 2
        elif i < end and word == "--json-status-fd":
            i += 2
        else:
            words.append(word)
            i += 1
    start = words.index("--") + 1
    end = words.index("--", start)
    assert words[start].startswith("/proc/self/fd/")
    assert all(re.fullmatch("-?[0-9]+", w) for w in words[start + 1 : end - 1])
    words[start:end] = ["INIT", words[end - 1]]  # the last one: limits
    return words


CELLS = [
    ("claude",),
    ("claude", "--profile", "strict"),
    ("claude", "--fs", "ro", "--net", "off"),
    ("claude", "--ro-bind", "/var/lib", "--env", "UNLISTED", "--", "-p", "a 'quoted' $word"),
    ("generic", "--limit", "nofile=99", "--limit", "fsize=1K", "--", "echo", "x"),
    ("generic", "--", "echo", "x"),
]


@pytest.mark.parametrize("args", CELLS, ids=[" ".join(c) for c in CELLS])
def test_it_is_what_run_hands_to_bwrap(world, recorder, args):
    fake, record = recorder
    assert world.run("run", "--bwrap", fake, *args).returncode == 125
    ran = json.loads(record.read_text())
    planned = json.loads(world.run("plan", "--format", "json", "--bwrap", fake, *args).stdout)
    assert without_numbers(planned["argv"]) == without_numbers(ran["argv"], ran["fds"])
    env = {o["dst"]: o["src"] for o in planned["operations"] if o["kind"] == "env"}
    outside = world.env()
    ran["env"].pop("LC_CTYPE", None)  # Python's
    assert ran["env"] == {k: outside[k] if v is None else v for k, v in env.items()}


def pasted(world, *args):
    script = world.run("plan", "--format", "argv", *args)
    assert script.returncode == 0, script.stderr
    return script.stdout


@pytest.mark.parametrize("args", CELLS, ids=[" ".join(c) for c in CELLS])
def test_the_pasted_words_are_those_of_the_plan(world, args):
    """But for what a launch keeps reserved: bwrap alone would find nothing there."""
    script = pasted(world, *args)
    words = shlex.split(script.replace(" \\\n", " "), comments=True)
    words = without_numbers(words[words.index("--") + 1 :])
    plan = json.loads(world.run("plan", "--format", "json", *args).stdout)
    argv = without_numbers(plan["argv"])
    for op in (o for o in plan["operations"] if o["reserved"]):
        path = op["dst"]
        i = argv.index(path)
        if op["kind"] == "text":
            assert argv[i - 4 : i + 1] == ["--perms", "0644", "--ro-bind-data", "N", path]
            del argv[i - 4 : i + 1]
        else:
            assert argv[i - 1] in ("--ro-bind", "--bind") and argv[i : i + 2] == [path, path]
            del argv[i - 1 : i + 2]
    assert words == argv


def run_pasted(world, script, shell="sh", **kwargs):
    if ROOT:
        kwargs.update(user=UID, group=UID, extra_groups=[])
    return subprocess.run(
        [shell], input=script, env=world.env(), cwd=world.root, capture_output=True, text=True, check=False, **kwargs
    )


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_pasted_command_line_runs(world, shell):
    odd = world.root / "a 'b\"$(touch x)\n c"
    odd.mkdir()
    if ROOT:
        odd.chmod(0o777)
    script = pasted(world, "--workdir", odd, "generic", "--", "sh", "-c", 'pwd; id -un; echo "$1"; echo x >f', "sh",
                    "it's `id` $HOME \\ \n!")
    result = run_pasted(world, script, shell)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{odd}\n{'nobody' if ROOT else result.stdout.split()[-1]}\nit's `id` $HOME \\ \n!\n"
    assert (odd / "f").exists()


def test_a_pasted_command_line_is_the_sandbox(world):
    (world.home / "secret").write_text("x")
    script = pasted(world, "claude", "--", "-p", "hi")
    result = run_pasted(world, script)
    assert result.stdout.split() == [
        str(world.home / ".local/bin/claude"), "--dangerously-skip-permissions", "-p", "hi"
    ], result.stderr
    probe = f"cat /proc/self/status; env; ls -a {world.home}; touch .git/hooks/x; exit 3"
    script = pasted(world, "generic", "--", "sh", "-c", probe)
    result = run_pasted(world, script)
    assert result.returncode == 3
    assert "Seccomp:\t2" in result.stdout and "CapEff:\t0000000000000000" in result.stdout
    assert "secret" not in result.stdout and "UNLISTED" not in result.stdout
    assert "Read-only" in result.stderr


@pytest.mark.parametrize("form", ["text", "argv", "json"])
def test_no_passed_value_is_ever_printed(world, form):
    result = world.run("plan", "--format", form, "-v", "--env", "UNLISTED", "claude")
    assert result.returncode == 0
    assert "ANTHROPIC_API_KEY" in result.stdout
    for text in (result.stdout, result.stderr):
        assert PASSED not in text and "withheld-value" not in text


def test_control_characters_are_not_for_pasting(world):
    evil = world.root / "a\033[2Jb\rrm"
    evil.mkdir()
    result = world.run("plan", "--format", "argv", "--workdir", evil, "--", "true")
    assert (result.returncode, result.stdout) == (125, "")
    assert "control characters" in result.stderr and "\033" not in result.stderr
    assert "\033" not in world.run("plan", "--workdir", evil, "--", "true").stdout
    assert json.loads(world.run("plan", "--format", "json", "--workdir", evil, "--", "true").stdout)["workdir"] == str(
        evil
    )


def test_every_line_has_its_reason(world):
    result = world.run("plan", "claude")
    lines = [x for x in result.stdout.splitlines() if x.startswith("  ")]
    assert len(lines) > 60
    plan = json.loads(world.run("plan", "--format", "json", "claude").stdout)
    assert len(plan["operations"]) == len(lines)
    for line, op in zip(sorted(lines), sorted(plan["operations"], key=lambda o: o["dst"])):
        assert op["why"] and line.strip()
    assert all(any(op["why"] in line for line in lines) for op in plan["operations"])
    assert "ro-bind" in result.stdout and str(world.work) in result.stdout


def test_plan_runs_nothing(world, fake_bwrap):
    world.agent(text="#!/bin/sh\ntouch ran\n")
    fake = fake_bwrap(f'[ "$1" = --help ] || touch {world.work}/ran')
    for form in ("text", "argv", "json"):
        assert world.run("plan", "--format", form, "--bwrap", fake, "claude").returncode == 0
    assert not (world.work / "ran").exists()


def test_plan_without_a_sandbox(world):
    plan = json.loads(world.run("plan", "--format", "json", "--sandbox", "none", "claude", "--", "-p").stdout)
    assert plan == {"sandbox": "none", "agent": "claude", "command": ["claude", "-p"]}
    assert world.run("plan", "--sandbox", "none", "--format", "argv", "claude").stdout == "claude\n"
    assert "all rights" in world.run("plan", "--sandbox", "none", "claude").stdout


@pytest.mark.parametrize(
    "args,words",
    [
        ((), "no agent is named"),
        (("clawd",), "not known"),
        (("--format", "xml", "claude"), "not one of: text argv json"),
        (("--timeout", "3", "claude"), "no option --timeout"),
        (("--workdir", "/", "claude"), "root of the file system"),
        (("codex",), "not found in PATH"),
    ],
)
def test_wrong_input(world, args, words):
    result = world.run("plan", *args)
    assert (result.returncode, result.stdout) == (125, "")
    assert words in result.stderr


@pytest.mark.parametrize(
    "args,words",
    [
        (("10=filter",), "no command"),
        (("2=filter", "--", "true"), "is not N=filter"),
        (("x", "--", "true"), "is not N=filter"),
        (("10=secret", "--", "true"), "10=secret"),
        (("10=copy:/nonexistent", "--", "true"), "No such file"),
        (("10=filter", "--", "/nonexistent/x"), "No such file"),
    ],
)
def test_wrong_input_of_fds(world, args, words):
    result = world.run("fds", *args)
    assert result.returncode == 125 and words in result.stderr


def test_a_full_disk_is_an_error(world):
    with open("/dev/full", "w", encoding="ascii") as full:
        for args in (("plan", "--", "true"), ("plan", "--format", "json", "--", "true"), ("agents",), ("--help",),
                     ("doctor",)):
            proc = world.popen(*args, stdout=full, text=True)
            _, err = proc.communicate(timeout=60)
            assert proc.returncode == 125 and "standard output" in err, args
