"""sbx-verify --here: the user's own world instead of the scene."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, ROOT as SOURCE, Result
from sbx_world import ROOT, UID

AGENTS = ("--agent", "claude,generic")


class Own:
    """A home with keys, agents and two projects, and sbx-verify installed where its user can run it."""

    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.home = self.top / "home"
        self.work = self.home / "src" / "app"
        self.verify = self.top / "bin" / "sbx-verify"
        for rel, text in {
            ".ssh/id_ed25519": "key",
            ".aws/credentials": "key",
            ".bashrc": "alias",
            ".claude/settings.json": "{}",
            ".claude/.credentials.json": "{}",
            ".claude/projects/another/a.jsonl": "{}",
            ".codex/auth.json": "{}",
            "src/other/secret": "s",
            "src/app/code": "c",
        }.items():
            path = self.home / rel
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        for source, to in (
            (BUILD / "matrix" / "sbx-verify", "bin"),
            (SOURCE / "matrix" / "oracle" / "here.tbl", "share/sbx"),
            (SOURCE / "matrix" / "oracle" / "expect.tbl", "share/sbx"),
            (BUILD / "probes" / "sbx-probe", "libexec/sbx"),
            (BUILD / "probes" / "sbx-probe-http", "libexec/sbx"),
        ):
            (self.top / to).mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.top / to)
        if ROOT:
            for path in (self.home, *self.home.rglob("*")):
                os.chown(path, UID, UID, follow_symlinks=False)

    def popen(self, *args, **env):
        who = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
        base = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "k", "GITHUB_TOKEN": "t"}
        return subprocess.Popen(
            [str(self.verify), "--here", "--quiet", *map(str, args)],
            cwd=self.work, env={**base, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **who,
        )

    def run(self, *args, **env):
        proc = self.popen(*args, **env)
        out, err = proc.communicate(timeout=120)
        return Result(subprocess.CompletedProcess(args, proc.returncode, out, err))

    def look(self):
        """Everything about every file of the home but when it was last read."""
        return {
            (str(p), s.st_mode, s.st_size, s.st_ino, s.st_mtime_ns, s.st_ctime_ns)
            for p in (*self.home.rglob("*"),)
            for s in (p.lstat(),)
            if p.is_file()
        } | {(str(p), p.lstat().st_mode) for p in self.home.rglob("*")}


@pytest.fixture
def own(public_dir):
    return Own(public_dir)


def test_it_holds_and_nothing_is_changed(own):
    before = own.look()
    result = own.run()
    assert result.status == 0, result.out + result.err
    assert own.look() == before
    # whose files are here: three agents' cells, in all four modes and both profiles
    assert "24 of 24 cells verified" in result.out
    for name in ("~/.ssh/id_ed25519", "~/.aws/credentials", "~/.bashrc", "$GITHUB_TOKEN", "~/.codex/auth.json",
                 "~/src/app/.git/hooks", "~/.claude/projects"):
        assert name in result.out, name
    assert "Here, today" in result.out


EDITS = [
    ("a key", "rw", 'insert(["--ro-bind", home + "/.ssh/id_ed25519", home + "/.ssh/id_ed25519"])', "here.keys"),
    ("start file", "rw", 'insert(["--ro-bind", home + "/.bashrc", home + "/.bashrc"])', "here.startup"),
    ("HOME", "rw", 'replace_mount(home, ["--bind", home, home], 2)', "here.home"),
    ("the project beside", "rw", 'insert(["--ro-bind", home + "/src/other", home + "/src/other"])', "here.beside"),
    ("/tmp", "rw", 'replace_mount("/tmp", ["--bind", "/tmp", "/tmp"], 2)', "here.tmp"),
    ("ro work dir writable", "ro", 'i = a.index("--ro-bind-fd"); a[i] = "--bind-fd"', "here.work.ro"),
    ("work dir another", "rw",
     'import glob; p = glob.glob(work + "/.sbx*")[0]; insert(["--tmpfs", work, "--bind", p, p])',
     "here.work.identity"),
    ("hooks", "rw", 'drop_mount(work + "/.git/hooks")', "here.git"),
    ("a name that is kept", "rw", 'drop_mount(work + "/.gemini")', "here.project.rw"),
    ("settings", "rw", 'f = home + "/.claude/settings.json"; replace_mount(f, ["--bind", f, f])',
     "here.claude.obeyed.own"),
    ("no login", "rw", 'drop_mount(home + "/.claude/.credentials.json")', "here.claude.login.own"),
    ("another's login", "rw", 'f = home + "/.codex/auth.json"; insert(["--ro-bind", f, f])',
     "here.codex.login.other"),
    ("transcripts of all", "rw", 'f = home + "/.claude/projects"; insert(["--ro-bind", f, f])',
     "here.claude.projects.own"),
    ("a variable", "rw", 'a[:0] = ["--setenv", "GITHUB_TOKEN", "x"]', "here.env"),
    ("no key", "rw", 'a[:0] = ["--unsetenv", "ANTHROPIC_API_KEY"]', "here.env.claude.own"),
    ("another's key", "rw", 'a[:0] = ["--setenv", "OPENAI_API_KEY", "x"]', "here.env.codex.other"),
    ("filter", "rw", 'drop("--seccomp", 1)', "here.seccomp"),
    ("host name", "rw", 'drop("--unshare-uts"); drop("--hostname", 1)', "here.ns_uts"),
    ("ipc", "rw", 'drop("--unshare-ipc")', "here.ns_ipc"),
    ("network", "rw", 'a.append("--unshare-net")', "here.ns_net.on"),
]


@pytest.mark.parametrize("fs,edit,rule", [e[1:] for e in EDITS], ids=[e[0] for e in EDITS])
def test_a_hole_is_named(own, edited_bwrap, fs, edit, rule):
    if "OPENAI" in edit:
        extra = {"OPENAI_API_KEY": "k"}
    else:
        extra = {}
    result = own.run("--cell", f"claude/lenient/{fs}/on", "--format", "json", "--bwrap", edited_bwrap(edit), **extra)
    assert result.status == 1, result.out + result.err
    wrong = {obs["rule"] for cell in result.json["cells"] for obs in cell["observations"]
             if obs["verdict"] == "mismatch"}
    assert rule in wrong


def test_without_a_sandbox_it_must_fail(own):
    result = own.run("--no-sandbox", *AGENTS)
    assert result.status == 1
    assert "Without a sandbox it deviates" in result.out


def test_a_dry_run_does_nothing(own, fake_bwrap):
    before = own.look()
    mark = own.top / "started"
    result = own.run("--dry-run", "--bwrap", fake_bwrap(f"touch {mark}"))
    assert result.status == 0, result.err
    assert own.look() == before
    assert not mark.exists()
    assert "~/.ssh/id_ed25519" in result.out
    assert f"{own.work}/.sbx" in result.out
    for line in result.out.splitlines():
        if line.startswith("here."):
            assert line.split()[1] in {"open_read", "stat", "identity", "mntflags", "names", "env", "namespace",
                                       "status", "create"}


def test_killed_in_the_middle_it_leaves_nothing(own, fake_bwrap):
    before = own.look()
    proc = own.popen("--bwrap", fake_bwrap("exec sleep 60"), *AGENTS)
    deadline = time.monotonic() + 30
    while not list(own.work.glob(".sbx*/sbx-probe")):
        assert time.monotonic() < deadline and proc.poll() is None
    proc.send_signal(signal.SIGKILL)
    proc.communicate()
    while list(own.work.glob(".sbx*")):
        assert time.monotonic() < deadline
    assert own.look() == before


@pytest.mark.parametrize("args,said", [
    (("--list",), "--dry-run"),
    (("--jobs", "2"), "one cell at a time"),
    (("mutate",), "mutate has no --here"),
    (("--rule", "no.such"), "no rule has such an id"),
])
def test_what_does_not_go_together(own, args, said):
    result = own.run(*args)
    assert result.status == 2
    assert said in result.err


@pytest.mark.parametrize("where", ["home", "/usr"])
def test_a_place_that_is_no_project(own, where):
    own.work = own.home if where == "home" else pathlib.Path(where)
    before = own.look()
    result = own.run(*AGENTS)
    assert result.status == 3
    assert "to mend it" in result.out + result.err
    assert own.look() == before


@pytest.mark.parametrize("rule", ["append {home}/.bashrc", "create {home}/.bashrc", "create @here_keys"])
def test_a_table_that_would_write_is_refused_before_anything_is_done(own, rule):
    before = own.look()
    table = own.top / "own.tbl"
    table.write_text(f"bad * {rule.format(home=own.home)} ok none:x [S1] would write\n")
    result = own.run("--expect", table)
    assert result.status == 3
    assert "no act for a world that is not ours" in result.err
    assert own.look() == before


@pytest.mark.skipif(not ROOT, reason="only root can leave out whose world it is")
def test_root_must_say_whose_world_it_is(own):
    result = Result(subprocess.run([str(own.verify), "--here"], cwd=own.work, capture_output=True, text=True,
                                   check=False))
    assert result.status == 2
    assert "--uid" in result.err
