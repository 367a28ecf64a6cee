"""sbx agents --check: a row of the table, tried with a program on this machine."""

import json
import os
import pathlib

import pytest

from sbx_world import World

FINE = """\
#!/bin/sh
case "$*" in
--version) echo "fine 1.2" ;;
--help) echo "usage: fine [--dangerously-skip-permissions]" ;;
*) exit 9 ;;
esac
"""


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def check(world, *args, **kwargs):
    """{(agent, name): check}, and the exit status."""
    result = world.run("agents", "--check", "--json", *args, **kwargs)
    report = json.loads(result.stdout)
    assert report["ok"] == (result.returncode == 0)
    return {(c["agent"], c["name"]): c for c in report["checks"]}, result.returncode


def test_a_row_that_fits(world):
    world.agent(text=FINE)
    checks, status = check(world, "claude")
    assert status == 0
    assert checks["claude", "version"]["what"] == "fine 1.2"
    assert {c["status"] for c in checks.values()} == {"ok"}
    assert {n for _, n in checks} == {"program", "version", "help", "flags"}
    text = world.run("agents", "--check")  # whatever is installed
    assert text.returncode == 0 and "fine 1.2" in text.stdout and "FAIL" not in text.stdout


def test_nothing_is_left(world):
    """The program would write everywhere; it has no work dir, no network and no transcripts."""
    (world.home / ".gemini/tmp").mkdir(parents=True)
    world.agent(
        "gemini",
        '#!/bin/sh\necho x >here; mkdir -p "$HOME/.gemini/tmp/a"; echo --yolo; wc -l </proc/net/route\n',
    )
    before = sorted(world.root.rglob("*"))
    scratch = set(os.listdir("/var/tmp"))
    checks, status = check(world, "gemini")
    assert status == 0, checks
    assert checks["gemini", "flags"]["status"] == "ok"
    assert sorted(world.root.rglob("*")) == before
    assert not [n for n in set(os.listdir("/var/tmp")) - scratch if n.startswith("sbx-agents-")]


def test_what_is_on_the_host_alone_is_named(world):
    lib = world.program("lib/part.sh", "echo part 1\n")
    world.agent(text=f'#!/bin/sh\n. {lib}\necho "--dangerously-skip-permissions"\n')
    checks, status = check(world, "claude")
    assert status == 1
    assert checks["claude", "version"]["status"] == "fail" and checks["claude", "version"]["remedy"]
    assert str(lib) in checks["claude", "missing"]["what"]
    assert f"--ro-bind {lib}" in checks["claude", "missing"]["remedy"]
    # named once, and the remedy is one
    assert world.run("agents", "--check", "claude").stdout.count(f"{lib} is on this machine") == 1
    checks, status = check(world, "--ro-bind", lib, "claude")
    assert status == 0 and checks["claude", "version"]["what"] == "part 1"


COMPLAINTS = [
    ("echo 'x: error while loading shared libraries: libx.so.1: cannot open' >&2; exit 127", "shared library", "ldd"),
    ("exec env no-such-interpreter x", "interpreter", "PATH"),
    ("echo \"Error: Cannot find module 'x'\"; exit 1", "module", "install the agent anew"),
    ("echo x >/usr/x || exit 2", "write to", "--bind"),
    ("exit 3", "status 3", "without sbx"),
]


@pytest.mark.parametrize("script,lacks,remedy", COMPLAINTS, ids=[c[1] for c in COMPLAINTS])
def test_a_complaint_has_a_remedy(world, script, lacks, remedy):
    world.agent(text=f"#!/bin/sh\n{script}\n")
    checks, status = check(world, "claude")
    assert status == 1
    assert lacks in checks["claude", "version"]["what"] and remedy in checks["claude", "version"]["remedy"]
    text = world.run("agents", "--check", "claude")
    assert text.returncode == 1 and "to mend it: " in text.stdout


def test_one_that_does_not_end(world):
    world.agent(text="#!/bin/sh\nsleep 1000\n")
    checks, status = check(world, "--timeout", 1, "claude")
    assert status == 1 and "within 1 s" in checks["claude", "version"]["what"]
    assert "--timeout" in checks["claude", "version"]["remedy"]


def test_a_flag_that_the_program_does_not_know(world):
    world.agent(text="#!/bin/sh\necho --dangerously-skip-permissions-not\n")
    checks, status = check(world, "claude")
    assert status == 0 and checks["claude", "flags"]["status"] == "warn"
    assert "--no-skip-permissions" in checks["claude", "flags"]["remedy"]


def test_flags_behind_a_subcommand(world):
    world.agent("opencode", '#!/bin/sh\n[ "$1" = run ] && echo --auto\necho "$1"\n')
    checks, status = check(world, "opencode")
    assert status == 0 and checks["opencode", "flags"]["status"] == "ok"


def test_rows_from_documentation_alone(world):
    world.agent("kiro-cli", "#!/bin/sh\necho --trust-all-tools\n")
    checks, status = check(world, "kiro")
    assert status == 0
    assert checks["kiro", "row"]["status"] == "warn" and "unverified" in checks["kiro", "row"]["what"]


def test_without_a_sandbox(world, fake_bwrap):
    world.agent(text=FINE)
    checks, status = check(world, "--bwrap", fake_bwrap("exit 0"), "claude")
    assert status == 1 and checks["claude", "sandbox"]["code"] == "bwrap-ran-nothing"
    assert ("claude", "version") not in checks


def test_not_installed(world):
    checks, status = check(world, "codex")
    assert status == 1 and checks["codex", "program"]["code"] == "program-missing"
    checks, status = check(world)
    assert status == 1 and checks[None, "agents"]["remedy"]


@pytest.mark.parametrize(
    "args,says",
    [
        (["--net", "off"], "--net means nothing without --check"),
        (["--timeout", "3", "claude"], "--timeout means nothing without --check"),
        (["--check", "generic"], "no program of its own"),
        (["--check", "nobody"], "not known"),
        (["--check", "claude", "--", "x"], "agents runs no command"),
        (["--check", "--timeout", "0", "claude"], "not a number from 1"),
    ],
)
def test_usage(world, args, says):
    result = world.run("agents", *args)
    assert result.returncode == 125 and says in result.stderr and not result.stdout


def test_json_is_a_short_form(world):
    long, short = world.run("agents", "--format", "json"), world.run("agents", "--json")
    assert long.returncode == short.returncode == 0 and long.stdout == short.stdout
    rows = {r["name"]: r["verified"] for r in json.loads(short.stdout)}
    assert {n for n, verified in rows.items() if not verified} == {"agent", "kiro"}
    assert pathlib.Path(world.sbx).exists()
    assert world.run("agents").stdout.count("unverified\n") == 2
