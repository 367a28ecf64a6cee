"""Drives the built programs as a user would. SBX_BUILD names the build directory."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SBX_BUILD", ROOT / "build")).resolve()
VERIFY = BUILD / "matrix" / "sbx-verify"
BWRAP = shutil.which("bwrap") or "/usr/bin/bwrap"


class Result:
    """What one run of sbx-verify did."""

    def __init__(self, proc):
        self.status = proc.returncode
        self.out = proc.stdout
        self.err = proc.stderr

    @property
    def json(self):
        return json.loads(self.out)

    def verdicts(self):
        """{(cell, rule): verdict} of a JSON report."""
        return {
            (cell["name"], obs["rule"]): obs["verdict"]
            for cell in self.json["cells"]
            for obs in cell["observations"]
        }

    def deviating(self):
        """Ids of the rules that did not pass."""
        return {
            rule
            for (_, rule), verdict in self.verdicts().items()
            if verdict not in ("match", "known", "absent")
        }


def run_verify(*args, env=None, timeout=120, staged=False, **kwargs):
    """Runs sbx-verify; --quiet keeps progress out of the way. Without staged the scenarios are
    left out: they take longer than all the rest."""
    command = [str(VERIFY), "--quiet", *([] if staged else ["--quick"]), *map(str, args)]
    full = dict(os.environ, **env) if env else None
    return Result(
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=full,
            timeout=timeout,
            check=False,
            **kwargs,
        )
    )


@pytest.fixture
def public_dir():
    """A directory that the user nobody, too, can reach: the cells run as him under root."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sbx-e2e-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def write_program(path, text):
    path.write_text(textwrap.dedent(text))
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


@pytest.fixture
def fake_bwrap(public_dir):
    """fake_bwrap(script) is a stand-in for bwrap, a shell script."""

    def make(script):
        return write_program(public_dir / "bwrap", "#!/bin/sh\n" + textwrap.dedent(script))

    return make


@pytest.fixture
def edited_bwrap(public_dir):
    """edited_bwrap(code) is the real bwrap behind a hand that edits its options: Python code
    that changes the list `a` in place (or replaces it)."""

    def make(code):
        return write_program(
            public_dir / "bwrap",
            f"""\
            #!/usr/bin/python3 -IS
            import os, signal, sys
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as Python found them
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            if sys.argv[1] != "--args":
                os.execv({BWRAP!r}, sys.argv)
            fd = int(sys.argv[2])
            a = os.read(fd, 1 << 20).split(b"\\0")[:-1]
            os.close(fd)
            a = [os.fsdecode(x) for x in a]
            def drop(option, arguments=0):
                i = a.index(option)
                del a[i:i + 1 + arguments]
            def replace_mount(dest, new, words=3):
                for i in [k for k, x in enumerate(a) if x == dest][-1:]:
                    a[i - words + 1:i + 1] = new
            def drop_mount(dest, words=3):
                replace_mount(dest, [], words)
            def insert(new):
                i = a.index("--remount-ro")
                a[i:i] = new
            home = next(x for x in a if x.endswith("/home"))
            work = a[a.index("--chdir") + 1]
            {textwrap.indent(textwrap.dedent(code), " " * 12).strip()}
            new = os.memfd_create("edited", 0)
            os.write(new, b"".join(os.fsencode(x) + b"\\0" for x in a))
            os.lseek(new, 0, 0)
            os.execv({BWRAP!r}, [sys.argv[0], "--args", str(new)] + sys.argv[3:])
            """,
        )

    return make
