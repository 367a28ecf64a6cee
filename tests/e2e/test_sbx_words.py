"""What sbx itself says: names of the project's in it do not act on the terminal, and who errs is told
what to type."""

import os

import pytest

from conftest import write_program
from sbx_world import World

CLIP = "\033]52;c;aGk=\007"


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def controls(text):
    return [c for c in text if (ord(c) < 32 and c != "\n") or ord(c) == 127 or 0x80 <= ord(c) < 0xA0]


@pytest.mark.parametrize("verb", ["run", "plan"])
@pytest.mark.parametrize(
    "make, words",
    [
        (lambda w: write_program(w / "run.sh", f"#!/nope{CLIP}x\n"), ["generic", "--", "./run.sh"]),
        (lambda w: os.symlink(f"/root/{CLIP}", w / "run.sh"), ["generic", "--", "./run.sh"]),
        (lambda w: None, ["generic", "--", f"/bin/no{CLIP}"]),
        (lambda w: None, ["generic", "--", "/bin/no\u009b21t"]),
        (lambda w: None, [f"cl{CLIP}", "--", "x"]),
        (lambda w: None, [f"--fs={CLIP}", "generic", "--", "x"]),
        (lambda w: None, [f"--{CLIP}", "generic", "--", "x"]),
    ],
)
def test_names_in_an_error_do_not_act(world, verb, make, words):
    make(world.work)
    world.own()
    result = world.run(verb, *words)
    assert result.returncode == 125
    assert "sbx: " in result.stderr and controls(result.stderr + result.stdout) == []


def test_nor_in_what_verbose_tells(world):
    work = world.work / f"a{CLIP}"
    work.mkdir()
    world.own()
    result = world.run("run", "--verbose", "--workdir", str(work), "generic", "--", "true", CLIP)
    assert result.returncode == 0, result.stderr
    assert "]52;c;aGk=" in result.stderr and controls(result.stderr) == []


@pytest.mark.parametrize(
    "words, message, remedy",
    [
        (["claude", "-p", "hi"], "no option -p", "sbx run claude -- -p ..."),
        (["generic", "ls", "-la"], "no option -la", "sbx run generic -- ls -la ..."),
        (["-q", "claude"], "no option -q", "see 'sbx run --help'"),
        (["cursor"], "'cursor' is not known", "did you mean agent?"),
        (["kiro-cli"], "'kiro-cli' is not known", "did you mean kiro?"),
        (["Claude"], "'Claude' is not known", "did you mean claude?"),
        (["xyzzy"], "'xyzzy' is not known", "it is one of: claude,"),
        (["--bwrap", "/nonexistent", "generic", "--", "true"], "'/nonexistent': No such file", "leave --bwrap out"),
        (["--bwrap", "/etc", "generic", "--", "true"], "--bwrap: '/etc': it is no file", "leave --bwrap out"),
        (["--bind", "/etc", "generic", "--", "true"], "bind '/etc' is a system directory", "bind less:"),
        (["--bind", ".claude", "generic", "--", "true"], "/.claude' cannot be made writable: hooks", "leave it out"),
        (["generic", "--", "true", *"x" * 20000], "words too many: bubblewrap takes 9000", "xargs"),
    ],
)
def test_who_errs_is_told_what_to_type(world, words, message, remedy):
    (world.work / ".claude").mkdir()
    world.own()
    result = world.run("run", *words)
    assert result.returncode == 125 and result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith("sbx: ") and message in first
    assert second.startswith("sbx: to mend it: ") and remedy in second


def test_a_named_bwrap_that_is_not_there_is_no_reason_to_do_without(world):
    world.agent(text="#!/bin/sh\necho unsandboxed\n")
    result = world.run("run", "--bwrap", "/nonexistent", "--on-unavailable", "run-unsandboxed", "claude")
    assert (result.returncode, result.stdout) == (125, ""), result.stderr


def test_a_program_behind_a_link_is_told_in_a_sentence(world):
    (world.home / ".ssh" / "tool").write_text("#!/bin/sh\n")
    (world.home / ".ssh" / "tool").chmod(0o755)
    os.symlink(world.home / ".ssh" / "tool", world.work / "tool")
    world.own()
    result = world.run("run", "generic", "--", "./tool")
    assert f"{world.work}/tool, which leads to {world.home}/.ssh/tool, cannot be shown inside" in result.stderr


def test_as_many_words_as_bwrap_takes(world):
    """Ours is bubblewrap's own limit, to the word."""

    def run(n):
        return world.run("run", "generic", "--", "true", *"x" * n)

    too_many = int(run(10000).stderr.split("has ")[1].split()[0])
    fits = run(10000 - too_many)
    assert fits.returncode == 0, fits.stderr
    assert "has 1 words too many" in run(10001 - too_many).stderr


def test_the_help_says_the_values(world):
    text = world.run("run", "--help").stdout
    line = next(x for x in text.splitlines() if "--on-unavailable" in x)
    assert "error (default)" in line and "run-unsandboxed" in line
    assert "unverified: " in world.run("agents").stdout
