"""sbx run --memory and --pids-limit: for root, on a machine with cgroup v2 (test_sbx_cgroup.py).

A group that was given to an ordinary user is made for each test; sbx runs in a group below it.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import run_verify
from sbx_world import UID, World

TOP = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = "+memory +pids"
FORKS = """
import errno, os, signal
n = 0
try:
    while n < 40:
        if os.fork() == 0:
            signal.pause()
        n += 1
except OSError as e:
    print(n, errno.errorcode[e.errno])
"""


@pytest.fixture
def world(public_dir):
    return World(public_dir)


@contextlib.contextmanager
def member_of(group):
    """This process, and what it starts meanwhile, in that group."""
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (TOP / "cgroup.procs").write_text(str(os.getpid()))


def give(group):
    for path in (group, *(group / name for name in ("cgroup.procs", "cgroup.subtree_control"))):
        os.chown(path, UID, UID)


@pytest.fixture
def delegated():
    """A group of the user's with controllers, and one below it to be in."""
    (TOP / "cgroup.subtree_control").write_text(CONTROLLERS)
    group = pathlib.Path(tempfile.mkdtemp(prefix="delegated-", dir=TOP))
    group.chmod(0o755)
    (group / "cgroup.subtree_control").write_text(CONTROLLERS)
    (group / "self").mkdir()
    give(group)
    give(group / "self")
    yield group
    (group / "self").rmdir()
    group.rmdir()  # fails when sbx has left anything


def groups(group):
    return sorted(p.name for p in group.iterdir() if p.is_dir())


def test_processes_are_counted_together(world, delegated):
    with member_of(delegated / "self"):
        result, status = world.run_status("--pids-limit", 12, "--", "python3", "-c", FORKS)
    # With bubblewrap, pid 1 and the one that counts.
    assert (result.stdout, status["status"]) == ("9 EAGAIN\n", 0)
    assert groups(delegated) == ["self"]
    with member_of(delegated / "self"):
        assert world.run("run", "--pids-limit", 3, "--", "true").returncode == 0


def test_memory_is_counted_together(world, delegated):
    with member_of(delegated / "self"):
        files = "open('/tmp/x', 'wb').write(bytes(40 << 20)); b = b'x' * (40 << 20)"
        for script in ("b = bytearray(200 << 20)", files):
            result, status = world.run_status("--memory", "64M", "--", "python3", "-c", script + "; print(1)")
            assert (result.returncode, result.stdout) == (137, "")
            assert (status["how"], status["signal"], status["sandboxed"]) == ("signal", 9, True)
            assert "more memory than --memory allows" in result.stderr
        result, _ = world.run_status("--memory", "64M", "--", "python3", "-c", "b = bytearray(20 << 20); print(1)")
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")
    assert groups(delegated) == ["self"]


def running(world, *args, **kwargs):
    """A sandbox that is at work, and the name of its group."""
    proc = world.popen(*args, "--", "sh", "-c", "echo up; exec sleep 60", text=True, **kwargs)
    assert proc.stdout.readline() == "up\n"
    return proc


def test_what_is_set_is_set_and_a_killed_runner_leaves_nothing(world, delegated):
    with member_of(delegated / "self"):
        proc = running(world, "run", "--pids-limit", 30, "--memory", "1g")
    (name,) = set(groups(delegated)) - {"self"}
    group = delegated / name
    files = {"pids.max": "30", "memory.max": str(1 << 30), "memory.oom.group": "1"}
    assert {f: (group / f).read_text().strip() for f in files} == files
    if (group / "memory.swap.max").exists():
        assert (group / "memory.swap.max").read_text() == "0\n"
    assert name.startswith(f"sbx-{proc.pid}-") and len((group / "cgroup.procs").read_text().split()) == 3
    proc.send_signal(signal.SIGKILL)
    proc.wait()
    deadline = time.monotonic() + 20
    while groups(delegated) != ["self"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert groups(delegated) == ["self"]


def test_what_others_have_left_is_swept(world, delegated):
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, alive = delegated / f"sbx-{gone.pid}-0badcafe", delegated / f"sbx-{os.getpid()}-0badcafe"
    for path in (dead, alive, delegated / "sbx-other"):
        path.mkdir()
    with member_of(delegated / "self"):
        assert world.run("run", "--pids-limit", 30, "--", "true").returncode == 0
    assert groups(delegated) == ["sbx-" + str(os.getpid()) + "-0badcafe", "sbx-other", "self"]
    alive.rmdir()
    (delegated / "sbx-other").rmdir()


def test_without_a_group_of_ones_own_nothing_runs(world, delegated):
    result, status = world.run_status("--memory", "1G", "--", "sh", "-c", "echo ran > ran")
    assert (result.returncode, status["error"]) == (125, "cgroup")
    assert "this user may change no cgroup" in result.stderr and "to mend it" in result.stderr
    # One's own, and nothing above: it has processes.
    os.chown(delegated, 0, 0)
    with member_of(delegated / "self"):
        result, status = world.run_status("--pids-limit", 30, "--", "sh", "-c", "echo ran > ran")
    assert (result.returncode, status["error"]) == (125, "cgroup")
    assert "cannot be enabled" in result.stderr
    assert not (world.work / "ran").exists() and groups(delegated) == ["self"]
    assert (delegated / "self" / "cgroup.type").read_text() == "domain\n"


def test_root_makes_it_before_root_becomes_somebody(world, delegated):
    os.chown(delegated, 0, 0)
    with member_of(delegated / "self"):
        result = world.run("run", "--pids-limit", 12, "--", "python3", "-c", FORKS, root=True)
    assert result.stdout == "9 EAGAIN\n" and f"(uid {UID})" in result.stderr
    assert groups(delegated) == ["self"]


def test_the_doctor_tries_it(world, delegated):
    with member_of(delegated / "self"):
        assert "--memory and --pids-limit can be had" in world.run("doctor").stdout
    assert groups(delegated) == ["self"]
    assert "no limit by cgroup (memory pids)" in world.run("doctor").stdout


def test_the_verifier_sees_it(delegated):
    args = ("--rule", "stage.limit.cgroup", "--format", "json")
    with member_of(delegated / "self"):
        result = run_verify(*args, staged=True)
    assert set(result.verdicts().values()) == {"match"}, result.out + result.err
    assert set(run_verify(*args, staged=True).verdicts().values()) == {"absent"}
    assert groups(delegated) == ["self"]
