"""Rows of the user's own: ~/.config/sbx/agents.d."""

import json
import os
import pathlib

import pytest

from sbx_world import ROOT, UID, World

AIDER = {
    "name": "aider",
    "command": "aider",
    "skip_flags": ["--yes-always"],
    "roots": [".aider"],
    "paths": [{"path": ".aider.conf.yml", "mode": "exec", "why": "names commands"},
              {"path": ".aider/history", "mode": "state"}],
    "env": ["AIDER_KEY"],
    "set_env": {"AIDER_CHECK_UPDATE": "false"},
}


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def write(world, text, name="aider.json", mode=0o644):
    path = world.home / ".config" / "sbx" / "agents.d" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text, indent=2))
    world.own()
    path.chmod(mode)
    return path


def rows(world, **env):
    result = world.run("agents", "--format", "json", env=env)
    assert result.returncode == 0, result.stderr
    return {row["name"]: row for row in json.loads(result.stdout)}


def test_a_row_is_added_and_said_to_be_the_users(world):
    path = write(world, AIDER)
    row = rows(world)["aider"]
    assert row["source"] == str(path)
    assert row["skip_flags"] == ["--yes-always"]
    assert not row["verified"]
    assert rows(world)["claude"]["source"] == "built in"
    text = world.run("agents", "aider").stdout
    assert ".aider.conf.yml" in text and str(path) in text
    # the last one stays what any other command is
    assert list(rows(world))[-1] == "generic"


def test_it_runs_with_its_flags_its_files_and_its_variables(world):
    write(world, AIDER)
    (world.home / ".aider" / "history").mkdir(parents=True)
    (world.home / ".aider" / "other").write_text("x")
    (world.home / ".aider.conf.yml").write_text("conf")
    world.agent("aider", '#!/bin/sh\necho "$@"; cat ~/.aider.conf.yml; ls ~/.aider\n'
                         "echo $AIDER_KEY $AIDER_CHECK_UPDATE\n"
                         "echo new >~/.aider/history/h; echo no 2>/dev/null >~/.aider.conf.yml || echo refused\n")
    result = world.run("run", "aider", "--", "hi", env={"AIDER_KEY": "key-of-aider"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["--yes-always", "hi", "confhistory", "key-of-aider", "false", "refused"]
    assert (world.home / ".aider" / "history" / "h").read_text() == "new\n"
    strict = world.run("run", "--profile", "strict", "aider", env={"AIDER_KEY": "key-of-aider"})
    assert "conf" not in strict.stdout.split() and "key-of-aider" not in strict.stdout


def test_the_manuals_example_is_one(world):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "man" / "sbx-agents.5.scd").read_text()
    write(world, page.split("```")[1])
    assert rows(world)["aider"]["env"] == ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]


def test_its_state_is_no_work_dir(world):
    write(world, AIDER)
    (world.home / ".aider" / "x").mkdir(parents=True)
    world.own()
    result = world.run("run", "--workdir", world.home / ".aider" / "x", "generic", "--", "true")
    assert result.returncode == 125
    assert ".aider" in result.stderr


def test_a_built_in_row_is_changed_key_by_key(world):
    before = rows(world)["claude"]
    write(world, {"name": "claude", "skip_flags": ["--mine"]})
    after = rows(world)["claude"]
    assert after["skip_flags"] == ["--mine"]
    assert after["paths"] == before["paths"]
    assert after["env"] == before["env"]
    assert not after["verified"]


def test_xdg_config_home_is_where_it_is_looked_for(world):
    path = write(world, AIDER)
    other = world.home / "cfg" / "sbx" / "agents.d"
    other.mkdir(parents=True)
    path.rename(other / "a.json")
    world.own()
    assert "aider" not in rows(world)
    assert "aider" in rows(world, XDG_CONFIG_HOME=str(world.home / "cfg"))


WRONG = [
    ("syntax", '{\n  "name": "a",\n  "command" "a"\n}', ":3:", "expected"),
    ("no object", "[]", ":1:1:", "an agent is an object"),
    ("twice", '{"name": "a", "name": "b"}', ":1:", "duplicate"),
    ("unknown key", '{\n  "name": "a",\n  "command": "a",\n    "flags": []\n}', ":4:5:", 'no "flags"'),
    ("no name", '{"command": "a"}', ":1:1:", '"name" is missing'),
    ("no command", '{"name": "a"}', ":1:1:", '"command" is missing'),
    ("bad name", '{"name": "A b", "command": "a"}', ":1:2:", "small letters"),
    ("generic", '{"name": "generic", "command": "a"}', ":1:2:", "any command"),
    ("flags no list", '{"name": "a", "command": "a",\n "skip_flags": "--x"}', ":2:2:", "a list of texts"),
    ("flag no text", '{"name": "a", "command": "a",\n "skip_flags": ["--x",\n   7]}', ":3:4:", "this is none"),
    ("variable", '{"name": "a", "command": "a", "env": ["A-B"]}', ":1:39:", "no name of a variable"),
    ("set variable", '{"name": "a", "command": "a", "set_env": {"A": 1}}', ":1:43:", "has a text"),
    ("path no object", '{"name": "a", "command": "a", "paths": ["x"]}', ":1:41:", "a path is"),
    ("path key", '{"name": "a", "command": "a",\n"paths": [{"path": "x", "mode": "exec"},\n {"path": "y", "as": 1}]}',
     ":3:16:", 'no "as"'),
    ("mode", '{"name": "a", "command": "a", "paths": [{"path": "x", "mode": "rw"}]}', ":1:55:", "one of config"),
    ("no mode", '{"name": "a", "command": "a", "paths": [{"path": "x"}]}', ":1:41:", "one of config"),
    ("key", '{"name": "a", "command": "a", "paths": [{"path": ".ssh/id", "mode": "config"}]}', ":1:42:", "'.ssh'"),
    ("above keys", '{"name": "a", "command": "a", "paths": [{"path": ".config", "mode": "config"}]}', ":1:42:",
     "which is not a's"),
    ("another agent's", '{"name": "a", "command": "a", "paths": [{"path": ".codex/auth.json", "mode": "config"}]}',
     ":1:42:", "'.codex'"),
    ("another agent's root", '{"name": "a", "command": "a", "roots": [".claude"]}', ":1:41:", "'.claude'"),
    ("dots", '{"name": "a", "command": "a", "paths": [{"path": "../x", "mode": "config"}]}', ":1:42:", "plainly"),
    ("tilde", '{"name": "a", "command": "a", "paths": [{"path": "~/x", "mode": "config"}]}', ":1:42:", "leave out"),
    ("home", '{"name": "a", "command": "a", "paths": [{"path": ".", "mode": "config"}]}', ":1:42:", "plainly"),
    ("absolute", '{"name": "a", "command": "a", "paths": [{"path": "/srv/x", "mode": "config"}]}', ":1:42:",
     "below HOME"),
    ("etc writable", '{"name": "a", "command": "a", "paths": [{"path": "/etc/a", "mode": "state"}]}', ":1:42:",
     "below HOME"),
    ("too large", '{"name": "a", "command": "a", "why": "' + "x" * 70000 + '"}', "", "larger than"),
]


@pytest.mark.parametrize("text,where,said", [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_not_understood_is_an_error_and_nothing_runs(world, text, where, said):
    path = write(world, text)
    mark = world.work / "ran"
    for args in (("agents",), ("run", "generic", "--", "touch", mark), ("plan", "generic", "--", "true")):
        result = world.run(*args)
        assert result.returncode == 125, result.stdout
        assert f"{path}{where}" in result.stderr
        assert said in result.stderr
        assert "to mend it" in result.stderr or said == "larger than"
    assert not mark.exists()


def test_one_name_in_two_files_is_an_error(world):
    write(world, AIDER, "a.json")
    write(world, AIDER, "b.json")
    result = world.run("agents")
    assert result.returncode == 125
    assert "b.json:2:3: 'aider' is in" in result.stderr and "a.json" in result.stderr


def test_a_file_that_others_can_write_is_refused(world):
    path = write(world, AIDER, mode=0o666)
    result = world.run("agents")
    assert result.returncode == 125
    assert f"chmod go-w {path}" in result.stderr


def test_other_files_are_no_rows(world):
    write(world, "{", ".hidden.json")
    write(world, "{", "aider.json~")
    assert "aider" not in rows(world)


@pytest.mark.skipif(not ROOT, reason="only root can have somebody else's HOME")
def test_root_reads_none(world):
    write(world, "{")
    result = world.run("run", "generic", "--", "true", root=True)
    assert result.returncode == 0, result.stderr
    assert os.stat(world.work).st_uid == UID
