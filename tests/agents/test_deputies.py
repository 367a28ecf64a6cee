"""What of an agent runs on the host beside the sandbox (its daemon, an open session, its server) is
no deputy of the agent inside. Every test gives the order twice, through the agent's own command
line: from inside first, then from outside. The host side takes orders one after the other, so that
when it has done the second it has had its chance at the first."""

import pytest
from clis import wait_until
from conftest import finish
from terminal import Terminal

INSIDE, OUTSIDE = "order-from-inside", "order-from-outside"


@pytest.fixture
def orders(scene, model):
    """{order: the file that the host side makes when it obeys}"""
    files = {o: scene.outside / o for o in (INSIDE, OUTSIDE)}
    for order, path in files.items():
        model.orders[order.encode()] = [{"tool": "shell", "command": f"echo done > {path}"}]
    return files


def native(scene, model, words):
    return finish(scene.begin_plain(words, model.url))


def traces(scene, order):
    """Files of the user's that hold the order: where the host side might still find it."""
    found = []
    for path in scene.home.rglob("*"):
        if path.is_file() and order.encode() in path.read_bytes():
            found.append(path.relative_to(scene.home))
    return [p for p in found if not p.is_relative_to(scene.cli.transcripts)]


def obeyed(scene, model, orders, sbx, *options):
    """Gives both orders; was the one from inside obeyed?"""
    boxed = scene.boxed(
        sbx, scene.cli.order(INSIDE), model.url, *scene.cli.order_options, *options
    )
    left = traces(scene, INSIDE)
    done = native(scene, model, scene.cli.order_natively(OUTSIDE))
    assert done.status == 0, done
    wait_until(orders[OUTSIDE].exists, f"the host side obeys: {done}; inside: {boxed}")
    assert orders[INSIDE].exists() or left == [], boxed
    return orders[INSIDE].exists()


@pytest.mark.having("deputy")
def test_the_host_side_obeys_nobody_inside(deputy, model, orders, sbx):
    scene = deputy
    assert not obeyed(scene, model, orders, sbx, *(["--net", "off"] if scene.cli.by_network else []))


@pytest.mark.having("by_network")
def test_by_network_it_does(deputy, model, orders, sbx):
    """A known gap, and documented: with the network on the host's loopback is there."""
    assert obeyed(deputy, model, orders, sbx, "--net", "on")


@pytest.mark.having("daemon")
def test_in_a_terminal_it_does_not_find_the_daemon(deputy, model, orders, sbx):
    """The interactive codex looks for a daemon in /tmp, and lets that do the work."""
    scene, cli = deputy, deputy.cli
    scene.host_side.process.kill()  # what is left is the daemon
    assert scene.running(cli.daemon)
    for order, command in (
        (INSIDE, [str(sbx), "run", cli.row]),
        (OUTSIDE, cli.native([])),
    ):
        tui = scene.terminal(command, model.url)
        try:
            cli.say(tui, order)
            # inside it is its own daemon that does it, and what it makes is not on the host
            wait_until(lambda: any(order.encode() in r.raw for r in model.requests), tui.text)
            if order is OUTSIDE:
                wait_until(orders[OUTSIDE].exists, tui.text)
            else:
                wait_until(lambda: len(model.results()) > 0, tui.text)
        finally:
            scene.forget(tui)
    assert not orders[INSIDE].exists()
