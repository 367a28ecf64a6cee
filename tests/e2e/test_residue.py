"""Nothing is left behind: no process, mount, file, key or IPC object, however a run ends."""

import os
import pathlib
import signal
import subprocess
import time

from conftest import VERIFY, run_verify

CELL = ("--agent", "generic", "--profile", "strict", "--fs", "rw", "--net", "off")


def read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def processes():
    """Command lines of probes, sandboxes and guardians."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            line = read(entry / "cmdline").replace("\0", " ")
            if "sbx-probe" in line or "bwrap" in line or "sbx-verify" in line:
                found.add((entry.name, line))
    return found


def state():
    return {
        "files": {str(p) for d in ("/var/tmp", "/tmp", "/dev/shm") for p in pathlib.Path(d).glob("sbx[0-9a-f]*")},
        "ipc": [len(read(f"/proc/sysvipc/{k}").splitlines()) for k in ("shm", "sem", "msg")],
        "mounts": len(read("/proc/self/mountinfo").splitlines()),
        "keys": sum("sbx" in line for line in read("/proc/keys").splitlines()),
        "abstract": sum("@sbx" in line for line in read("/proc/net/unix").splitlines()),
        "processes": len(processes()),
    }


def settle(before, seconds=10):
    """Waits until the state is as before; returns what it is in the end."""
    deadline = time.monotonic() + seconds
    while state() != before and time.monotonic() < deadline:
        time.sleep(0.02)
    return state()


def start(*args, group=False):
    return subprocess.Popen(
        [VERIFY, *args], start_new_session=group, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )


def wait_for_cells(proc, n):
    """Reads progress until n cells are done."""
    for line in proc.stderr:
        if line.startswith(f"[{n}/"):
            return


def test_ten_runs_in_a_row():
    before = state()
    for _ in range(10):
        assert run_verify(*CELL).status == 0
    assert settle(before) == before


def test_failed_start(fake_bwrap):
    before = state()
    assert run_verify("--bwrap", fake_bwrap("exit 1"), *CELL).status == 3
    assert settle(before) == before


def test_scene_that_cannot_be_made():
    before = state()
    assert run_verify("--scene-dir", "/proc", *CELL).status == 3
    assert settle(before) == before


def test_interrupt_and_terminate():
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        before = state()
        proc = start()
        wait_for_cells(proc, 5)
        proc.send_signal(sig)
        out, _ = proc.communicate(timeout=30)
        assert proc.returncode == 3
        assert "interrupted" in out and "This is not a pass." in out
        assert settle(before) == before


def test_kill_at_any_moment():
    """The guardian cleans up when the runner has no chance to."""
    for delay in (0.02, 0.06, 0.1, 0.15, 0.25, 0.4):
        before = state()
        proc = start()
        time.sleep(delay)
        proc.kill()
        proc.communicate()
        after = settle(before)
        for what in ("ipc", "mounts", "processes", "abstract"):
            assert after[what] == before[what], (delay, what, processes())
        assert after["files"] == before["files"], delay


def test_kill_in_the_middle_of_a_scenario():
    """Their processes, files and mount namespaces go as well."""
    for delay in (0.15, 0.2, 0.3, 0.45, 0.7, 1.1):
        before = state()
        proc = start("--rule", "stage.*")
        time.sleep(delay)
        proc.kill()
        proc.communicate()
        assert settle(before) == before, (delay, processes())


def test_kill_of_the_whole_group():
    """As a shell's Ctrl-\\ or timeout(1) do it: the guardian is in a group of its own."""
    before = state()
    proc = start(group=True)
    wait_for_cells(proc, 3)
    os.killpg(proc.pid, signal.SIGKILL)
    proc.communicate()
    assert settle(before) == before


def test_leaking_sandbox_is_cleaned_up_as_well(edited_bwrap):
    """With everything writable the acts succeed on the host; their traces go."""
    before = state()
    leaky = edited_bwrap(
        'replace_mount("/tmp", ["--bind", "/tmp", "/tmp"], 2);'
        'replace_mount("/var/tmp", ["--bind", "/var/tmp", "/var/tmp"], 2);'
        'replace_mount(home, ["--bind", home, home], 2);'
        'drop("--die-with-parent")'
    )
    assert run_verify("--bwrap", leaky, *CELL).status == 1
    assert settle(before) == before


def test_without_a_sandbox_too():
    before = state()
    assert run_verify("--no-sandbox", *CELL).status == 1
    assert settle(before) == before


def test_the_callers_home_is_neither_read_nor_written(public_dir):
    """Anybody may write to it: a write would succeed, and be seen."""
    home = public_dir / "home"
    home.mkdir()
    home.chmod(0o777)
    (home / ".ssh").mkdir(mode=0)
    before = home.stat().st_mtime_ns
    assert run_verify(*CELL, env={"HOME": str(home)}).status == 0
    assert home.stat().st_mtime_ns == before
    assert [p.name for p in home.iterdir()] == [".ssh"]
    (home / ".ssh").chmod(0o700)
