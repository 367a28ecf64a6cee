"""Runs last: what was seen is what docs/agents.md says."""

import os

import clis
import scripts
import table


def test_the_page_says_what_was_seen():
    if os.environ.get("SBX_AGENTS_UPDATE") == "1":
        table.write()
    page = table.documented()
    assert set(page) == {(call.name, name) for call in scripts.ALL for name in clis.REAL}
    seen = table.rows()
    assert seen == {key: page[key] for key in seen}


def test_the_page_says_what_was_promised():
    """Without sbx all of it happens, but for what an agent refuses by itself; with sbx nothing,
    but for work in the work dir, which may be written to in two of the four cells."""
    work = {"work.shell": 2, "work.write": 2, "work.read": 4}
    for (call, name), cell in table.documented().items():
        alone = "no" if call in clis.REAL[name].refuses else "yes"
        assert cell == f"{alone} / {work.get(call, 0)}", (call, name)


def test_the_page_names_the_pinned_versions():
    page = table.DOCS.read_text()
    for name, (_, version) in clis.pinned().items():
        if name in clis.REAL:
            assert f"| {name} | {version} |" in page
