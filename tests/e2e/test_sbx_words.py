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
