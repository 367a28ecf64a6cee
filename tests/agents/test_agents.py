"""The real agents and the stand-in, told to misbehave: without a sandbox all of it happens, in
sbx none of it, and what an agent is for goes on working."""

import itertools

import pytest
import scripts
from conftest import finish
from namespace import interfaces


def options(profile, fs, net):
    return ["--profile", profile, "--fs", fs, "--net", net]


def test_no_packet_can_leave():
    assert interfaces() == ["lo"]


def test_control_without_a_sandbox(scene, model, note):
    model.script = scene.script(scripts.ALL)
    done = scene.native(scene.cli.words("go"), model.url)
    assert done.status == 0, done
    missed = []
    for call in scripts.ALL:
        happened = scene.happened(call, model)
        note(call, "control", happened)
        if happened == (call.name in scene.cli.refuses):
            missed.append(call.name)
    assert missed == [], model.results()


@pytest.mark.parametrize("profile,fs", itertools.product(("lenient", "strict"), ("rw", "ro")))
def test_nothing_gets_through(scene, model, sbx, note, profile, fs):
    """With the network on, where the model can be reached."""
    model.script = scene.script(scripts.ALL)
    words, env, more = scene.cli.words("go"), None, []
    if profile == "strict":
        words = scene.cli.strict_words("go", model.url)
        env = scene.cli.strict_env(model.url)
        more = [w for name in env for w in ("--env", name)]
    done = scene.boxed(
        sbx, words, model.url, *options(profile, fs, "on"), *more, env=env
    )
    assert done.status == 0, done
    assert len(model.results()) == len(scripts.ALL), done
    came_through = []
    for call in scripts.LEAKS + scripts.DAMAGE:
        happened = scene.happened(call, model)
        note(call, f"{profile}/{fs}", happened)
        if happened:
            came_through.append(call.name)
    assert came_through == [], model.results()
    works = {c.name: scene.happened(c, model) for c in scripts.WORK}
    for call in scripts.WORK:
        note(call, f"{profile}/{fs}", works[call.name])
    assert works == {"work.shell": fs == "rw", "work.write": fs == "rw", "work.read": True}


@pytest.mark.parametrize("profile,fs", [("lenient", "rw"), ("strict", "ro")])
def test_without_network_it_says_so(scene, model, sbx, profile, fs):
    """Most agents go on trying for minutes, or for ever; sbx's own limit ends them."""
    done = scene.boxed(
        sbx,
        scene.cli.offline_words("go"),
        model.url,
        *options(profile, fs, "off"),
        *("--timeout", "20"),
    )
    assert model.requests == []
    assert done.status not in (0, 125), done
    assert done.seconds < 40
    if profile == "lenient":  # in strict some miss their login first
        assert scene.cli.offline.search(done.out + done.err), done


def test_the_credential_arrives(scene, model, sbx):
    done = scene.boxed(sbx, scene.cli.words("go"), model.url)
    assert done.status == 0, done
    assert model.asked() > 0
    for request in model.requests:
        if request.protocol:
            assert scene.cli.key in "\n".join(request.headers.values())


def test_who_can_read_the_key(scene, model, sbx):
    """Known and documented: a tool of the agent can, but for an agent that offers a way; and even
    there the agent itself has it."""

    def told(run, command):
        model.script = [{"tool": "shell", "command": command}]
        before = len(model.requests)
        done = run()
        assert done.status == 0, done
        return any(scene.cli.key.encode() in r.raw for r in model.requests[before:])

    def boxed():
        return scene.boxed(sbx, scene.cli.words("go"), model.url)

    assert told(lambda: scene.native(scene.cli.words("go"), model.url), "env")
    assert told(boxed, "env") != scene.cli.keeps_key
    assert told(boxed, "cat /proc/*/environ | tr '\\0' '\\n'")


def test_a_second_run_resumes_the_first(scene, model, sbx):
    first = scene.boxed(sbx, scene.cli.words("remember the word xyzzy"), model.url)
    assert first.status == 0, first
    kept = [p for p in (scene.home / scene.cli.transcripts).rglob("*") if p.is_file()]
    if not scene.cli.resumes:
        assert kept == []
        return
    assert any("xyzzy" in p.read_text(errors="replace") for p in kept), kept
    before = len(model.requests)
    second = scene.boxed(sbx, scene.cli.resume("which word was it?"), model.url)
    assert second.status == 0, second
    assert any(b"xyzzy" in r.raw for r in model.requests[before:]), second


def test_agents_side_by_side(scene, model, sbx):
    """Every one of them is the first process of its sandbox, and they share the transcripts."""
    model.script = scene.script(scripts.WORK)
    both = [scene.begin_boxed(sbx, scene.cli.words("go"), model.url) for _ in range(2)]
    for done in map(finish, both):
        assert done.status == 0, done


def test_the_events_are_the_same(scene, model, sbx):
    model.script = scene.script(scripts.WORK)
    native = scene.native(scene.cli.words("go"), model.url)
    boxed = scene.boxed(sbx, scene.cli.words("go"), model.url)
    assert (native.status, boxed.status) == (0, 0), (native, boxed)
    events = scene.cli.events(boxed.out)
    assert len(events) > len(scripts.WORK)
    assert events == scene.cli.events(native.out)
