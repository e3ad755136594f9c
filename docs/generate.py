"""Writes the parts of the pages that come from the code: python docs/generate.py [--check]."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))

import client_reference
import server_reference

from mcp_actors import errors
from mcp_actors.protocol import connection, session, states
from mcp_actors.protocol.serving import states as phases
from mcp_actors.protocol.serving.states import Phase
from mcp_actors.protocol.states import State
from mcp_actors.telemetry.events import EVENTS, Event

DOCS: Final = Path(__file__).parent
#: What each arrow means. An arrow without a meaning, or a meaning without an arrow, is an error here.
CONNECTION: Final[dict[tuple[Enum, Enum], str]] = {
    (State.STARTING, State.INITIALIZING): "the wire is open",
    (State.STARTING, State.BACKOFF): "it could not be opened",
    (State.STARTING, State.CLOSING): "close()",
    (State.INITIALIZING, State.READY): "both sides agreed",
    (State.INITIALIZING, State.BACKOFF): "lost, refused or too late",
    (State.INITIALIZING, State.CLOSING): "close()",
    (State.READY, State.BACKOFF): "the wire was lost",
    (State.READY, State.CLOSING): "close()",
    (State.BACKOFF, State.INITIALIZING): "the delay is over",
    (State.BACKOFF, State.CLOSING): "close()",
}
SESSION: Final[dict[tuple[Enum, Enum], str]] = {
    (Phase.FRESH, Phase.GREETED): "initialize is answered",
    (Phase.FRESH, Phase.READY): "another process shook hands",
    (Phase.FRESH, Phase.CLOSING): "close(), and something runs",
    (Phase.FRESH, Phase.CLOSED): "the wire is over, or close()",
    (Phase.GREETED, Phase.READY): "the client goes on",
    (Phase.GREETED, Phase.CLOSING): "close(), and something runs",
    (Phase.GREETED, Phase.CLOSED): "the wire is over, too late, or close()",
    (Phase.READY, Phase.CLOSING): "close(), and something runs",
    (Phase.READY, Phase.CLOSED): "the wire is over, or close()",
    (Phase.CLOSING, Phase.CLOSED): "nothing runs any more, or the grace is over",
}


def state_table(states: type[Enum], table: Mapping[Any, Mapping[type, Any]]) -> Callable[[], Iterator[str]]:
    """Every event in every state, and the cell of the machine that runs."""

    def lines() -> Iterator[str]:
        yield "| event | " + " | ".join(state.value for state in states) + " |"
        yield "|---" * (len(states) + 1) + "|"
        for event in table[next(iter(states))]:
            cells = (table[state][event].__name__ for state in states)
            shown = ("·" if cell == "ignore" else f"`{cell}`" for cell in cells)
            yield f"| `{event.__name__}` | {' | '.join(shown)} |"

    return lines


def state_diagram(
    edges: Mapping[Any, frozenset[Any]], meanings: dict[tuple[Enum, Enum], str]
) -> Callable[[], Iterator[str]]:
    """The arrows, as Mermaid draws them."""

    def lines() -> Iterator[str]:
        arrows = {(before, after) for before in edges for after in edges[before] if before is not after}
        if arrows != set(meanings):
            raise SystemExit(f"the arrows and their meanings differ: {arrows ^ set(meanings)}")
        first, *_, last = edges
        yield "```mermaid"
        yield "stateDiagram-v2"
        yield f"    [*] --> {first.value}"
        for (before, after), meaning in meanings.items():
            yield f"    {before.value} --> {after.value}: {meaning}"
        yield f"    {last.value} --> [*]"
        yield "```"

    return lines


def error_tree() -> Iterator[str]:
    """The tree of errors.py, as its docstring draws it."""
    drawing = [line for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    yield "```text"
    yield from (line.removeprefix("    ") for line in drawing)
    yield "```"


def error_table() -> Iterator[str]:
    """Every error with what it means and what to do."""
    yield "| error | `.type` | what happened | what helps |"
    yield "|---|---|---|---|"
    for name in _tree_order():
        kind: type[errors.McpError] = getattr(errors, name)
        sentence = (kind.__doc__ or "").strip().splitlines()[0].replace("``", "`")
        yield f"| `{name}` | {kind.type} | {sentence} | {kind.hint} |"


def events() -> Iterator[str]:
    """Every telemetry event with its fields."""
    yield "Every event has `client`, the client's name, and `time`, the wall clock when it was made."
    yield ""
    yield "| event | class | when | further fields |"
    yield "|---|---|---|---|"
    common = {one.name for one in fields(Event)}
    for kind in EVENTS:
        sentence = " ".join((kind.__doc__ or "").split()).replace("``", "`")
        further = ", ".join(f"`{one.name}`" for one in fields(kind) if one.name not in common)
        yield f"| `{kind.name}` | `{kind.__name__}` | {sentence} | {further} |"


SECTIONS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "state-table": state_table(State, connection.TABLE),
    "state-diagram": state_diagram(states.EDGES, CONNECTION),
    "session-table": state_table(Phase, session.TABLE),
    "session-diagram": state_diagram(phases.EDGES, SESSION),
    "error-tree": error_tree,
    "error-table": error_table,
    "events": events,
    **client_reference.SECTIONS,
    **server_reference.SECTIONS,
}


def regenerated(text: str) -> str:
    """A page with its generated sections written anew."""

    def section(match: re.Match[str]) -> str:
        name = match["name"]
        body = "\n".join(SECTIONS[name]())
        return f"<!-- generated: {name} -->\n{body}\n<!-- end of {name} -->"

    pattern = r"<!-- generated: (?P<name>[\w-]+) -->\n.*?<!-- end of (?P=name) -->"
    return re.sub(pattern, section, text, flags=re.DOTALL)


def _tree_order() -> list[str]:
    found = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    if set(found) | {"McpError"} != set(errors.__all__):
        raise SystemExit("the tree in the docstring of errors.py and its __all__ differ")
    return found


def main() -> None:
    check = "--check" in sys.argv[1:]
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        fresh = regenerated(text)
        if fresh != text:
            stale.append(str(page.relative_to(DOCS)))
            if not check:
                page.write_text(fresh, encoding="utf-8")
    if check and stale:
        raise SystemExit(f"run python docs/generate.py: these pages are out of date: {', '.join(stale)}")


if __name__ == "__main__":
    main()
