#!/usr/bin/env python3
"""What sbx run costs: `sbx run generic -- true` against the same command line given to bwrap by
the shell (sbx plan --format argv), and against a bare bwrap, interleaved in one run. Prints
medians and ratios. As an ordinary user: bench_run.py SBX [ROUNDS]"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROTECTED = [".claude", ".codex", ".gemini", ".opencode", ".cursor", ".kiro", ".git/hooks", ".git/modules",
             ".git/worktrees"]
FILES = [".mcp.json", "opencode.json", "opencode.jsonc", ".git/config", ".git/config.worktree", ".git/commondir",
         ".opencode/.gitignore"]
BARE = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "--dev", "/dev", "true"]


def clock(argv, **kwargs):
    start = time.monotonic()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, **kwargs)
    return (time.monotonic() - start) * 1000


def main():
    sbx, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        full, empty = os.path.join(top, "full"), os.path.join(top, "empty")
        for path in PROTECTED:
            os.makedirs(os.path.join(full, path))
        os.mkdir(empty)
        for path in FILES:
            with open(os.path.join(full, path), "w", encoding="ascii") as f:
                f.write(".\n" if path.endswith("commondir") else "")
        script = subprocess.run([sbx, "plan", "--format", "argv", "--workdir", full, "generic", "--", "true"],
                                check=True, capture_output=True, text=True).stdout
        runs = {
            "bare bwrap": lambda: clock(BARE),
            "the same binds, by the shell": lambda: clock(["sh", "-c", script]),
            "sbx run": lambda: clock([sbx, "run", "--workdir", full, "generic", "--", "true"]),
            "sbx run, all reserved": lambda: clock([sbx, "run", "--workdir", empty, "generic", "--", "true"]),
        }
        times = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                times[name].append(run())
    medians = {name: statistics.median(t) for name, t in times.items()}
    for name, ms in medians.items():
        print(f"{name:30} {ms:7.1f} ms   ratio {ms / medians['the same binds, by the shell']:5.2f}"
              f"   to bare {ms / medians['bare bwrap']:5.2f}")


main()
