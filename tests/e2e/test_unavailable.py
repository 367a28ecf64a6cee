"""When the sandbox cannot be had nothing is verified, nothing is green, and the message says
how to mend it."""

import json

import pytest

from conftest import BWRAP, run_verify, write_program

OLD_HELP = "\\n".join(
    f"    --{o} X" for o in ("args", "bind", "ro-bind", "tmpfs", "symlink", "proc", "dev", "chdir")
)

# name, script, code, part of the remedy
FAKES = [
    ("exits 0 without running anything", "exit 0", "bwrap-ran-nothing", "real bubblewrap"),
    ("killed", "kill -9 $$", "bwrap-failed", "system log"),
    ("hangs", "exec sleep 1000", "bwrap-timeout", "real bubblewrap"),
    ("too old", f"printf '{OLD_HELP}\\n'; exit 1", "bwrap-too-old", "0.8.0"),
    (
        "user namespaces forbidden",
        "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
        "userns-restricted",
        "AppArmor",
    ),
    (
        "no /proc in a nested container",
        'echo "bwrap: Can\'t mount proc on /newroot/proc: Operation not permitted" >&2; exit 1',
        "proc-mount-refused",
        "unmasked /proc",
    ),
    ("says nothing", "exit 1", "bwrap-failed", "by hand"),
    # Runs the command, but without any sandbox: available, and then red.
]


@pytest.mark.parametrize("script,code,remedy", [f[1:] for f in FAKES], ids=[f[0] for f in FAKES])
def test_a_defective_bwrap_is_status_3(fake_bwrap, script, code, remedy):
    result = run_verify("--bwrap", fake_bwrap(script), "--format", "json", "--agent", "claude")
    assert result.status == 3
    report = result.json
    assert report["error"]["code"] == code
    assert remedy in report["error"]["remedy"]
    assert report["counts"]["observations"] == 0
    text = run_verify("--bwrap", fake_bwrap(script), "--agent", "claude")
    assert text.status == 3
    assert "nothing was verified" in text.out and "to mend it:" in text.out
    assert "This is not a pass." in text.out


def test_a_missing_bwrap_is_status_3(public_dir):
    for args, env in (
        (("--bwrap", public_dir / "none"), None),
        ((), {"PATH": str(public_dir)}),
    ):
        result = run_verify("--format", "json", "--agent", "claude", *args, env=env)
        assert result.status == 3
        assert result.json["error"]["code"] == "bwrap-not-installed"
    assert "apt-get install bubblewrap" in result.json["error"]["remedy"]


def test_a_setuid_bwrap_is_refused(public_dir):
    fake = write_program(public_dir / "bwrap", "#!/bin/sh\nexit 0\n")
    fake.chmod(0o4755)
    result = run_verify("--bwrap", fake, "--format", "json", "--agent", "claude")
    assert result.status == 3
    assert result.json["error"]["code"] == "bwrap-setuid"


def test_a_bwrap_that_only_runs_the_command_is_red(fake_bwrap):
    """It passes every look at its exit status, and lets the kernel give pid 1 its landlock domain."""
    fake = fake_bwrap(
        f"""
        case "$1" in --help|--version) exec {BWRAP} "$1";; esac
        fd=$(tr '\\0' '\\n' </proc/self/fd/$2 | sed -n '/--json-status-fd/{{n;p}}')
        shift 3
        setpriv --no-new-privs "$@"
        code=$?
        echo "{{ \\"exit-code\\": $code }}" >/proc/self/fd/$fd
        exit $code
        """
    )
    result = run_verify("--bwrap", fake, "--format", "json", "--agent", "claude", "--fs", "ro")
    assert result.status == 1
    assert {"read.ssh_key", "proc.kill", "sibling.create"} <= result.deviating()


def test_a_bwrap_that_fails_in_one_cell_only_is_not_green(edited_bwrap):
    """The check before the first cell passes; a later start fails."""
    fake = edited_bwrap('a.append("--no-such-option") if work and "--unshare-net" not in a else 0')
    result = run_verify("--bwrap", fake, "--format", "json", "--agent", "claude", "--fs", "ro")
    assert result.status == 3
    troubled = [c["name"] for c in json.loads(result.out)["cells"] if c["trouble"]]
    assert troubled == ["claude/lenient/ro/on", "claude/strict/ro/on"]


def test_a_cell_that_hangs_is_killed_and_not_green(edited_bwrap):
    fake = edited_bwrap(
        'if "--unshare-net" not in a: sys.argv[3:] = ["--", "/bin/sleep", "1000"]'
    )
    result = run_verify(
        "--bwrap", fake, "--format", "json", "--timeout", "1", "--agent", "claude",
        "--profile", "strict", "--fs", "ro", "--net", "on",
    )
    assert result.status == 3
    assert "did not end in time" in result.json["cells"][0]["trouble"]
