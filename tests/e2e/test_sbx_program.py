"""An agent runs wherever installers and version managers put it, and HOME stays closed."""

import json
import os
import shutil

import pytest

from sbx_world import ROOT, World

# Says who it is, what its interpreter is, and what of the home can be seen.
SCRIPT = """\
case " $* " in
*" attack "*)
	while [ "$1" != attack ]; do shift; done
	shift
	for t; do
		find "$t" | sort -r | while read -r f; do echo evil >>"$f"; mv "$f" "$f.x"; rm -rf "$f"; done
	done 2>/dev/null
	exit 0 ;;
esac
echo "agent $0 $*"
echo "interpreter $(readlink /proc/$$/exe)"
cat "$HOME/.ssh/id" 2>&1
ls -A "$HOME"
"""


@pytest.fixture
def world(public_dir):
    return World(public_dir)


def script(interpreter="/bin/sh"):
    return f"#!{interpreter}\n{SCRIPT}"


def node(world, rel):
    """A stand-in for node: it must be a binary of its own, and read a script."""
    path = world.home / rel
    path.parent.mkdir(parents=True)
    shutil.copy("/bin/dash", path)
    return path


def native(world):
    world.program(".local/share/claude/versions/2.1.0", script(), link=".local/bin/claude")
    return {"PATH": f"{world.home}/.local/bin:/usr/bin"}, "/usr/bin/", {".local"}


def npm_prefix(world):
    world.program(
        ".npm-global/lib/node_modules/@anthropic-ai/claude-code/cli.js", script(), link=".npm-global/bin/claude"
    )
    return {"PATH": f"{world.home}/.npm-global/bin:/usr/bin"}, "/usr/bin/", {".npm-global"}


def nvm(world):
    base = ".nvm/versions/node/v22.3.0"
    node(world, f"{base}/bin/node")
    world.program(f"{base}/lib/node_modules/claude/cli.js", script("/usr/bin/env node"))
    (world.home / base / "bin/claude").symlink_to("../lib/node_modules/claude/cli.js")
    world.program(".nvm/alias/secret", "")
    return {"PATH": f"{world.home}/{base}/bin:/usr/bin"}, f"{world.home}/{base}/bin/node", {".nvm"}


def fnm(world):
    base = ".local/share/fnm/node-versions/v20/installation"
    node(world, f"{base}/bin/node")
    world.program(f"{base}/lib/node_modules/claude/cli.js", script("/usr/bin/env -S node"))
    (world.home / base / "bin/claude").symlink_to("../lib/node_modules/claude/cli.js")
    (world.home / ".local/state/fnm_multishells").mkdir(parents=True)
    (world.home / ".local/state/fnm_multishells/1").symlink_to(world.home / base)
    return (
        {"PATH": f"{world.home}/.local/state/fnm_multishells/1/bin:/usr/bin"},
        f"{world.home}/{base}/bin/node",
        {".local"},
    )


def volta(world):
    base = ".volta/tools/image"
    shim = world.program(".volta/bin/volta-shim", "#!/bin/sh\necho the shim has run\nexit 1\n")
    for name in ("claude", "node"):
        (shim.parent / name).symlink_to("volta-shim")
    node(world, f"{base}/node/20.1.0/bin/node")
    world.program(
        f"{base}/packages/@anthropic-ai/claude-code/lib/node_modules/c/cli.js",
        script("/usr/bin/env node"),
        link=f"{base}/packages/@anthropic-ai/claude-code/bin/claude",
    )
    return {"PATH": f"{world.home}/.volta/bin:/usr/bin"}, f"{world.home}/{base}/node/20.1.0/bin/node", {".volta"}


def mise(world):
    base = ".local/share/mise"
    node(world, f"{base}/installs/node/22.1.0/bin/node")
    (world.home / base / "installs/node/latest").symlink_to("./22.1.0")
    world.program(f"{base}/installs/npm-claude/2.1/bin/claude", script("/usr/bin/env node"))
    (world.home / base / "installs/npm-claude/latest").symlink_to("./2.1")
    mise_itself = world.program(".local/bin/mise", "#!/bin/sh\necho the shim has run\nexit 1\n")
    (world.home / base / "shims").mkdir()
    for name in ("claude", "node"):
        (world.home / base / "shims" / name).symlink_to(mise_itself)
    return (
        {"PATH": f"{world.home}/{base}/shims:/usr/bin"},
        f"{world.home}/{base}/installs/node/22.1.0/bin/node",
        {".local"},
    )


def opt(world):
    """As /opt/NAME, in a place that a test may write to: an unpacked archive and a chain of links."""
    top = world.root / "apps"
    for d in ("claude-2.1/bin", "claude-2.1/lib", "bin"):
        (top / d).mkdir(parents=True)
    program = top / "claude-2.1/bin/claude"
    program.write_text(script())
    program.chmod(0o755)
    (top / "claude").symlink_to("claude-2.1")
    (top / "bin/claude").symlink_to("../claude/bin/claude")
    return {"PATH": f"{top}/bin:/usr/bin"}, "/usr/bin/", set()


def interpreter_by_path(world):
    path = node(world, "tools/node-v22/bin/node")
    (world.home / "tools/node-v22/lib").mkdir()
    world.program("tools/agent/claude", script(path))
    return {"PATH": f"{world.home}/tools/agent:/usr/bin"}, str(path), {"tools"}


def pnpm(world):
    node(world, ".nvm/versions/node/v22/bin/node")
    world.program(".local/share/pnpm/global/5/node_modules/claude/cli.js", SCRIPT)
    world.program(
        ".local/share/pnpm/claude",
        '#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/global/5/node_modules/claude/cli.js" "$@"\n',
    )
    base = world.home / ".nvm/versions/node/v22/bin"
    return {"PATH": f"{world.home}/.local/share/pnpm:{base}:/usr/bin"}, f"{base}/node", {".local", ".nvm"}


LAYOUTS = [native, npm_prefix, nvm, fnm, volta, mise, opt, interpreter_by_path, pnpm]


@pytest.mark.parametrize("profile", ["lenient", "strict"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_it_runs_from_where_it_is(world, layout, profile):
    env, interpreter, visible = layout(world)
    world.own()
    result = world.run("run", "--profile", profile, "claude", "--", "-p", env=env)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("agent ") and lines[0].endswith(" --dangerously-skip-permissions -p")
    assert lines[1].startswith(f"interpreter {interpreter}")
    assert "No such file" in lines[2] and "secret key" not in result.stdout
    assert set(lines[3:]) == visible
    # The doctor tries the same.
    checks = json.loads(world.run("doctor", "--json", "--profile", profile, "claude", env=env).stdout)
    (inside,) = [c for c in checks["checks"] if (c["agent"], c["name"]) == ("claude", "inside")]
    assert inside["status"] == "ok"


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_it_cannot_be_changed_from_inside(world, layout):
    """The agent tries every file of its installation, and the links that lead there."""
    env, _, _ = layout(world)
    world.own()
    plan = json.loads(world.run("plan", "--format", "json", "claude", env=env).stdout)
    shown = [o["dst"] for o in plan["operations"] if o["kind"] in ("ro-bind", "symlink")]
    trees = [p for p in shown if p.startswith(str(world.root))]
    before = snapshot(world)
    assert trees and world.run("run", "claude", "--", "attack", *trees, env=env).returncode == 0
    assert snapshot(world) == before
    # The control: without the sandbox the same script does the damage.
    if layout is not opt or not ROOT:
        world.run("run", "--sandbox", "none", "--", "sh", plan["command"][0], "attack", *trees, env=env)
        assert snapshot(world) != before


def snapshot(world):
    """Every name in the scene with what is in it."""
    seen = {}
    for p in sorted((*world.home.rglob("*"), *world.root.glob("apps/**/*"))):
        seen[str(p)] = os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else None
    return seen


def test_versions_beside_it_are_not_shown(world):
    world.program(".local/share/claude/versions/1.0", "old")
    env, _, _ = native(world)
    world.program(".local/bin/other", "#!/bin/sh\n")
    plan = json.loads(world.run("plan", "--format", "json", "claude", env=env).stdout)
    shown = [o["dst"] for o in plan["operations"] if o["dst"].startswith(f"{world.home}/")]
    assert shown == [f"{world.home}/.local/bin/claude", f"{world.home}/.local/share/claude/versions/2.1.0"]


@pytest.mark.parametrize(
    "where", [".ssh/claude", ".aws/node_modules/claude", ".config/gh/bin/claude", ".claude/.credentials.json"]
)
def test_what_may_not_be_shown_is_refused_before_the_start(world, where):
    world.program(where, "#!/bin/sh\ntouch ran\n", link=".local/bin/claude")
    result, status = world.run_status("claude")
    assert result.returncode == 125 and status["error"] == "program-not-visible"
    assert str(world.home / where) in result.stderr and "to mend it: install it elsewhere" in result.stderr
    assert not (world.work / "ran").exists()


def test_a_missing_interpreter_is_told_before_the_start(world):
    world.agent(text="#!/usr/bin/env no-such-node\n")
    result, status = world.run_status("claude")
    assert (result.returncode, status["error"]) == (125, "program-missing")
    assert "interpreter of" in result.stderr and "no-such-node was not found" in result.stderr


def test_a_directory_of_the_project_in_path_does_not_win_by_a_relative_name(world):
    path = world.work / "claude"
    path.write_text("#!/bin/sh\necho planted\n")
    path.chmod(0o755)
    world.own()
    result = world.run("run", "claude", env={"PATH": f".::{world.home}:/usr/bin"})
    assert result.returncode == 125 and "planted" not in result.stdout


def test_generic_commands_are_found_as_well(world):
    env, interpreter, _ = nvm(world)
    world.own()
    for command in ("claude", f"{world.home}/.nvm/versions/node/v22.3.0/bin/claude"):
        result = world.run("run", "generic", "--", command, env=env)
        assert result.returncode == 0 and f"interpreter {interpreter}" in result.stdout


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_started_by_root_the_users_own_directories_are_searched(world):
    result = world.run("run", "--as", "nobody", "--sandbox", "none", "--", "sh", "-c", "echo $PATH", root=True)
    assert result.stdout == f"{world.home}/.local/bin:/usr/bin:/bin:/nonexistent/.local/bin:/nonexistent/bin\n"
