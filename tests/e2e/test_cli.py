"""Wrong input gets a clear error and status 2; selections select."""

import os

import pytest

from conftest import ROOT, run_verify

WRONG = [
    (("--agent", "cursor"), "not one of claude codex gemini"),
    (("--fs", "maybe"), "--fs: 'maybe' is not one of rw ro"),
    (("--rule", "no.such.rule"), "--list shows them all"),
    (("--nope",), "no option --nope"),
    (("--jobs", "many"), "number from 1"),
    (("--timeout", "0"), "number from 1"),
    (("--format", "yaml"), "text, json or junit"),
    (("claude",), "not an option"),
    (("--output", "/nonexistent/report"), "No such file"),
    (("--expect", "/nonexistent"), "No such file"),
    (("--probe-dir", "/nonexistent"), "No such file"),
    (("--uid", "no-such-user"), "no-such-user" if os.geteuid() == 0 else "no user"),
]


@pytest.mark.parametrize("args,part", WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_input(args, part):
    result = run_verify(*args)
    assert result.status == 2
    assert part in result.err
    assert result.out == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may name another user")
def test_root_may_choose_the_user():
    result = run_verify("--uid", "0", "--agent", "generic", "--format", "json")
    assert result.status == 0, sorted(result.deviating())
    assert result.json["machine"]["uid"] == "0" and "do not confine" in result.json["note"]
    assert ("generic/lenient/rw/on", "priv.setuid0.root") in result.verdicts()
    result = run_verify("--uid", "12345", "--agent", "generic", "--format", "json")
    assert result.status == 0, result.out
    assert result.json["machine"]["uid"] == "12345"
    assert "gave up its rights" in result.json["note"]


def test_a_scene_directory_that_cannot_be_used():
    result = run_verify("--scene-dir", "/proc", "--agent", "generic")
    assert result.status == 3
    assert "--scene-dir" in result.out


def test_a_relative_scene_directory_is_made_absolute(public_dir):
    (public_dir / "scenes").mkdir()
    (public_dir / "scenes").chmod(0o777)
    result = run_verify(
        "--scene-dir", "scenes", "--agent", "generic", "--net", "off", cwd=public_dir
    )
    assert result.status == 0, result.out


def test_a_table_with_a_mistake_is_refused(public_dir):
    table = public_dir / "t.tbl"
    table.write_text("a fs=rw stat @ssh_key ENOENT ok [S1] half of the cells\n")
    result = run_verify("--expect", table)
    assert result.status == 2
    assert f"{table}:1: gap" in result.err
    table.write_text("a * stat @nobody ENOENT ok [S1] no such role\n")
    result = run_verify("--expect", table)
    assert result.status == 2 and "no role @nobody" in result.err


def test_an_operation_the_probe_does_not_know_is_not_a_pass(public_dir):
    table = public_dir / "t.tbl"
    table.write_text("a * levitate @ssh_key EPERM none:x [S1] no such act\n")
    result = run_verify("--expect", table, "--agent", "generic", "--format", "json")
    assert result.status == 3
    assert result.json["counts"]["missing"] == 8


def test_a_gap_that_has_closed_fails_the_run(public_dir):
    table = (ROOT / "matrix/oracle/expect.tbl").read_text()
    (public_dir / "t.tbl").write_text(table + "known read.aws fs=ro ok was open once\n")
    result = run_verify("--expect", public_dir / "t.tbl", "--agent", "claude", "--rule", "read.*",
                        "--format", "json")
    assert result.status == 1
    assert result.json["counts"]["fixed"] == 4


def test_a_weakened_expectation_is_noticed(public_dir):
    """The table decides: with one line bent, the same sandbox is red."""
    table = (ROOT / "matrix/oracle/expect.tbl").read_text()
    line = next(x for x in table.splitlines() if x.startswith("read.aws "))
    (public_dir / "t.tbl").write_text(table.replace(line, line.replace("ENOENT", "EACCES")))
    result = run_verify("--expect", public_dir / "t.tbl", "--agent", "claude", "--rule", "read.aws")
    assert result.status == 1
    assert "expected   EACCES" in result.out


def test_selection():
    result = run_verify("--agent", "codex,kiro", "--net", "off", "--fs", "ro", "--rule", "net.*",
                        "--format", "json")
    assert result.status == 0
    cells = result.json["cells"]
    assert [c["name"] for c in cells] == [
        "codex/lenient/ro/off", "codex/strict/ro/off", "kiro/lenient/ro/off", "kiro/strict/ro/off",
    ]
    assert all(o["rule"].startswith("net.") for c in cells for o in c["observations"])


def test_list_runs_nothing():
    result = run_verify("--list", "--rule", "git.*", "--bwrap", "/nonexistent")
    assert result.status == 0
    assert "git.hook" in result.out and "EROFS-host" in result.out
    assert "read.aws" not in result.out


def test_help_and_version():
    result = run_verify("--help")
    assert result.status == 0
    assert "--no-sandbox" in result.out and "Exit status" in result.out
    assert all(len(line) <= 100 for line in result.out.splitlines())
    assert run_verify("--version").out.startswith("sbx-verify 0.")


def test_fish_as_shell_and_an_odd_environment_change_nothing():
    env = {"SHELL": "/bin/false", "LC_ALL": "xx_YY", "HOME": "/nonexistent", "TMPDIR": "/nonexistent"}
    assert run_verify("--agent", "generic", "--net", "off", env=env).status == 0
