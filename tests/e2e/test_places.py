"""Placeholders: whatever the payload does to the work dir, nothing of theirs stays, and a time that
anybody can set is no mark."""

import os
import subprocess

import pytest

from sbx_world import ROOT, UID, World

MARK = 500000000  # init/keeper_mark.h


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def as_user(world, *args):
    subprocess.run(
        args,
        cwd=world.work,
        check=True,
        capture_output=True,
        **({"user": UID, "group": UID, "extra_groups": []} if ROOT else {}),
    )


def names(world):
    return sorted(str(p.relative_to(world.work)) for p in world.work.rglob("*"))


@pytest.mark.parametrize("mode", ["555", "000"])
def test_a_closed_work_dir_holds_no_placeholder(world, mode):
    result = world.run("run", "generic", "--", "chmod", mode, ".")
    assert result.returncode == 0, result.stderr
    assert os.stat(world.work).st_mode & 0o7777 == int(mode, 8)
    world.work.chmod(0o755)
    assert names(world) == []


def test_a_closed_git_dir_holds_no_placeholder(world):
    as_user(world, "git", "init", "-q", ".")
    before = names(world)
    result = world.run("run", "generic", "--", "chmod", "555", ".git")
    assert result.returncode == 0, result.stderr
    assert os.stat(world.work / ".git").st_mode & 0o7777 == 0o555
    assert names(world) == before


@pytest.mark.parametrize("kind", ["-s", "-x"])
def test_a_lock_of_a_payload_keeps_nothing_and_stops_nobody(world, kind):
    """Of one that has the work dir to read only, beside a session that has placeholders there."""
    locked = "flock %s . sh -c 'echo locked; cat'" % kind
    with world.popen("run", "--fs", "ro", "generic", "--", "sh", "-c", locked, stdin=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"locked\n"
        result = world.run("run", "generic", "--", "test", "-d", ".claude")
        assert result.returncode == 0, result.stderr
        assert names(world) == []
        other.stdin.close()
        assert other.wait(30) == 0


@pytest.mark.parametrize("text", ["", "{}"])
def test_a_file_of_that_time_is_the_users(world, text):
    path = world.work / ".mcp.json"
    path.write_text(text)
    world.own()
    os.utime(path, (MARK, MARK))
    result = world.run("run", "generic", "--", "sh", "-c", "cat .mcp.json; echo x 2>/dev/null >.mcp.json")
    assert (result.returncode, result.stdout) == (2, text), result.stderr
    assert path.read_text() == text


def test_a_repository_of_that_time_is_one(world):
    """The payload sets it; in a later session git works as ever."""
    as_user(world, "git", "init", "-q", ".")
    for name in ("config.worktree", "commondir"):
        (world.work / ".git" / name).write_text("." if name == "commondir" else "")
    for name in ("hooks", "modules", "worktrees"):
        (world.work / ".git" / name).mkdir(exist_ok=True)
    world.own()
    world.run("run", "generic", "--", "touch", "-d", f"@{MARK}", ".git")
    assert os.stat(world.work / ".git").st_mtime == MARK
    result = world.run("run", "generic", "--", "touch", ".git/new")
    assert result.returncode == 0, result.stderr
    result = world.run("run", "generic", "--", "touch", ".git/hooks/new")
    assert result.returncode != 0
