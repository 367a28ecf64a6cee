"""sbx session: what is recorded is what is run, now and later, and nothing of it is lost."""

import json
import os
import random
import re
import select
import shlex
import signal
import sqlite3
import subprocess
import time

import pytest

from conftest import BWRAP, write_program
from sbx_world import PASSED, ROOT, UID, World
from test_sbx_plan import without_numbers

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture
def world(public_dir):
    world = World(public_dir)
    for d in (".claude/projects", ".codex/sessions", ".gemini/tmp/work"):
        (world.home / d).mkdir(parents=True)
    (world.home / ".gemini/tmp/work/.project_root").write_text(str(world.work))
    (world.work / ".git").mkdir()
    for name in ("claude", "codex", "gemini", "opencode"):
        world.agent(name)
    return world


@pytest.fixture
def recorder(world):
    """A bwrap that writes down what it was handed, and is the real one otherwise."""
    out = world.root / "record"
    out.mkdir()
    out.chmod(0o777)
    fake = write_program(
        world.root / "bwrap",
        f"""\
        #!/usr/bin/python3 -IS
        import json, os, signal, sys
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as Python found them
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if sys.argv[1] == "--args":
            fd = int(sys.argv[2])
            options = os.pread(fd, 1 << 20, 0).split(b"\\0")[:-1]
            fds = {{str(n): os.readlink(f"/proc/self/fd/{{n}}") for n in range(3, 100)
                   if os.path.islink(f"/proc/self/fd/{{n}}")}}
            with open({str(out / "json")!r}, "w") as f:
                json.dump({{"argv": [sys.argv[0], *map(os.fsdecode, options), *sys.argv[3:]], "fds": fds,
                           "env": sorted(os.environ.items())}}, f)
        os.execv({BWRAP!r}, sys.argv)
        """,
    )

    def record(*args):
        result = world.run(*args, "--bwrap", fake) if "--" not in args else world.run(
            *args[: args.index("--")], "--bwrap", fake, *args[args.index("--"):])
        got = json.loads((out / "json").read_text())
        (out / "json").unlink()
        return result, without_numbers(got["argv"], got["fds"]), got["env"]

    return record


def rows(world, **kwargs):
    result = world.run("session", "list", "--json", **kwargs)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def show(world, word, **kwargs):
    result = world.run("session", "show", "--json", word, **kwargs)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def new(world, *args, **kwargs):
    """Records one without starting it; returns its id."""
    result = world.run("session", "new", "--no-start", *args, **kwargs)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch("[0-9a-f]{8}\n", result.stdout)
    return result.stdout.strip()


def store(world):
    return world.home / ".local/state/sbx/sessions.db"


def sql(world, text, *values):
    with sqlite3.connect(store(world)) as db:
        got = db.execute(text, values).fetchall()
    db.close()
    return got


# ---- the same sandbox ----

CELLS = [
    (("claude",), ("--resume", "{}")),
    (("claude", "--profile", "strict", "--net", "on"), ("--session-id", "{}")),
    (("claude", "--fs", "ro", "--net", "off", "--", "--model", "x y"), ("--resume", "{}")),
    (("claude", "--ro-bind", "/var/lib", "--bind", "/srv", "--env", "UNLISTED", "--no-skip-permissions"),
     ("--resume", "{}")),
    (("codex", "--fs", "ro"), ("resume", "--last")),
    (("gemini", "--allow", "git-init"), ("--resume", "latest")),
    (("opencode", "--net", "off"), ()),
    (("generic", "--", "echo", "a 'b'"), ()),
]


@pytest.mark.parametrize("args,words", CELLS, ids=[" ".join(c[0]) for c in CELLS])
def test_the_same_policy_is_the_same_command_line(world, recorder, args, words):
    """What bwrap gets from 'sbx run', from 'sbx session new' and from 'sbx session resume', byte by
    byte but for the words with which the agent is told of its conversation; the environment, too."""
    head, tail = (args[: args.index("--")], args[args.index("--") + 1:]) if "--" in args else (args, ())
    if "/srv" in args:
        head = tuple(str(world.work.parent / "more") if a == "/srv" else a for a in head)
        (world.root / "more").mkdir()
        (world.root / "more").chmod(0o777)
    created, argv, env = recorder("session", "new", *head, *(("--", *tail) if tail else ()))
    assert created.returncode == 0, created.stderr
    (row,) = rows(world)
    first = ("--session-id", row["conversation"]) if row["conversation"] else ()
    _, ran, ran_env = recorder("run", *head, "--", *first, *tail)
    assert (argv, env) == (ran, ran_env)
    for _ in range(2):
        resumed, argv, env = recorder("session", "resume", row["id"])
        assert resumed.returncode == 0, resumed.stderr
        row = show(world, row["id"])
        again = [w.replace("{}", row["conversation"] or "") for w in words]
        _, ran, ran_env = recorder("run", *head, "--", *again, *tail)
        assert (argv, env) == (ran, ran_env)


def test_show_tells_the_same_sandbox_for_sbx_run(world, recorder):
    """The line that is shown is the sandbox that is recorded."""
    id = new(world, "claude", "--profile", "strict", "--fs", "ro", "--ro-bind", "/var/lib", "--env", "A_1",
             "--allow", "git-init", "--no-skip-permissions", "--", "a 'b'", "")
    text = world.run("session", "show", id).stdout
    words = shlex.split(re.search("the same as +sbx (.*)", text).group(1))
    _, shown, _ = recorder(*words)
    _, resumed, _ = recorder("session", "resume", "--fresh", id)
    conversation = show(world, id)["conversation"]
    i = resumed.index("--session-id")
    assert resumed[i + 1] == conversation
    assert shown == resumed[:i] + resumed[i + 2:]


def test_it_is_really_the_same_sandbox(world):
    script = "touch here; ls /sys/class/net /proc/self/ns >/dev/null; grep -c : /proc/net/dev"
    id = new(world, "--fs", "ro", "--net", "off", "generic", "--", "sh", "-c", script)
    for _ in range(2):
        result = world.run("session", "resume", id)
        assert "Read-only file system" in result.stderr and result.stdout == "1\n"
        assert not (world.work / "here").exists()


def test_from_another_directory_it_is_still_the_same_work_dir(world):
    id = new(world, "generic", "--", "pwd")
    assert world.run("session", "resume", id, cwd="/").stdout == f"{world.work}\n"
    link = world.root / "link"
    link.symlink_to(world.work)
    id = new(world, "--workdir", link, "generic", "--", "pwd")
    link.unlink()
    assert world.run("session", "resume", id, cwd="/").stdout == f"{world.work}\n"


def test_other_arguments_for_once(world):
    id = new(world, "claude", "--", "-p", "first")
    result = world.run("session", "resume", id, "--", "-p", "second")
    assert result.stdout.split()[-2:] == ["-p", "second"]
    assert show(world, id)["args"] == ["-p", "first"]


# ---- the row ----


def wait_for(path, process):
    """Until there is such a file; a process that ends before it fails the test."""
    deadline = time.monotonic() + 30
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_row_is_there_before_the_agent_starts_and_knows_its_end(world):
    script = "touch ready; while ! test -e go; do sleep 0.02; done; exit 7"
    proc = world.popen("session", "new", "--name", "one", "generic", "--", "sh", "-c", script, text=True)
    wait_for(world.work / "ready", proc)
    row = show(world, "one")
    assert row["status"] is None and row["sandboxed"] and row["workdir"] == str(world.work)
    (world.work / "go").touch()
    _, err = proc.communicate(timeout=30)
    assert proc.returncode == 7 and f"sbx: session {row['id']}\n" in err
    after = show(world, "one")
    assert after["status"] == 7 and after["used"] >= row["used"]


def test_two_sessions_of_one_work_dir_at_once(world):
    script = 'touch ready-$0; while ! test -e go; do sleep 0.02; done; echo "$0" >from-$0'
    procs = [world.popen("session", "new", "--name", n, "generic", "--", "sh", "-c", script, n) for n in ("a", "b")]
    for n, proc in zip(("a", "b"), procs):
        wait_for(world.work / f"ready-{n}", proc)
    (world.work / "go").touch()
    for n, proc in zip(("a", "b"), procs):
        proc.communicate(timeout=30)
        assert proc.returncode == 0 and show(world, n)["status"] == 0
        assert (world.work / f"from-{n}").read_text() == f"{n}\n"
    for n in ("a", "b"):
        (world.work / f"from-{n}").unlink()
        assert world.run("session", "resume", n).returncode == 0
        assert (world.work / f"from-{n}").exists()


def test_a_signal_is_128_and_more_also_on_record(world):
    id = new(world, "generic", "--", "sh", "-c", "kill -TERM $$")
    assert world.run("session", "resume", id).returncode == 143
    assert show(world, id)["status"] == 143


def test_no_value_of_a_variable_is_recorded(world):
    world.run("session", "new", "--env", "UNLISTED", "claude")
    data = store(world).read_bytes()
    assert b"UNLISTED" in data
    assert PASSED.encode() not in data and b"withheld-value" not in data


def test_the_list_is_for_people_and_for_programs(world):
    a = new(world, "--name", "first", "claude")
    b = new(world, "--sandbox", "none", "codex")
    sql(world, "UPDATE session SET used = 1 WHERE id = ?", a)
    text = world.run("session", "list").stdout.splitlines()
    assert text[0].split() == ["ID", "NAME", "AGENT", "SANDBOX", "USED", "STATUS", "WORK", "DIR"]
    assert text[1].startswith(b) and "NONE" in text[1] and text[2].startswith(a) and "lenient, rw, net on" in text[2]
    listed = rows(world)
    assert [r["id"] for r in listed] == [b, a]
    assert listed[0]["sandbox"] is None and listed[0]["sandboxed"] is False
    assert listed[1]["sandbox"] == {"profile": "lenient", "fs": "rw", "net": "on", "binds": [], "env": [], "allow": [],
                                    "skip_permissions": True}
    assert re.fullmatch(UUID, listed[1]["conversation"])
    assert world.run("session", "rm", a, b).returncode == 0
    assert rows(world) == []
    empty = world.run("session", "list")
    assert (empty.returncode, empty.stdout) == (0, "") and "session new" in empty.stderr


def test_all_are_removed_or_none(world):
    ids = [new(world, "--name", n, "claude") for n in ("a", "b", "c")]
    result = world.run("session", "rm", ids[0], "b", "nothing", "c")
    assert result.returncode == 125 and "'nothing'" in result.stderr
    assert len(rows(world)) == 3
    assert world.run("session", "rm", ids[0], "b").returncode == 0
    assert [r["name"] for r in rows(world)] == ["c"]


def test_control_characters_do_not_reach_the_terminal(world):
    evil = world.root / "a\033[2Jb"
    evil.mkdir()
    evil.chmod(0o777)
    id = new(world, "--workdir", evil, "generic", "--", "echo", "\033[2J")
    for args in (("list",), ("show", id)):
        assert "\033" not in world.run("session", *args).stdout
    assert show(world, id)["workdir"] == str(evil)


# ---- without a sandbox ----


def test_a_session_without_a_sandbox_says_so_each_time(world):
    text = '#!/bin/sh\npwd; echo "$@"; cat "$HOME/.ssh/id"\n'
    world.agent(text=text)
    first = world.run("session", "new", "--sandbox", "none", "claude", "--", "x")
    id = rows(world)[0]["id"]
    for result in (first, world.run("session", "resume", id, cwd="/")):
        assert result.returncode == 0
        assert "RUNS WITHOUT A SANDBOX" in result.stderr
        lines = result.stdout.splitlines()
        assert lines[0] == str(world.work) and "skip-permissions" not in lines[1] and lines[2] == "secret key"
    assert show(world, id)["status"] == 0


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"])
def test_signals_reach_it_as_well(world, name):
    script = f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.02; done"
    number = getattr(signal, "SIG" + name)
    # Whoever runs the tests may ignore it, as nohup does, and a shell traps no signal that it came with ignored.
    proc = world.popen("session", "new", "--sandbox", "none", "generic", "--", "sh", "-c", script, text=True,
                       preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    assert proc.stdout.readline() == "ready\n"
    proc.send_signal(number)
    out, _ = proc.communicate(timeout=30)
    assert (proc.returncode, out) == (9, f"got {name}\n")
    assert rows(world)[0]["status"] == 9


def test_without_a_sandbox_the_status_is_reported(world):
    id = new(world, "--sandbox", "none", "generic", "--", "sh", "-c", "kill -KILL $$")
    r, w = os.pipe()
    result = world.run("session", "resume", id, "--status-fd", w, pass_fds=(w,))
    os.close(w)
    with os.fdopen(r) as f:
        status = json.loads(f.read())
    assert result.returncode == 137
    assert (status["how"], status["signal"], status["sandboxed"]) == ("signal", 9, False)


def test_what_cannot_be_executed_is_an_error_on_record(world):
    id = new(world, "--sandbox", "none", "generic", "--", "/nonexistent/x")
    result = world.run("session", "resume", id)
    assert result.returncode == 125 and "No such file" in result.stderr
    assert show(world, id)["status"] == 125


# ---- when it cannot be had ----


@pytest.mark.parametrize("how", ["gone", "useless"])
def test_a_sandbox_that_cannot_be_had_is_an_error_and_nothing_runs(world, fake_bwrap, how):
    world.agent(text="#!/bin/sh\ntouch ran\n")
    id = new(world, "claude")
    bwrap = "/nonexistent/bwrap" if how == "gone" else fake_bwrap("exit 1")
    result = world.run("session", "resume", "--bwrap", bwrap, id)
    assert result.returncode == 125 and "to mend it" in result.stderr
    assert not (world.work / "ran").exists()
    row = show(world, id)
    assert row["status"] is None and row["used"] == row["created"]
    result = world.run("session", "new", "--bwrap", bwrap, "claude")
    assert result.returncode == 125
    assert len(rows(world)) == 1 and not (world.work / "ran").exists()


def test_a_work_dir_that_is_gone_is_an_error(world):
    (world.root / "gone").mkdir()
    (world.root / "gone").chmod(0o777)
    for args in ((), ("--sandbox", "none")):
        id = new(world, "--workdir", world.root / "gone", *args, "generic", "--", "true")
        (world.root / "gone").rename(world.root / "away")
        result = world.run("session", "resume", id)
        assert result.returncode == 125 and "gone" in result.stderr and "to mend it" in result.stderr
        (world.root / "away").rename(world.root / "gone")


@pytest.mark.parametrize(
    "column,value",
    [
        ("sandbox", "{}"),
        ("sandbox", ""),
        ("sandbox", '{"fs":"rw","net":"on"}'),
        ("args", '{"x":1}'),
        ("agent", "clawd"),
    ],
)
def test_a_row_that_makes_no_sense_runs_nothing(world, column, value):
    """Least of all without a sandbox."""
    world.agent(text="#!/bin/sh\ntouch ran\n")
    id = new(world, "claude")
    sql(world, f"UPDATE session SET {column} = ? WHERE id = ?", value, id)
    result = world.run("session", "resume", id)
    assert result.returncode == 125 and "to mend it" in result.stderr
    assert not (world.work / "ran").exists()
    (row,) = rows(world)  # it can still be listed, and removed
    assert row["sandboxed"] is True and row["sandbox"] is not None
    assert world.run("session", "rm", id).returncode == 0


# ---- the conversation ----

# An agent that fails to resume what it does not know, as claude does.
FORGETFUL = """#!/bin/sh
echo "$@" >>{log}
case " $* " in
*" --resume "*|*" --last "*|*" latest "*) echo "no such conversation" >&2; {last} ;;
esac
echo begun
"""


def forgetful(world, name="claude", last="exit 1"):
    log = world.work / "log"
    log.unlink(missing_ok=True)
    world.agent(name, FORGETFUL.format(log=log, last=last))
    return lambda: [line.split() for line in log.read_text().splitlines()]


def slug(world):
    d = world.home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(world.work))
    d.mkdir(exist_ok=True)
    return d


def test_a_conversation_that_is_not_there_is_begun_anew_and_said(world):
    log = forgetful(world)
    id = new(world, "claude")
    first = show(world, id)["conversation"]
    result = world.run("session", "resume", id)
    assert (result.returncode, result.stdout) == (0, "begun\n")  # its output is not lost
    assert "starts anew: it has ended at once, and no file of its conversation is there" in result.stderr
    again, fresh = log()
    second = show(world, id)["conversation"]
    assert again[-2:] == ["--resume", first] and fresh[-2:] == ["--session-id", second] and second != first
    assert show(world, id)["status"] == 0


@pytest.mark.parametrize("name,file", [
    ("claude", "{slug}/{id}.jsonl"),
    ("codex", ".codex/sessions/2026/01/02/rollout-x.jsonl"),
    ("gemini", ".gemini/tmp/work/chats/session-1.json"),
])
def test_a_conversation_that_is_there_is_never_given_up(world, name, file):
    """The agent fails for some other reason: nothing is started behind its back."""
    log = forgetful(world, name)
    id = new(world, name)
    path = world.home / file.format(slug=slug(world), id=show(world, id)["conversation"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    world.own()
    result = world.run("session", "resume", id)
    assert result.returncode == 1 and len(log()) == 1
    assert f"sbx session resume --fresh {id}" in result.stderr
    path.unlink()
    result = world.run("session", "resume", id)
    assert result.returncode == 0 and len(log()) == 3
    assert "starts anew" in result.stderr


@pytest.mark.parametrize("why,last,kwargs,status", [
    ("it was killed", "kill -KILL $$", {}, 137),
    ("it ended well", "exit 0", {}, 0),
    ("it may have read", "exit 1", {"input": "a prompt"}, 1),
])
def test_it_is_not_started_twice_when(world, why, last, kwargs, status):
    log = forgetful(world, last=last)
    id = new(world, "claude")
    result = world.run("session", "resume", id, **kwargs)
    assert result.returncode == status and len(log()) == 1
    assert "starts anew" not in result.stderr
    assert ("--fresh" in result.stderr) == (why == "it may have read")


def test_a_late_failure_is_no_missing_conversation(world):
    log = forgetful(world, last="sleep 10.2; exit 1")
    id = new(world, "claude")
    assert world.run("session", "resume", id).returncode == 1
    assert len(log()) == 1


@pytest.mark.parametrize("args,words", [
    (("claude", "--profile", "strict"), "its sandbox keeps no conversations"),
    (("opencode",), "its sandbox keeps no conversations"),
    (("claude", "--", "--continue"), "says what is to be done"),
    (("claude", "--", "--resume=x"), "says what is to be done"),
    (("codex", "--", "exec", "x"), "says what is to be done"),
])
def test_what_is_not_even_tried(world, args, words):
    world.agent(args[0], '#!/bin/sh\necho "$@"\n')
    id = new(world, *args)
    result = world.run("session", "resume", id)
    assert result.returncode == 0 and words in result.stderr
    assert len(result.stdout.splitlines()) == 1
    assert "--last" not in result.stdout
    assert result.stdout.count("--resume") == ("--resume=x" in args)


def test_fresh_is_fresh(world):
    log = forgetful(world)
    id = new(world, "claude")
    first = show(world, id)["conversation"]
    result = world.run("session", "resume", "--fresh", id)
    assert result.returncode == 0 and "--fresh says so" in result.stderr
    assert len(log()) == 1 and log()[0][-2] == "--session-id" and log()[0][-1] != first


def test_a_row_of_schema_1_knows_no_conversation(world):
    path = store(world)
    path.parent.mkdir(parents=True, mode=0o700)
    with sqlite3.connect(path) as db:
        db.executescript(
            "PRAGMA application_id = 0x73627873;"
            "CREATE TABLE session (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE, agent TEXT NOT NULL,"
            " workdir TEXT NOT NULL, sandbox TEXT, created INTEGER NOT NULL, used INTEGER NOT NULL, status INTEGER)"
            " STRICT;"
            f"INSERT INTO session VALUES ('00000001', 'old', 'claude', '{world.work}', "
            "'{\"fs\":\"ro\",\"net\":\"off\"}', 1, 2, NULL); PRAGMA user_version = 1;"
        )
    db.close()
    path.parent.chmod(0o700)
    path.chmod(0o600)
    world.own()
    result = world.run("session", "resume", "old")
    assert result.returncode == 0 and "no conversation is on record" in result.stderr
    row = show(world, "old")
    assert row["sandbox"]["fs"] == "ro" and row["sandbox"]["net"] == "off"
    assert re.fullmatch(UUID, row["conversation"]) and row["conversation"] in result.stdout
    again = world.run("session", "resume", "old")
    assert again.stdout.split()[-2:] == ["--resume", row["conversation"]]


# ---- many at once, kills, disks ----


def test_many_at_once_lose_nothing(world):
    procs = [world.popen("session", "new", "--no-start", "--name", f"n{i}", "generic", "--", "true", text=True)
             for i in range(24)]
    ids = set()
    for proc in procs:
        out, err = proc.communicate(timeout=120)
        assert proc.returncode == 0, err
        ids.add(out.strip())
    assert len(ids) == 24 and {r["id"] for r in rows(world)} == ids


def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(world):
    rng = random.Random(7)
    known = {new(world, "generic", "--", "true")}
    began = time.monotonic()
    new(world, "generic", "--", "true")
    took = time.monotonic() - began
    known |= {r["id"] for r in rows(world)}
    for _ in range(40):
        proc = world.popen("session", "new", "--no-start", "generic", "--", "true", text=True)
        select.select([proc.stdout], [], [], rng.uniform(0, took * 1.2))
        proc.kill()
        out, _ = proc.communicate(timeout=30)
        if out.endswith("\n"):
            known.add(out.strip())
        listed = {r["id"] for r in rows(world)}
        assert known <= listed  # one more may be there: it was written, but not said
    assert sql(world, "PRAGMA integrity_check") == [("ok",)]
    assert len(known) > 3, "no attempt was fast enough to tell anything"


def in_namespace(world, script, **env):
    """As root of a user and mount namespace of one's own."""
    kwargs = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", script],
        env=world.env(SBX=str(world.sbx), **env), cwd=world.work, capture_output=True, text=True, timeout=120,
        check=False, **kwargs,
    )


def test_a_full_disk_loses_nothing(world):
    (world.home / "state").mkdir()
    world.own()
    result = in_namespace(
        world,
        """
        mount -t tmpfs -o size=128k,mode=0700 tmpfs "$XDG_STATE_HOME"
        long=$(head -c 3000 /dev/zero | tr '\\0' x)
        n=0
        while "$SBX" session new --allow-root --no-start generic -- echo "$long" >/dev/null 2>err; do
            n=$((n + 1))
            test $n -lt 1000
        done
        cat err
        echo "$n acknowledged"
        "$SBX" session list --allow-root --json 2>/dev/null >list
        id=$(grep -m1 '"id"' list | cut -d'"' -f4)
        "$SBX" session rm --allow-root "$id" 2>&1 || echo "rm failed"
        "$SBX" session list --allow-root --json 2>/dev/null >after
        """,
        XDG_STATE_HOME=str(world.home / "state"),
    )
    assert result.returncode == 0, result.stderr
    assert "full" in result.stdout and "free some space" in result.stdout
    n = int(re.search(r"(\d+) acknowledged", result.stdout).group(1))
    assert n > 3
    listed = json.loads((world.work / "list").read_text())
    assert len(listed) == n and all(len(r["args"][1]) == 3000 for r in listed)
    assert len(json.loads((world.work / "after").read_text())) == n - ("rm failed" not in result.stdout)


def test_no_space_for_even_the_first(world):
    (world.home / "state").mkdir()
    world.own()
    result = in_namespace(
        world,
        """
        mount -t tmpfs -o size=4k,mode=0700 tmpfs "$XDG_STATE_HOME"
        head -c 4096 /dev/zero >"$XDG_STATE_HOME/fill" || true
        "$SBX" session new --allow-root --no-start generic -- true
        """,
        XDG_STATE_HOME=str(world.home / "state"),
    )
    assert result.returncode == 125 and "free some space" in result.stderr


def test_a_read_only_directory_can_be_read(world):
    id = new(world, "claude")
    sql(world, "UPDATE session SET used = 1")
    data = store(world).read_bytes()
    store(world).parent.chmod(0o500)
    try:
        assert rows(world)[0]["id"] == id
        for args in (("new", "--no-start", "claude"), ("rm", id), ("resume", id)):
            result = world.run("session", *args)
            assert result.returncode == 125, args
            assert "chmod u+w" in result.stderr and result.stdout == ""
        assert store(world).read_bytes() == data
    finally:
        store(world).parent.chmod(0o700)


def test_a_read_only_file_system_can_be_read(world):
    id = new(world, "claude")
    data = store(world).read_bytes()
    result = in_namespace(
        world,
        """
        mount --bind "$HOME/.local/state" "$HOME/.local/state"
        mount -o remount,bind,ro "$HOME/.local/state"
        "$SBX" session list --allow-root
        ! "$SBX" session new --allow-root --no-start generic -- true
        ! "$SBX" session rm --allow-root ID
        """.replace("ID", id),
    )
    assert result.returncode == 0, result.stderr
    assert id in result.stdout and "Read-only file system" in result.stderr
    assert "XDG_STATE_HOME" in result.stderr
    assert store(world).read_bytes() == data


def test_a_state_directory_that_cannot_be_made(world):
    result = world.run("session", "new", "--no-start", "claude", env={"XDG_STATE_HOME": "/proc/x"})
    assert result.returncode == 125 and "XDG_STATE_HOME" in result.stderr
    result = world.run("session", "new", "--no-start", "claude", env={"HOME": ""})
    assert result.returncode == 125 and "HOME" in result.stderr


@pytest.mark.parametrize("what", ["junk", "database", "newer", "link", "shared"])
def test_what_is_not_ours_is_refused_and_left_alone(world, what):
    id = new(world, "claude")
    db = store(world)
    other = world.home / "other"
    if what == "junk":
        db.write_text("x" * 5000)
    elif what == "database":
        sql(world, "PRAGMA application_id = 7")
    elif what == "newer":
        sql(world, "PRAGMA user_version = 99")
    elif what == "link":
        db.rename(other)
        db.symlink_to(other)
        db.parent.chmod(0o777)
    else:
        db.parent.chmod(0o777)
    data = db.read_bytes()
    names = sorted(p.name for p in db.parent.iterdir())
    for args in (("list",), ("show", id), ("rm", id), ("resume", id), ("new", "--no-start", "claude")):
        result = world.run("session", *args)
        assert (result.returncode, result.stdout) == (125, ""), args
        assert "to mend it" in result.stderr
    assert db.read_bytes() == data
    assert sorted(p.name for p in db.parent.iterdir()) == names
    if what in ("link", "shared"):
        assert "chmod go-w" in result.stderr
        db.parent.chmod(0o700)
        result = world.run("session", "list")
        assert (result.returncode == 0) == (what == "shared")
        assert what == "shared" or "symbolic link" in result.stderr


# ---- who could change it ----


@pytest.mark.parametrize("command", [("run",), ("plan",), ("session", "new"), ("session", "new", "--no-start")])
def test_no_sandbox_is_made_over_the_store(world, command):
    """What runs inside would decide that it is resumed without a sandbox."""
    for args, env in (
        ((), {"XDG_STATE_HOME": str(world.work / "state")}),
        (("--fs", "ro"), {"XDG_STATE_HOME": str(world.work / "state")}),
        (("--bind", world.root / "more"), {"XDG_STATE_HOME": str(world.root / "more")}),
        (("--workdir", world.root / "more/sbx"), {"XDG_STATE_HOME": str(world.root / "more")}),
        (("--workdir", world.home / ".local/state"), {}),
    ):
        for d in (world.root / "more/sbx", world.home / ".local/state"):
            d.mkdir(parents=True, exist_ok=True)
            d.chmod(0o755)
        if ROOT:
            os.chown(world.root / "more", UID, UID)
            os.chown(world.root / "more/sbx", UID, UID)
        world.own()
        result = world.run(*command, *args, "generic", "--", "true", env=env)
        assert result.returncode == 125, (args, result.stdout)
        assert "store of sessions" in result.stderr or "credential" in result.stderr
    assert not (world.work / "state").exists()


# ---- root ----


def as_root(world, *args):
    """Started by root, where the owner of the work dir has a home: his passwd is made up."""
    passwd = world.root / "passwd"
    passwd.write_text(f"root:x:0:0::/root:/bin/sh\nowner:x:{UID}:{UID}::{world.home}:/bin/sh\n")
    return subprocess.run(
        ["unshare", "--mount", "sh", "-euc", 'mount --bind "$1" /etc/passwd; shift; exec "$@"', "sh", passwd, world.sbx,
         *args], env=world.env(HOME="/root"), cwd=world.work, capture_output=True, text=True, timeout=60, check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_root_records_with_the_owner_of_the_work_dir(world):
    """And the agent has its key each time, and nothing else that root had."""
    world.agent(text='#!/bin/sh\nid -u; echo "$ANTHROPIC_API_KEY $UNLISTED"\n')
    (world.home / ".local").mkdir(exist_ok=True)
    world.own()
    result = as_root(world, "session", "new", "--name", "x", "claude")
    assert result.stdout == f"{UID}\n{PASSED} \n", result.stderr
    assert store(world).stat().st_uid == UID
    result = as_root(world, "session", "resume", "x")
    assert result.stdout == f"{UID}\n{PASSED} \n", result.stderr
    assert as_root(world, "session", "resume", "y").returncode == 125
    assert " x " in as_root(world, "session", "list").stdout
    as_root(world, "session", "new", "--no-start", "--env", "UNLISTED", "--name", "z", "claude")
    result = as_root(world, "session", "resume", "z")  # the store is not root's to trust
    assert result.stdout == f"{UID}\n{PASSED} \n" and "only the session names" in result.stderr
    assert as_root(world, "session", "rm", "x", "z").returncode == 0
    assert rows(world) == []


# ---- wrong input ----

WRONG = [
    (("session",), "Usage: sbx session"),
    (("session", "frob"), "no command 'session frob'"),
    (("session new",), "no command 'session new'"),
    (("session", "--fast"), "no option --fast"),
    (("session", "new"), "no agent is named"),
    (("session", "new", "clawd"), "not known"),
    (("session", "new", "generic"), "needs a command"),
    (("session", "new", "claude", "-p"), "no option -p"),
    (("session", "new", "claude", "x"), "stands after '--'"),
    (("session", "new", "--name", "", "claude"), "cannot name a session"),
    (("session", "new", "--name", "a b", "claude"), "cannot name a session"),
    (("session", "new", "--name", "deadbeef", "claude"), "cannot name a session"),
    (("session", "new", "--workdir", "/nonexistent", "claude"), "/nonexistent"),
    (("session", "new", "--workdir", "/etc/passwd", "--sandbox", "none", "claude"), "not a directory"),
    (("session", "new", "--sandbox", "none", "--fs", "ro", "claude"), "means nothing"),
    (("session", "new", "--on-unavailable", "error", "claude"), "no option"),
    (("session", "new", "agent"), "not found in PATH"),
    (("session", "new", "--bind", "/nonexistent", "claude"), "/nonexistent"),
    (("session", "list", "x"), "'x' means nothing here"),
    (("session", "list", "--"), "'--' means nothing here"),
    (("session", "show"), "no session is named"),
    (("session", "show", "a", "b"), "'b' means nothing here"),
    (("session", "show", "nothing"), "no session 'nothing'"),
    (("session", "resume"), "no session is named"),
    (("session", "resume", "nothing"), "no session 'nothing'"),
    (("session", "resume", "a", "b"), "stands after '--'"),
    (("session", "resume", "--fs", "ro", "a"), "no option --fs"),
    (("session", "rm"), "no session is named"),
    (("session", "rm", ""), "no session ''"),
]


@pytest.mark.parametrize("args,words", WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_input(world, args, words):
    result = world.run(*args)
    assert (result.returncode, result.stdout) == (125, "")
    assert words in result.stderr
    assert not store(world).exists()


def test_a_name_is_taken_once(world):
    new(world, "--name", "x", "claude")
    result = world.run("session", "new", "--name", "x", "claude")
    assert result.returncode == 125 and "taken" in result.stderr and "sbx session rm x" in result.stderr
    assert len(rows(world)) == 1


@pytest.mark.parametrize("where", ["workdir", "argument", "bind"])
def test_what_is_no_utf8_is_not_recorded(world, where):
    odd = os.fsencode(world.root) + b"/\xff"
    os.mkdir(odd)
    os.chmod(odd, 0o777)
    args = {"workdir": ("--workdir", odd, "claude"), "argument": ("generic", "--", "echo", b"\xff"),
            "bind": ("--ro-bind", odd, "claude")}[where]
    proc = subprocess.run(
        [str(world.sbx), "session", "new", *args], env=world.env(), cwd=world.work, capture_output=True, check=False,
        stdin=subprocess.DEVNULL, **({"user": UID, "group": UID, "extra_groups": []} if ROOT else {}),
    )
    assert proc.returncode == 125 and b"UTF-8" in proc.stderr and not store(world).exists()


def test_a_time_limit_needs_a_sandbox(world):
    id = new(world, "--sandbox", "none", "generic", "--", "true")
    result = world.run("session", "resume", "--timeout", 5, id)
    assert result.returncode == 125 and "timeout(1)" in result.stderr
    id = new(world, "generic", "--", "sleep", "100")
    assert world.run("session", "resume", "--timeout", 1, id).returncode == 124
    assert show(world, id)["status"] == 124
