"""What a run says, in each of its three forms."""

import re
import xml.etree.ElementTree as ET

import pytest

from conftest import BWRAP, run_verify

CELL = ("--agent", "claude", "--profile", "lenient", "--fs", "rw", "--net", "on")


@pytest.fixture(scope="module")
def whole():
    """One run of all 56 cells."""
    return run_verify("--format", "json")


def test_all_56_cells_hold(whole):
    assert whole.status == 0, whole.err
    report = whole.json
    assert report["exit_status"] == 0
    assert report["counts"]["cells"] == report["counts"]["cells_verified"] == 56
    assert len({c["name"] for c in report["cells"]}) == 56
    counts = report["counts"]
    assert counts["observations"] == counts["observations_declared"] > 56 * 200
    assert counts["mismatch"] == counts["missing"] == counts["control-failed"] == 0


def test_every_observation_was_made_on_both_sides(whole):
    """A denial names a control that worked, or says in the table why there is none."""
    for cell in whole.json["cells"]:
        for obs in cell["observations"]:
            assert obs["inside"] is not None, (cell["name"], obs["rule"])
            assert obs["verdict"] in ("match", "known", "absent")


def test_two_runs_give_the_same_verdicts(whole):
    assert run_verify("--format", "json").verdicts() == whole.verdicts()


def test_several_jobs_give_the_same_verdicts(whole):
    assert run_verify("--format", "json", "--jobs", "3").verdicts() == whole.verdicts()


def test_the_machine_is_described(whole):
    machine = whole.json["machine"]
    for key in ("kernel", "machine", "uid", "user", "bwrap.path", "bwrap.version", "bwrap.sha256",
                "bwrap.owner", "bwrap.setuid", "probe.sha256", "sysctl.user.max_user_namespaces",
                "lsm", "sysctl.dev.tty.legacy_tiocsti"):
        assert key in machine
    assert machine["bwrap.path"] == BWRAP
    assert re.fullmatch("[0-9a-f]{64}", machine["bwrap.sha256"])
    assert machine["bwrap.setuid"] == "no"
    assert machine["uid"] != "0"


def test_each_cell_has_its_argv(whole):
    for cell in whole.json["cells"]:
        argv = cell["argv"]
        assert ("--unshare-net" in argv) == (cell["net"] == "off")
        assert "--setenv" not in argv


def test_no_canary_is_in_any_report(edited_bwrap):
    """Not even when the sandbox leaks them all."""
    leaky = edited_bwrap('replace_mount(home, ["--bind", home, home], 2)')
    for form in ("text", "json", "junit"):
        result = run_verify("--bwrap", leaky, "--format", form, *CELL)
        assert result.status == 1
        for text in (result.out, result.err):
            assert "sbx-canary" not in text
            assert not re.search(r"canary-sbx[0-9a-f]{16}-", text)


def test_text_tells_a_stranger_what_happened():
    result = run_verify(staged=True)
    assert result.status == 0, result.out
    lines = result.out.splitlines()
    row = re.compile(r"(claude|codex|gemini|opencode|agent|kiro|generic)? +(lenient|strict) ")
    grid = [line for line in lines if row.match(line)]
    assert len(grid) == 14
    assert sum(line.count("ok") for line in grid) == 56
    assert any(line.startswith("Known gaps") for line in lines)
    assert [line.split(": ")[1] for line in lines if line.startswith("Unverified")] == ["agent, kiro"]
    assert lines[-1] == "The sandbox holds on this machine."
    assert "\033" not in result.out


def test_junit_counts_what_json_counts(whole):
    result = run_verify("--format", "junit")
    assert result.status == 0
    suites = ET.fromstring(result.out).findall("testsuite")
    assert len(suites) == 56
    assert sum(int(s.get("tests")) for s in suites) == whole.json["counts"]["observations"]
    assert all(s.get("failures") == s.get("errors") == "0" for s in suites)
    assert whole.json["unverified_agents"] == ["agent", "kiro"]
    gaps = whole.json["counts"]["known"] + whole.json["counts"]["absent"]
    assert sum(int(s.get("skipped")) for s in suites) == gaps > 0


def test_junit_is_red_where_the_run_is(edited_bwrap, fake_bwrap):
    leaky = edited_bwrap('insert(["--ro-bind", home + "/.ssh", home + "/.ssh"])')
    result = run_verify("--bwrap", leaky, "--format", "junit", *CELL)
    suite = ET.fromstring(result.out).find("testsuite")
    assert int(suite.get("failures")) > 0
    failed = {c.get("name") for c in suite.iter("testcase") if c.find("failure") is not None}
    assert "read.ssh_key" in failed
    result = run_verify("--bwrap", fake_bwrap("exit 0"), "--format", "junit", *CELL)
    assert result.status == 3
    assert ET.fromstring(result.out).find("testsuite").get("errors") == "1"


def test_the_arm_without_a_sandbox_fails_massively():
    result = run_verify("--no-sandbox", "--format", "json")
    assert result.status == 1
    counts = result.json["counts"]
    assert counts["cells_verified"] == 0
    assert counts["mismatch"] > counts["observations"] / 2
    assert result.json["sandbox"] == "none"


def test_green_without_a_sandbox_is_no_pass():
    result = run_verify("--no-sandbox", "--rule", "works.zero", *CELL)
    assert result.status == 3
    assert "proves nothing" in result.out


def test_output_goes_to_a_file_and_the_verdict_to_stderr(public_dir):
    target = public_dir / "report.json"
    result = run_verify("--format", "json", "--output", target, *CELL)
    assert result.status == 0 and result.out == ""
    assert "hold" in result.err
    assert target.read_text().startswith("{")


def test_a_full_disk_is_not_a_pass():
    result = run_verify("--format", "json", "--output", "/dev/full", *CELL)
    assert result.status == 3
    assert "could not be written" in result.err
