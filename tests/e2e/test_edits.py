"""Hand edits of the command line must turn the matrix red, and name the hole."""

import pytest

from conftest import run_verify

LENIENT = ("--agent", "claude", "--profile", "lenient", "--fs", "rw", "--net", "on")
STRICT = ("--agent", "claude", "--profile", "strict", "--fs", "rw", "--net", "off")
RO = ("--agent", "claude", "--profile", "strict", "--fs", "ro", "--net", "off")

# name, cell, edit, a rule that must notice
EDITS = [
    ("pid", STRICT, 'drop("--unshare-pid"); drop("--as-pid-1")', "proc.kill"),
    ("ipc", STRICT, 'drop("--unshare-ipc")', "ipc.shm"),
    ("cgroup", STRICT, 'drop("--unshare-cgroup")', "proc.ns_cgroup"),
    ("uts", STRICT, 'drop("--unshare-uts"); drop("--hostname", 1)', "proc.ns_uts"),
    ("hostname", STRICT, 'drop("--hostname", 1)', "proc.hostname"),
    ("net", STRICT, 'drop("--unshare-net")', "net.tcp4.off"),
    ("session", STRICT, 'drop("--new-session")', "proc.session"),
    ("seccomp", STRICT, 'drop("--seccomp", 1)', "ns.userns"),
    ("usr rw", STRICT, 'replace_mount("/usr", ["--bind", "/usr", "/usr"])', "fs.usr.mount"),
    (
        "the host's passwd",
        STRICT,
        'replace_mount("/etc/passwd", ["--ro-bind", "/etc/passwd", "/etc/passwd"], 5)',
        "fs.accounts",
    ),
    (
        "any /etc file rw",
        STRICT,
        'replace_mount("/etc/hosts", ["--bind", "/etc/hosts", "/etc/hosts"], 5)',
        "agent.mounts",
    ),
    ("host /tmp", STRICT, 'replace_mount("/tmp", ["--bind", "/tmp", "/tmp"], 2)', "fs.tmp.identity"),
    ("host /var/tmp", STRICT, 'replace_mount("/var/tmp", ["--bind", "/var/tmp", "/var/tmp"], 2)',
     "fs.var_tmp.create"),
    ("host /dev", STRICT, 'replace_mount("/dev", ["--dev-bind", "/dev", "/dev"], 2)', "dev.minimal"),
    ("host /proc", STRICT, 'replace_mount("/proc", ["--ro-bind", "/proc", "/proc"], 2)',
     "proc.visible"),
    ("host HOME ro", STRICT, 'replace_mount(home, ["--ro-bind", home, home], 2)', "read.ssh_key"),
    ("host HOME rw", STRICT, 'replace_mount(home, ["--bind", home, home], 2)', "home.bashrc"),
    ("no private HOME", STRICT, "drop_mount(home, 2)", "home.mount"),
    ("a secret", STRICT, 'insert(["--ro-bind", home + "/.aws", home + "/.aws"])', "read.aws"),
    ("a secret under another name", STRICT,
     'insert(["--ro-bind", home + "/.ssh", "/opt/ssh"])', "agent.mounts"),
    ("the host under another name", STRICT, 'insert(["--ro-bind", "/", "/mnt"])', "agent.mounts"),
    ("a name like the work dir's", STRICT,
     'insert(["--bind", home + "/projects/other", work + "-2"])', "agent.mounts"),
    ("the host's /proc too", STRICT, 'insert(["--ro-bind", "/proc", "/opt/proc"])', "agent.mounts"),
    ("the sibling", STRICT,
     'insert(["--bind", home + "/projects/other", home + "/projects/other"])', "sibling.create"),
    ("the parent", STRICT, 'insert(["--bind", home + "/projects", home + "/projects"])',
     "sibling.create"),
    ("/run", STRICT, 'insert(["--ro-bind", "/run", "/run"])', "fs.run"),
    ("/sys", STRICT, 'insert(["--ro-bind", "/sys", "/sys"])', "fs.sys"),
    ("/var", STRICT, 'insert(["--ro-bind", "/var/log", "/var/log"])', "fs.var_log"),
    ("/etc whole", STRICT, 'insert(["--ro-bind", "/etc", "/etc"])', "fs.etc_shadow"),
    ("root not sealed", STRICT, 'drop("--remount-ro", 1)', "fs.root.create"),
    ("keys", STRICT, 'drop_mount("/proc/keys")', "ipc.proc_keys"),
    ("cwd", STRICT, 'drop("--chdir", 1)', "work.cwd"),
    ("work ro", STRICT, 'i = a.index("--bind-fd"); a[i] = "--ro-bind-fd"', "work.create.rw"),
    ("work rw", RO, 'i = a.index("--ro-bind-fd"); a[i] = "--bind-fd"', "work.create.ro"),
    ("hooks rw", STRICT, 'drop_mount(work + "/.git/hooks")', "git.hook"),
    ("git config rw", STRICT, 'drop_mount(work + "/.git/config")', "git.config"),
    ("git movable", STRICT, 'drop_mount(work + "/.git")', "git.move.rw"),
    ("project config rw", STRICT, 'drop_mount(work + "/.claude")', "project.claude"),
    ("mcp rw", STRICT, 'drop_mount(work + "/.mcp.json")', "project.mcp"),
    (
        "settings rw",
        LENIENT,
        's = home + "/.claude/settings.json"; replace_mount(s, ["--bind", s, s])',
        "agent.config_write.lenient",
    ),
    (
        "state whole",
        LENIENT,
        's = home + "/.claude"; insert(["--bind", s, s])',
        "agent.claude_daemon",
    ),
    ("no config", LENIENT, 'drop_mount(home + "/.claude/settings.json")', "agent.config.lenient"),
    ("no login", LENIENT, 'drop_mount(home + "/.claude/.credentials.json")', "agent.login.lenient"),
    (
        "no transcripts",
        LENIENT,
        '[drop_mount(x) for x in a[:] if x.startswith(home + "/.claude/projects/")]',
        "agent.state.kept",
    ),
    (
        "another agent's login",
        LENIENT,
        's = home + "/.codex/auth.json"; insert(["--ro-bind", s, s])',
        "cross.codex.other",
    ),
    ("secret variable", STRICT, 'a[:0] = ["--setenv", "GITHUB_TOKEN", "x"]', "env.github"),
    ("variable that nobody thought of", STRICT, 'a[:0] = ["--setenv", "GITLAB_TOKEN", "x"]',
     "env.names"),
    ("loader variable", STRICT, 'a[:0] = ["--setenv", "LD_AUDIT", "/x"]', "env.names"),
    ("no PATH", STRICT, 'a[:0] = ["--unsetenv", "PATH"]', "env.path"),
    ("no resolv.conf", LENIENT, 'drop_mount("/etc/resolv.conf")', "fs.resolv.on"),
    ("no certificates", LENIENT, 'drop_mount("/etc/ssl/certs")', "fs.certs.on"),
    ("resolv.conf without network", STRICT,
     'insert(["--ro-bind", "/etc/resolv.conf", "/etc/resolv.conf"])', "fs.resolv.off"),
    ("no cache of libraries", STRICT, 'drop_mount("/etc/ld.so.cache", 5)', "works.ld_so_cache"),
    ("no hosts", STRICT, 'drop_mount("/etc/hosts", 5)', "works.etc_hosts"),
    ("another file's words", STRICT, 'replace_mount("/etc/hosts", ["--symlink", "/etc/passwd", "/etc/hosts"], 5)',
     "works.etc_hosts"),
    ("no passwd", STRICT, 'drop_mount("/etc/passwd", 5)', "fs.etc_passwd.mount"),
]


@pytest.mark.parametrize("cell,edit,rule", [e[1:] for e in EDITS], ids=[e[0] for e in EDITS])
def test_an_edit_is_named(edited_bwrap, cell, edit, rule):
    result = run_verify("--bwrap", edited_bwrap(edit), "--format", "json", *cell)
    assert result.status == 1, result.err
    assert rule in result.deviating()


def test_without_an_edit_the_same_hand_is_green(edited_bwrap):
    for cell in (LENIENT, STRICT, RO):
        result = run_verify("--bwrap", edited_bwrap("pass"), "--format", "json", *cell)
        assert result.status == 0, sorted(result.deviating())


@pytest.mark.parametrize("path", ["/usr", "/bin", "/lib64"])
def test_a_sandbox_that_runs_no_program_is_not_verified(edited_bwrap, path):
    result = run_verify("--bwrap", edited_bwrap(f'drop_mount("{path}")'), *STRICT)
    assert result.status == 3
    assert "cannot be executed inside" in result.out


def test_unshare_user_cannot_be_dropped_unnoticed(edited_bwrap):
    """bwrap implies it for an ordinary user, but --disable-userns insists on it."""
    result = run_verify("--bwrap", edited_bwrap('drop("--unshare-user")'), *STRICT)
    assert result.status == 3
    assert "--disable-userns" in result.out


def test_the_text_report_names_the_hole(edited_bwrap):
    secret = 'insert(["--ro-bind", home + "/.ssh", home + "/.ssh"])'
    result = run_verify("--bwrap", edited_bwrap(secret), *STRICT)
    assert result.status == 1
    for part in (
        "DEVIATION  read.ssh_key [S5]",
        "cells      claude/strict/rw/off",
        "expected   ENOENT",
        "inside     ok",
        "because    absent, not merely unreadable",
        "--agent claude --profile strict --fs rw --net off --rule 'read.ssh_key'",
        "THE SANDBOX DOES NOT DO WHAT ITS POLICY SAYS.",
    ):
        assert part in result.out
