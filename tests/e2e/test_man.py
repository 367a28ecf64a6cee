"""The manual pages say what the programs and docs/security.md say, no less and no more."""

import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, VERIFY

MAN = ROOT / "docs" / "man"
OPTION = r"(?:(-\w), )?(--[\w-]+)(?: ([A-Z]+))?"


def options_of_help():
    text = subprocess.run([VERIFY, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(rf"^ +{OPTION}(?:  |$)", text, re.M))


def options_of_page():
    plain = re.sub(r"[*_]", "", (MAN / "sbx-verify.1.scd").read_text())
    return set(re.findall(rf"^{OPTION}$", plain, re.M))


def test_every_option_is_in_the_page_and_no_other():
    assert len(options_of_help()) > 20
    assert options_of_page() == options_of_help()


def test_every_exit_status_is_in_the_page():
    readme = re.findall(r"^\| (\d) \|", (ROOT / "README.md").read_text(), re.M)
    page = re.findall(r"^\*(\d)\*$", (MAN / "sbx-verify.1.scd").read_text(), re.M)
    assert page == readme == ["0", "1", "2", "3"]


def test_every_section_of_the_promises_is_in_the_page_and_no_other():
    sections = re.findall(r"^## (.*)$", (ROOT / "docs" / "security.md").read_text(), re.M)
    page = re.findall(r"^\*(.*)\*$", (MAN / "sbx-security.7.scd").read_text(), re.M)
    assert page == sections and len(sections) > 10


@pytest.mark.parametrize("page, words", [("sbx-verify.1", "--scene-dir"), ("sbx-security.7", "blast-radius")])
def test_the_pages_are_built(page, words):
    """man must read it without a complaint."""
    assert shutil.which("scdoc"), "ci/deps installs it"
    text = (BUILD / "docs" / "man" / page).read_text()
    assert words.replace("-", "") in text.replace("\\", "").replace("-", "")
    assert text.count(".SH ") >= 4
