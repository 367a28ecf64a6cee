"""Staged scenarios: sandboxes of their own, each seen failing in the same run."""

import re

import pytest

from conftest import run_verify as run_quickly



def run_verify(*args, **kwargs):
    return run_quickly(*args, staged=True, **kwargs)


CELL = ("--agent", "generic", "--profile", "strict", "--fs", "rw", "--net", "off")


def test_quick_leaves_them_out_and_says_so():
    run = run_verify("--quick", *CELL)
    assert run.status == 0
    assert "staged scenarios were not looked at" in run.out
    assert "The sandbox holds" not in run.out


def test_quick_and_nothing_else_to_do_is_no_pass():
    assert run_verify("--quick", "--rule", "stage.*").status == 2


def test_list_counts_their_starts():
    run = run_verify("--list", "--rule", "stage.*")
    assert run.status == 0
    rules = run.out.splitlines()
    assert rules and all("needs a start of its own" in line for line in rules)
    total, staged, starts = map(int, re.findall(r"\d+", run.err))
    assert total == staged == len(rules)
    assert starts > staged
    assert run_verify("--list", "--quick", *CELL).err.endswith("0 of them staged, with 0 extra starts\n")


def test_without_a_sandbox_each_shows_what_it_is_about():
    """The weakened launch stands in for the inside observation: all that protect deviate."""
    run = run_verify("--no-sandbox", "--format", "json", "--rule", "stage.fd.closed_*", *CELL)
    assert run.status == 1
    assert set(run.verdicts().values()) == {"mismatch"}
