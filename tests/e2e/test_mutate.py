"""sbx-verify mutate: a change of the launch is noticed, or explained, or the run fails."""

import json
import re

import pytest

from conftest import ROOT, run_verify

CELL = "generic/strict/rw/off"


def mutate(*args):
    return run_verify("mutate", "--cell", CELL, *args)


def fates(result):
    return {m["mutant"]: m["fate"] for m in result.json["mutants"]}


def test_flags_are_noticed_or_explained():
    result = mutate("--mutant", "drop:flag:*", "--format", "json")
    assert result.status == 0, result.out
    seen = fates(result)
    assert seen["drop:flag:--unshare-net"] == "killed"
    assert seen["drop:flag:--unshare-user"] == "refused"  # --disable-userns insists on it
    assert seen["drop:flag:--die-with-parent"] == "explained"
    killers = {m["mutant"]: m["noticed_by"] for m in result.json["mutants"]}
    assert "net.tcp4.off" in killers["drop:flag:--unshare-net"]
    assert result.json["summary"]["score"] == 1.0
    assert result.json["summary"]["partial"] is True


def test_walls_that_stand_together_are_taken_away_together():
    result = mutate("--mutant", "walls:p*", "--format", "json")
    killers = {m["mutant"]: m["noticed_by"] for m in result.json["mutants"]}
    assert "proc.ns_pid" in killers["walls:pid"]
    assert "proc.pid1_mem" in killers["walls:pid1"]


def test_the_text_has_table_explanations_and_score():
    result = mutate("--mutant", "*-rw:/*")
    assert result.status == 0, result.out
    assert re.search(r"^extra-rw:/run +1/1 +\S", result.out, re.M)
    assert re.search(r"^mutation score 1\.0000$", result.out, re.M)
    assert result.out.endswith("Every change of the launch is noticed, or explained.\n")


def test_an_unexplained_survivor_fails(public_dir):
    none = public_dir / "none.tbl"
    none.write_text("# nothing is explained\n")
    result = mutate("--mutant", "extra-ro:/usr", "--equivalent", none)
    assert result.status == 1
    for part in (
        "SURVIVED  extra-ro:/usr",
        f"    again      sbx-verify mutate --cell {CELL} --mutant 'extra-ro:/usr'",
        "mutation score 0.0000",
        "THE LAUNCH CAN BE CHANGED UNNOTICED",
    ):
        assert part in result.out


def test_a_survivor_beside_a_killed_one_is_an_error(public_dir):
    none = public_dir / "none.tbl"
    none.write_text("")
    result = mutate("--mutant", "extra-ro:/[ur]*", "--equivalent", none, "--format", "json")
    assert result.status == 1
    seen = fates(result)
    assert seen["extra-ro:/usr"] == "survived" and seen["extra-ro:/run"] == "killed"


def test_a_wrong_explanation_fails(public_dir):
    table = public_dir / "wrong.tbl"
    table.write_text("same drop:flag:--unshare-ipc * nobody could tell\n")
    result = mutate("--mutant", "drop:flag:--unshare-[in]*", "--equivalent", table)
    assert result.status == 1
    assert "EXPLANATION REFUTED  drop:flag:--unshare-ipc" in result.out
    assert "line 1: nobody could tell" in result.out


def test_a_rule_taken_away_lets_a_mutant_live(public_dir):
    """The control of the whole command: what noticed is the rule, nothing else."""
    table = public_dir / "t.tbl"
    full = (ROOT / "matrix/oracle/expect.tbl").read_text()
    blind = "\n".join(line for line in full.splitlines() if not line.startswith("ipc.shm"))
    table.write_text(blind)
    args = ("--mutant", "filter:add_key", "--expect")
    assert mutate(*args, table).status == 0
    table.write_text("\n".join(l for l in blind.splitlines() if not l.startswith("ipc.add_key")))
    result = mutate(*args, table, "--format", "json")
    assert fates(result)["filter:add_key"] == "survived"
    assert result.status != 0


def test_a_sandbox_that_does_not_hold_gives_no_score(edited_bwrap):
    leak = edited_bwrap('insert(["--ro-bind", home + "/.ssh", home + "/.ssh"])')
    result = mutate("--mutant", "drop:flag:--unshare-net", "--bwrap", leak)
    assert result.status == 3
    assert "NOT HOLDING AS IT IS" in result.out and "read.ssh_key: mismatch" in result.out
    assert "COULD NOT VERIFY" in result.out


def test_no_bwrap_is_no_score():
    result = mutate("--bwrap", "/nonexistent/bwrap")
    assert result.status == 3 and "COULD NOT VERIFY" in result.out


def test_list_runs_nothing():
    result = mutate("--list", "--mutant", "step:*")
    assert result.status == 0
    assert re.search(r"^step:session +1 cells$", result.out, re.M)
    assert re.search(r"^\d+ mutants$", result.err, re.M)


WRONG = [
    (("mutate", "--no-sandbox"), "no --no-sandbox"),
    (("mutate", "--format", "junit"), "no junit"),
    (("--mutant", "x"), "sbx-verify mutate"),
    (("mutate", "--cell", "nobody/*"), "no selected cell is called"),
    (("mutate", "--equivalent", "/nonexistent"), "No such file"),
]


@pytest.mark.parametrize("args,part", WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_input(args, part):
    result = run_verify(*args)
    assert result.status == 2 and part in result.err


def test_a_table_of_explanations_with_a_mistake_is_refused(public_dir):
    table = public_dir / "t.tbl"
    table.write_text("same drop:x *\n")
    result = mutate("--equivalent", table)
    assert result.status == 2 and f"{table}:1:" in result.err


def test_a_selected_mutant_that_does_not_exist_is_no_pass():
    assert mutate("--mutant", "no-such").status == 3
    json.loads(mutate("--mutant", "no-such", "--format", "json").out)
