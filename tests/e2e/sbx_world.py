"""What the tests of sbx share: a home, a work dir, and an ordinary user to run it."""

import json
import os
import pathlib
import shutil
import subprocess

from conftest import BUILD, write_program

ROOT = os.geteuid() == 0
UID = 65534 if ROOT else os.geteuid()
PASSED = "VALUE-THAT-MUST-NOT-BE-PRINTED"


class World:
    """A scene: home/ and work/ in a directory that an ordinary user owns."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.home = self.root / "home"
        self.work = self.root / "work"
        self.sbx = self.root / "sbx"
        shutil.copy(BUILD / "cli" / "sbx", self.sbx)
        for d in (self.home, self.work, self.home / ".ssh"):
            d.mkdir()
        (self.home / ".ssh" / "id").write_text("secret key")
        self.own()

    def own(self):
        """Gives everything but sbx itself to the user."""
        if ROOT:
            for top in (self.home, self.work):
                for p in (top, *top.rglob("*")):
                    os.chown(p, UID, UID, follow_symlinks=False)

    def env(self, **more):
        env = {
            "HOME": str(self.home),
            "PATH": f"{self.home}/.local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": PASSED,
            "UNLISTED": "withheld-value",
        }
        env.update(more)
        return env

    def popen(self, *args, root=False, env=None, **kwargs):
        if ROOT and not root:
            kwargs.update(user=UID, group=UID, extra_groups=[])
        kwargs.setdefault("cwd", self.work)
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(
            [str(self.sbx), *map(str, args)],
            env=self.env(**(env or {})),
            stdout=kwargs.pop("stdout", subprocess.PIPE),
            stderr=kwargs.pop("stderr", subprocess.PIPE),
            **kwargs,
        )

    def run(self, *args, input=None, text=True, timeout=60, **kwargs):
        if input is not None:
            kwargs["stdin"] = subprocess.PIPE
        proc = self.popen(*args, text=text, **kwargs)
        out, err = proc.communicate(input, timeout=timeout)
        return subprocess.CompletedProcess(args, proc.returncode, out, err)

    def run_status(self, *args, **kwargs):
        """Runs 'sbx run' and returns (result, the last that --status-fd said)."""
        r, w = os.pipe()
        try:
            result = self.run(
                "run", "--status-fd", w, *args, pass_fds=(w,), **kwargs
            )
        finally:
            os.close(w)
        with os.fdopen(r) as f:
            text = f.read()
        return result, json.loads(text.splitlines()[-1]) if text else None

    def program(self, rel, text, link=None):
        """A program in the home (and a link to it), owned by the user."""
        path = self.home / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        write_program(path, text)
        if link:
            at = self.home / link
            at.parent.mkdir(parents=True, exist_ok=True)
            at.symlink_to(path)
        self.own()
        return path

    def agent(self, name="claude", text='#!/bin/sh\necho "$0" "$@"\n'):
        return self.program(f".local/bin/{name}", text)

    def is_alive(self, word):
        """Is there a process with that word on its command line?"""
        for p in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if word.encode() in p.read_bytes().split(b"\0"):
                    return True
            except OSError:
                pass
        return False
