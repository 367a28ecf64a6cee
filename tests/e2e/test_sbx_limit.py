"""sbx run --limit: what a process inside may use, and that it stays so."""

import json
import resource
import signal
import subprocess

import pytest

from sbx_world import ROOT, UID, World


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def inside(world, script, *limits, **kwargs):
    words = [word for limit in limits for word in ("--limit", limit)]
    return world.run_status(*words, "--", "bash", "-c", script, **kwargs)


def test_a_file_grows_no_further(world):
    result, status = inside(world, "exec head -c 5000 /dev/zero > /tmp/x", "fsize=4K")
    assert (status["how"], status["signal"]) == ("signal", signal.SIGXFSZ)
    result, _ = inside(world, "head -c 4096 /dev/zero > /tmp/x && wc -c < /tmp/x", "fsize=4K")
    assert (result.returncode, result.stdout) == (0, "4096\n")


def test_there_are_no_more_descriptors(world):
    script = "import errno, os\nn = []\ntry:\n    while True: n.append(os.dup(0))\n"
    script += "except OSError as e: print(n[-1], errno.errorcode[e.errno])"
    result, _ = inside(world, f"exec python3 -c '{script}'", "nofile=10")
    assert result.stdout == "9 EMFILE\n"


@pytest.mark.parametrize("limit", ["as=4G", "cpu=60", "data=1G", "memlock=4K", "nproc=30", "stack=4M"])
def test_it_is_soft_and_hard_and_stays(world, limit):
    name, value = limit.split("=")
    number = int(value.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(value[-1], 1)
    result, _ = inside(
        world,
        f"prlimit --raw --noheadings -o SOFT,HARD --{name};"
        f"prlimit --{name}={number + 4096}:{number + 4096} true; ulimit -H{FLAGS[name]}",
        limit,
    )
    assert result.stdout.split()[:2] == [str(number), str(number)]
    assert int(result.stdout.split()[2]) in (number, number // 1024)  # of bytes ulimit shows KiB
    assert "Operation not permitted" in result.stderr


FLAGS = {"as": "v", "cpu": "t", "data": "d", "memlock": "l", "nproc": "u", "stack": "s"}


def test_the_users_other_processes_do_not_count(world):
    """More of them than may be inside."""
    user = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
    others = [subprocess.Popen(["sleep", "60"], **user) for _ in range(25)]
    try:
        script = "for i in 1 2 3 4 5 6; do sleep 0.2 & done; wait; echo all"
        result, _ = inside(world, script, "nproc=15")
        assert (result.stdout, result.stderr) == ("all\n", "")
        # And those inside do: pid 1, the shell and one more.
        result, _ = inside(world, "exec python3 -c '" + FORKS + "'", "nproc=4")
        assert result.stdout == "2 EAGAIN\n"
    finally:
        for p in others:
            p.kill()
            p.wait()


FORKS = """
import errno, os, time
n = 0
try:
    while n < 20:
        if os.fork() == 0:
            time.sleep(60)
        n += 1
except OSError as e:
    print(n, errno.errorcode[e.errno])
"""


def test_more_than_ones_own_is_refused_before_anything_runs(world):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    result, status = inside(world, "echo ran > ran", f"nofile={hard + 1}")
    assert (result.returncode, status["error"]) == (125, "limit")
    assert f"nofile: {hard + 1} is above" in result.stderr and f"nofile={hard}" in result.stderr
    assert not (world.work / "ran").exists()
    assert world.run("plan", "--limit", f"nofile={hard + 1}", "--", "true").returncode == 125
    assert inside(world, "exit 7", f"nofile={hard}")[0].returncode == 7


def test_what_is_no_limit_is_refused(world):
    for limit in ("nofile", "nofile=", "nofile=1K", "rss=1", "as=-1", "as=1T"):
        result, status = inside(world, "echo ran > ran", limit)
        assert result.returncode == 125 and "limit" in result.stderr, limit
        assert status is None and not (world.work / "ran").exists()


def test_it_is_in_the_plan_and_in_a_pasted_line(world):
    words = ("--limit", "nofile=77", "--limit", "fsize=1M")
    text = world.run("plan", *words, "--", "true").stdout
    assert "\nlimits\n" in text and "fsize=1048576" in text and "nofile=77" in text
    ops = json.loads(world.run("plan", "--format", "json", *words, "--", "true").stdout)["operations"]
    limits = [(op["dst"], op["src"], bool(op["why"])) for op in ops if op["kind"] == "limit"]
    assert limits == [("fsize", "1048576", True), ("nofile", "77", True)]
    assert "limits" not in world.run("plan", "--", "true").stdout
    line = world.run("plan", "--format", "argv", *words, "--", "bash", "-c", "ulimit -Hn; ulimit -Sf").stdout
    user = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
    result = subprocess.run(
        ["sh", "-c", line], cwd=world.work, env=world.env(), capture_output=True, text=True, timeout=60, **user
    )
    assert result.stdout == "77\n1024\n", result.stderr


def test_the_runner_itself_is_not_limited(world):
    """It relays more than the command may write to a file."""
    result, _ = inside(world, "head -c 100000 /dev/zero | tr '\\0' x", "fsize=1K")
    assert (result.returncode, len(result.stdout)) == (0, 100000)


def test_limits_of_the_whole_are_in_the_plan_and_in_no_pasted_line(world):
    words = ("--memory", "1G", "--pids-limit", "30", "--", "true")
    ops = json.loads(world.run("plan", "--format", "json", *words).stdout)["operations"]
    limits = {op["dst"]: op["src"] for op in ops if op["kind"] == "cgroup"}
    wanted = {"memory.max": str(1 << 30), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "30"}
    assert limits == wanted
    result = world.run("plan", "--format", "argv", *words)
    assert (result.returncode, result.stdout) == (125, "") and "cannot keep --memory" in result.stderr
