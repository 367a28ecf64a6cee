"""sbx doctor, sbx agents, the help and the completions."""

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, write_program
from sbx_world import PASSED, ROOT, World

needs_root = pytest.mark.skipif(not ROOT, reason="only root can become another user")


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def doctor(world, *args, **kwargs):
    """{(agent, name): check}, and the exit status."""
    result = world.run("doctor", "--json", *args, **kwargs)
    report = json.loads(result.stdout)
    assert report["ok"] == (result.returncode == 0)
    return {(c["agent"], c["name"]): c for c in report["checks"]}, result.returncode


def test_all_is_well(world):
    world.agent()
    (world.home / ".claude").mkdir()
    (world.home / ".claude/.credentials.json").write_text("TOPSECRET")
    (world.home / ".claude/settings.json").write_text("TOPSECRET")
    world.own()
    checks, status = doctor(world, "claude")
    assert status == 0
    for name in ("user", "work dir", "bwrap", "sandbox", "seccomp", "privileges", "capabilities"):
        assert checks[None, name]["status"] == "ok"
    assert checks["claude", "inside"]["what"] == f"{world.home}/.local/bin/claude is there and may be executed"
    assert ".claude/.credentials.json" in checks["claude", "login"]["what"]
    assert "ANTHROPIC_API_KEY" in checks["claude", "login"]["what"]
    assert ".claude/settings.json" in checks["claude", "config"]["what"]
    text = world.run("doctor", "claude")
    assert text.returncode == 0 and "FAIL" not in text.stdout
    for secret in ("TOPSECRET", PASSED):
        assert secret not in text.stdout + json.dumps({str(k): v for k, v in checks.items()})


def test_the_contents_of_a_login_are_never_read(world):
    """strace is not at hand; a fifo would hang whoever opens it."""
    world.agent()
    (world.home / ".claude").mkdir()
    os.mkfifo(world.home / ".claude/.credentials.json")
    world.own()
    assert doctor(world, "claude")[1] == 0


FAKES = [
    ("exit 0", "bwrap-ran-nothing", "real bubblewrap"),
    ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "userns-restricted", "AppArmor"),
    ("echo \"bwrap: Can't mount proc on /newroot/proc\" >&2; exit 1", "proc-mount-refused", "nested container"),
    ("printf '    --args X\\n    --bind X\\n'", "bwrap-too-old", "0.8.0"),
]


@pytest.mark.parametrize("script,code,remedy", FAKES, ids=[f[1] for f in FAKES])
def test_no_sandbox_has_a_cause_and_a_remedy(world, fake_bwrap, script, code, remedy):
    world.agent()
    checks, status = doctor(world, "--bwrap", fake_bwrap(script), "claude")
    assert status == 1
    assert checks[None, "sandbox"]["code"] == code and remedy in checks[None, "sandbox"]["remedy"]
    # What could not be tried is not called fine.
    assert checks[None, "inside"]["status"] == "skip"
    assert checks["claude", "inside"]["status"] == "skip"
    text = world.run("doctor", "--bwrap", fake_bwrap(script))
    assert text.returncode == 1 and "to mend it: " in text.stdout and "would not work here" in text.stdout


def test_a_missing_bwrap(world):
    checks, status = doctor(world, env={"PATH": str(world.home)})
    assert status == 1
    assert checks[None, "bwrap"]["code"] == "bwrap-not-installed"
    assert "apt-get install bubblewrap" in checks[None, "bwrap"]["remedy"]


def test_a_bwrap_that_makes_no_sandbox_is_found_out(world):
    """It runs the command, and nothing else; the report of pid 1 looks fine."""
    fake = write_program(
        world.root / "bwrap",
        """\
        #!/bin/sh
        [ "$1" = --args ] || exec /usr/bin/bwrap "$@"
        shift 3
        exec setpriv --no-new-privs "$@"
        """,
    )
    checks, status = doctor(world, "--bwrap", fake)
    assert status == 1
    assert checks[None, "seccomp"]["status"] == "fail" and "not in force" in checks[None, "seccomp"]["what"]


def test_the_home_directory_is_no_work_dir_but_the_rest_is_tried(world):
    checks, status = doctor(world, cwd=world.home)
    assert status == 1
    assert checks[None, "work dir"]["code"] == "path-is-home" and checks[None, "work dir"]["remedy"]
    assert checks[None, "sandbox"]["status"] == "ok"
    assert not [p for p in os.listdir("/var/tmp") if p.startswith("sbx-doctor-")]


def test_agents_that_are_not_installed(world):
    checks, status = doctor(world, "codex")
    assert status == 1 and checks["codex", "program"]["code"] == "program-missing"
    checks, status = doctor(world)
    assert status == 0 and checks[None, "agents"]["status"] == "warn"
    world.agent("kiro-cli")
    checks, status = doctor(world)
    assert status == 0 and checks["kiro", "row"]["what"].startswith("unverified")
    assert {a for a, _ in checks} == {None, "kiro"}


def test_an_interpreter_that_is_missing_or_hidden(world):
    world.agent(text="#!/usr/bin/env no-such-node\n")
    checks, status = doctor(world, "claude")
    assert status == 1
    assert "interpreter of" in checks["claude", "program"]["what"]
    world.program(".ssh/node", "#!/bin/sh\n")
    world.agent(text=f"#!{world.home}/.ssh/node\n")
    checks, status = doctor(world, "claude")
    assert status == 1 and checks["claude", "program"]["code"] == "program-not-visible"
    # Found without being named, too: it is installed, and does not work.
    assert doctor(world)[1] == 1


@needs_root
def test_the_doctor_of_root(world):
    checks, status = doctor(world, root=True)
    assert status == 0 and "nobody" in checks[None, "user"]["what"]
    own = world.root / "own"
    own.mkdir()
    checks, status = doctor(world, root=True, cwd=own)
    assert status == 1 and checks[None, "user"]["code"] == "refused-as-root"
    checks, status = doctor(world, "--allow-root", root=True, cwd=own)
    assert status == 0 and checks[None, "user"]["status"] == "warn"
    assert checks[None, "capabilities"]["status"] == "ok"


@pytest.mark.parametrize(
    "args,words",
    [
        (("doctor", "clawd"), "not known"),
        (("doctor", "--", "true"), "runs no command"),
        (("doctor", "--format", "json"), "no option --format"),
        (("agents", "clawd"), "not known"),
        (("agents", "claude", "codex"), "one name at most"),
        (("agents", "--format", "argv"), "not one of: text json"),
        (("completion", "tcsh"), "not bash, zsh or fish"),
        (("completion",), "not bash, zsh or fish"),
        (("claude",), "sbx run claude"),
        (("--fast",), "no option --fast"),
        (("help", "nothing"), "no command 'nothing'"),
        ((), "Usage: sbx"),
    ],
)
def test_wrong_input(world, args, words):
    result = world.run(*args)
    assert (result.returncode, result.stdout) == (125, "")
    assert words in result.stderr


# ---- agents ----


def test_agents(world):
    table = world.run("agents")
    assert table.returncode == 0
    rows = {line.split()[0]: line for line in table.stdout.splitlines() if line and line[0].islower()}
    assert set(rows) >= {"claude", "codex", "gemini", "opencode", "agent", "kiro", "generic"}
    assert "built in" in rows["claude"] and rows["claude"].endswith("yes")
    assert rows["agent"].endswith("unverified") and rows["kiro"].endswith("unverified")
    all_of_them = json.loads(world.run("agents", "--format", "json").stdout)
    assert [a["name"] for a in all_of_them][:2] == ["claude", "codex"]
    one = world.run("agents", "claude").stdout
    assert "~/.claude/.credentials.json" in one and "ANTHROPIC_API_KEY" in one
    (claude,) = json.loads(world.run("agents", "claude", "--format", "json").stdout)
    assert claude["skip_flags"] == ["--dangerously-skip-permissions"]
    assert claude["verified"] is True and claude["source"] == "built in"
    modes = {p["path"]: (p["mode"], p["why"]) for p in claude["paths"]}
    assert modes[".claude/.credentials.json"] == ("credential", "OAuth login")
    assert "transcripts" in modes[".claude/projects"][1]
    assert world.run("agents", "kiro").stdout.splitlines()[0].endswith("(unverified)")


# ---- help and completions ----


def data(world):
    out = world.run("completion", "data").stdout
    return [line.split("\t") for line in out.splitlines()]


def test_help_names_every_option(world):
    rows = data(world)
    assert {r[0] for r in rows} >= {"run", "plan", "doctor", "agents"}
    for command in {r[0] for r in rows}:
        text = world.run(*command.split(), "--help")
        assert text.returncode == 0 and text.stderr == ""
        for _, option, arg, values, words in (r for r in rows if r[0] == command):
            assert f"{option} {arg}".strip() in text.stdout and words in text.stdout
        assert world.run("help", *command.split()).stdout == text.stdout
        assert all(len(line) <= 120 for line in text.stdout.splitlines())
    assert "125" in world.run("run", "--help").stdout
    version = world.run("--version").stdout
    assert version.startswith("sbx 0.1.0") and world.run("run", "--version").stdout == version


def complete(world, *words):
    """What bash offers after these words, the last of which is being typed."""
    script = world.root / "completion"
    script.write_text(world.run("completion", "bash").stdout)
    out = subprocess.run(
        ["bash", "-c", f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sbx; '
         'printf "%s\\n" "${COMPREPLY[@]}"', "bash", "sbx", *words],
        capture_output=True, text=True, check=True, cwd=world.work,
    )
    assert out.stderr == ""
    return set(out.stdout.split())


def test_bash_completes(world):
    (world.work / "sub").mkdir()
    assert {"run", "plan", "doctor", "agents"} <= complete(world, "")
    assert "fds" not in complete(world, "")
    assert complete(world, "run", "--pro") == {"--profile"}
    assert complete(world, "run", "--profile", "") == {"lenient", "strict"}
    assert complete(world, "agents", "--format", "") == {"text", "json"}
    assert complete(world, "plan", "--format", "") == {"text", "argv", "json"}
    assert {"claude", "generic"} <= complete(world, "run", "--fs", "ro", "")
    assert complete(world, "run", "--workdir", "s") == {"sub"}
    assert complete(world, "run", "claude", "--", "s") == {"sub"}
    assert complete(world, "run", "--timeout", "") == set()
    options = {(r[0], r[1]) for r in data(world)}
    commands = {c for c, _ in options if c not in ("completion", "session")}
    assert {"run", "plan", "doctor", "agents", "session new", "session rm"} <= commands
    for command in commands:
        assert complete(world, *command.split(), "--") == {o for c, o in options if c == command}
    assert complete(world, "session", "") == {"new", "list", "show", "resume", "rm", "--help"}
    assert complete(world, "session", "re") == {"resume"}
    assert complete(world, "session", "new", "--fs", "") == {"rw", "ro"}
    assert {"claude", "generic"} <= complete(world, "session", "new", "")
    assert complete(world, "ses") == {"session"} and "new" not in complete(world, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not there to be asked")
def test_fish_completes(world):
    script = world.root / "completion"
    script.write_text(world.run("completion", "fish").stdout)

    def offers(line):
        out = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C {line!r}"],
                             capture_output=True, text=True, check=True, env=world.env(XDG_CONFIG_HOME=str(world.home)))
        assert out.stderr == ""
        return {x.split("\t")[0] for x in out.stdout.splitlines()}

    assert {"run", "session"} <= offers("sbx ") and "new" not in offers("sbx ")
    assert offers("sbx session ") == {"new", "list", "show", "resume", "rm"}
    assert {"--fresh", "--timeout"} <= offers("sbx session resume --")
    assert "--fresh" not in offers("sbx session new --")
    assert {"claude", "generic"} <= offers("sbx session new ")
    assert offers("sbx session new --fs ") == {"rw", "ro"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_have_every_option(world, shell):
    text = world.run("completion", shell).stdout
    mark = "--{}" if shell == "zsh" else "-l {}"
    for command, option, _, values, _ in data(world):
        assert mark.format(option[2:]) in text and values in text
        assert all(word in text for word in command.split())
    if shutil.which(shell):
        script = world.root / "completion"
        script.write_text(text)
        subprocess.run([shell, "-n", script], check=True)


def test_the_manual_has_every_option(world):
    page = world.root / "sbx.1"
    page.write_text(world.run("completion", "man").stdout)
    plain = page.read_text().replace("\\-", "-")
    for command, option, arg, _, words in data(world):
        assert f"\nsbx {command} " in plain and f"{option} {arg}".strip() in plain
        assert words.replace("'", "\\(aq") in plain
    if shutil.which("groff"):
        out = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], check=True, capture_output=True, text=True)
        seen = re.sub(".\\x08", "", out.stdout).replace("\u2010", "-").replace("\u2212", "-")
        assert out.stderr == "" and "--status-fd FD" in seen


def test_everything_is_installed(tmp_path):
    subprocess.run(
        ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", tmp_path],
        check=True, stdout=subprocess.DEVNULL,
    )
    prefix = tmp_path / "usr" / "local"
    version = subprocess.run([prefix / "bin/sbx", "--version"], check=True, capture_output=True, text=True)
    assert version.stdout.startswith("sbx 0.1.0")
    for shell, where in (
        ("bash", "bash-completion/completions/sbx.bash"),
        ("zsh", "zsh/site-functions/_sbx"),
        ("man", "man/man1/sbx.1"),
        ("fish", "fish/vendor_completions.d/sbx.fish"),
    ):
        printed = subprocess.run([prefix / "bin/sbx", "completion", shell], check=True, capture_output=True)
        assert (prefix / "share" / where).read_bytes() == printed.stdout
