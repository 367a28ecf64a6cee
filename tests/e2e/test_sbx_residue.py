"""What sbx run says of what a session has left: each thing by name, and nothing of ordinary work."""

import json
import os
import shutil
import subprocess

import pytest

from sbx_world import ROOT, UID, World

LEAVE = """
ln -s /etc/passwd link
mkfifo fifo
mkdir -p sub/.git
echo '{}' > sub/.mcp.json
"""
LEFT = {
    ("link-out", "link"),
    ("fifo", "fifo"),
    ("repository", "sub/.git"),
    ("protected-name", "sub/.mcp.json"),
}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def left(world, status):
    return {(i["kind"], os.path.relpath(i["path"], world.work)) for i in status["residue"]}


def git(world, *args):
    """As the user, on the host."""
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always", *args],
        cwd=world.work,
        env=world.env(),
        check=True,
        capture_output=True,
        **({"user": UID, "group": UID, "extra_groups": []} if ROOT else {}),
    )


def test_what_is_left_is_named(world):
    result, status = world.run_status("--", "sh", "-c", LEAVE)
    assert left(world, status) == LEFT
    assert result.returncode == 0
    for kind, path in LEFT:
        assert kind in result.stderr and f"{world.work}/{path}" in result.stderr


def test_once_it_was_there_it_is_not_named_again(world):
    world.run_status("--", "sh", "-c", LEAVE)
    result, status = world.run_status("--strict-residue", "--", "sh", "-c", "echo x > new; cat new")
    assert status["residue"] == [] and result.returncode == 0
    assert "left behind" not in result.stderr


def test_strict_makes_it_an_exit_status(world):
    result, status = world.run_status("--strict-residue", "--", "sh", "-c", LEAVE)
    assert result.returncode == 123 and status["how"] == "exited"
    # A failure of the agent's own stays what it was.
    result, _ = world.run_status("--strict-residue", "--", "sh", "-c", "mkfifo other; exit 7")
    assert result.returncode == 7


def test_nobody_looks_when_told_so(world):
    result, status = world.run_status("--no-residue", "--", "sh", "-c", LEAVE)
    assert status["residue"] is None and result.returncode == 0
    assert "left behind" not in result.stderr


def test_a_time_that_looks_like_a_placeholders_hides_nothing(world):
    forged = "mkdir d; mkfifo d/f; mkdir sub; echo > sub/.mcp.json; touch -d @500000000 d sub/.mcp.json"
    _, status = world.run_status("--", "sh", "-c", forged)
    assert left(world, status) == {("fifo", "d/f"), ("protected-name", "sub/.mcp.json")}


@needs_git
def test_work_with_git_leaves_nothing(world):
    """Commits in the repository, in a submodule and in a linked work tree below it."""
    (world.work / "file").write_text("one\n")
    world.own()
    git(world, "init", "-q", ".")
    git(world, "add", "file")
    git(world, "commit", "-qm", "one")
    git(world, "clone", "-q", ".", str(world.home / "other"))
    git(world, "submodule", "--quiet", "add", str(world.home / "other"), "module")
    git(world, "commit", "-qm", "module")
    git(world, "worktree", "add", "-q", "tree")
    work = """
    git config user.name 2>/dev/null
    for d in . module tree; do
        echo two >> $d/file
        git -C $d -c user.name=b -c user.email=b@example.org commit -qam two || exit 3
        git -C $d status --porcelain >/dev/null || exit 4
    done
    """
    result, status = world.run_status("--strict-residue", "--", "sh", "-c", work)
    assert (left(world, status), result.returncode) == (set(), 0), result.stderr


@needs_git
def test_settings_of_a_nested_repository_are_named(world):
    (world.work / "nest").mkdir()
    world.own()
    git(world, "init", "-q", "nest")
    text = "git -C nest config core.fsmonitor ./x; echo > nest/.git/hooks/pre-commit"
    _, status = world.run_status("--", "sh", "-c", text)
    assert {("git-settings", "nest/.git/config"), ("git-hook", "nest/.git/hooks/pre-commit")} <= left(world, status)


def test_the_report_is_one_line_of_json(world):
    """Names that are no text, and names that would draw on a terminal."""
    result, status = world.run_status("--", "sh", "-c", r'''mkfifo "$(printf 'a\033]0;x\007b')" "$(printf 'n\nl')"''')
    assert {i["kind"] for i in status["residue"]} == {"fifo"} and len(status["residue"]) == 2
    assert json.dumps(status)
    assert "\033" not in result.stderr and "\007" not in result.stderr
