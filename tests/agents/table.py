"""What came through, call by call: the table of docs/agents.md, made by the whole of ci/agents."""

import pathlib
import re

import clis
import scripts

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/agents.md"
BEGIN, END = "<!-- made by ci/agents: begin -->\n", "<!-- made by ci/agents: end -->\n"
CELLS = 4  # lenient and strict, rw and ro
SEEN = {}  # {call: {agent: {"control" or a cell: did it happen?}}}


def cell(arms):
    """As "yes / 0": without sbx, and in how many cells with it; None: not all of it was run."""
    boxed = [happened for arm, happened in arms.items() if arm != "control"]
    if "control" not in arms or len(boxed) != CELLS:
        return None
    return f"{'yes' if arms['control'] else 'no'} / {sum(boxed)}"


def lines():
    """For people who watch the run."""
    for call, agents in SEEN.items():
        said = ", ".join(f"{a} {cell(arms) or 'in part'}" for a, arms in agents.items())
        yield f"{call:22} {said}"


def rows():
    """{(call, agent): cell} of what was run completely, the stand-in left out."""
    return {
        (call, agent): cell(arms)
        for call, agents in SEEN.items()
        for agent, arms in agents.items()
        if agent in clis.REAL and cell(arms)
    }


def markdown():
    names = list(clis.REAL)
    text = f"| call | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n"
    for call in scripts.ALL:
        cells = [rows().get((call.name, n), "?") for n in names]
        text += f"| `{call.name}` | {' | '.join(cells)} |\n"
    return text


def documented():
    """The same as rows(), of the page."""
    section = DOCS.read_text().split(BEGIN)[1].split(END)[0]
    found = {}
    for line in section.splitlines()[2:]:
        call, *cells = [c.strip(" `") for c in line.strip("|").split("|")]
        found.update({(call, name): c for name, c in zip(clis.REAL, cells)})
    return found


def write():
    text = DOCS.read_text()
    new = BEGIN + markdown() + END
    DOCS.write_text(re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: new, text, flags=re.S))
