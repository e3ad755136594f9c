"""The terminal's questions: answers by field, defaults, choices by number, and pages only after a yes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mcp_actors.client.answering import console
from mcp_actors.client.answering.console import ask_on_terminal
from mcp_actors.client.answering.desk import Desk
from mcp_actors.protocol.revisions import NEWEST
from mcp_actors.protocol.types import ElicitFormParams, ElicitResult, ElicitUrlParams

pytestmark = pytest.mark.requirement("feature:elicitation")


class Terminal:
    """Types the given lines, then the end of input; remembers what was shown."""

    def __init__(self, *lines: str) -> None:
        self._lines: Iterator[str] = iter(lines)
        self.shown: list[str] = []
        self.opened: list[str] = []

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        line = next(self._lines, None)
        if line is None:
            raise EOFError
        return line

    def answer(self, request: Any, **more: Any) -> ElicitResult:
        told = {"ask": self.ask, "show": self.shown.append, "open_page": self.opened.append}
        return ask_on_terminal(request, **(told | more))

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


def form(properties: dict[str, Any], *required: str, message: str = "who are you?") -> ElicitFormParams:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ElicitFormParams.from_wire({"message": message, "requestedSchema": schema})


def typed(schema: dict[str, Any], *lines: str, required: bool = False) -> Any:
    """What the form holds after the lines were typed and sent."""
    result = Terminal(*lines, "").answer(form({"f": schema}, *(["f"] if required else [])))
    assert result.action == "accept"
    assert result.content is not None
    return result.content.get("f")


@pytest.mark.parametrize(
    ("schema", "lines", "value"),
    [
        ({"type": "string"}, ["Ann"], "Ann"),
        ({"type": "string"}, [""], None),
        ({"type": "string", "default": "Bob"}, [""], "Bob"),
        ({"type": "string", "format": "email"}, ["ann", "ann@example.com"], "ann@example.com"),
        ({"type": "string", "minLength": 3}, ["a", "abc"], "abc"),
        ({"type": "integer"}, ["x", "1.5", "7"], 7),
        ({"type": "integer", "minimum": 5}, ["4", "5"], 5),
        ({"type": "number"}, ["x", "nan", "inf", "1.5"], 1.5),
        ({"type": "number"}, ["2"], 2),
        ({"type": "boolean"}, ["maybe", "Y"], True),
        ({"type": "boolean", "default": True}, ["no"], False),
        ({"type": "boolean", "default": True}, [""], True),
        ({"enum": ["r", "g"]}, ["3", "0", "blue", "2"], "g"),
        ({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}, ["Red"], "r"),
        ({"enum": ["r", "g"]}, ["r"], "r"),
        ({"type": "array", "items": {"enum": ["r", "g"]}}, ["1, 2"], ["r", "g"]),
        ({"type": "array", "items": {"enum": ["r", "g"]}, "default": ["r"]}, [""], ["r"]),
        ({"type": "array", "items": {"enum": ["r", "g"]}, "default": ["r"]}, ["0"], []),
        ({"type": "string", "$ref": "#/nowhere"}, ["x"], "x"),
    ],
)
def test_a_field_is_asked_until_the_answer_fits(schema: dict[str, Any], lines: list[str], value: Any) -> None:
    assert typed(schema, *lines) == value


def test_what_is_required_is_asked_again() -> None:
    assert typed({"type": "string"}, "", "  ", "Ann", required=True) == "Ann"


def test_the_form_is_shown_with_titles_choices_and_defaults_and_reviewed() -> None:
    terminal = Terminal("2", "", "", "y")
    properties = {
        "c": {
            "title": "Colour",
            "description": "Your favourite",
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}],
        },
        "n": {"type": "integer", "default": 3},
        "d": {"type": "array", "items": {"enum": ["mo", "tu"]}, "default": ["mo", "tu"]},
    }
    result = terminal.answer(form(properties), server="demo")
    assert result.content == {"c": "g", "n": 3, "d": ["mo", "tu"]}
    for words in (
        "demo asks:",
        "  who are you?",
        "Colour (number) (optional): ",
        "  Your favourite",
        "  1. Red (r)",
    ):
        assert words in terminal.shown
    for words in ("  2. g", "n [3]: ", "  c: g", "  n: 3", "  d: mo, tu"):
        assert words in terminal.shown


def test_answers_may_be_kept_after_all() -> None:
    assert Terminal("Ann", "n").answer(form({"a": {"type": "string"}})) == ElicitResult(action="decline")


@pytest.mark.parametrize("lines", [[], ["Ann"]])
def test_the_end_of_input_cancels(lines: list[str]) -> None:
    assert Terminal(*lines).answer(form({"a": {"type": "string"}})) == ElicitResult(action="cancel")


def page(url: str) -> ElicitUrlParams:
    return ElicitUrlParams(message="please sign in", url=url)


@pytest.mark.parametrize(
    ("line", "opened"), [("y", True), ("YES", True), ("", False), ("n", False), ("x", False)]
)
def test_a_page_is_opened_only_after_a_yes(line: str, opened: bool) -> None:
    terminal = Terminal(line)
    url = "https://example.com/" + "x" * 3000
    result = terminal.answer(page(url))
    assert result.action == ("accept" if opened else "decline")
    assert terminal.opened == ([url] if opened else [])
    assert f"  {url}" in terminal.shown
    assert "example.com:" in terminal.text


def test_no_line_at_all_cancels_a_page() -> None:
    terminal = Terminal()
    assert terminal.answer(page("https://example.com")).action == "cancel"
    assert terminal.opened == []


@pytest.mark.parametrize(
    ("url", "warned"), [("http://example.com", True), ("http://localhost:1", False), ("https://x.y", False)]
)
def test_a_page_without_encryption_is_pointed_out(url: str, warned: bool) -> None:
    terminal = Terminal("n")
    terminal.answer(page(url))
    assert ("not encrypted" in terminal.text) == warned


def test_what_the_server_says_cannot_play_tricks_on_the_terminal() -> None:
    trick = "\x1b[2J\x1b]0;x\x07\r\u202e\x08"
    properties = {
        f"n{trick}": {
            "enum": [f"v{trick}"],
            "title": f"t{trick}",
            "description": trick,
            "default": f"v{trick}",
        }
    }
    terminal = Terminal("", "")
    terminal.answer(form(properties, message=f"one{trick}\ntwo"), server=trick)
    terminal.answer(page(f"https://example.com/{trick}"))
    assert all(line.isprintable() for line in terminal.shown)
    assert "  two" in terminal.shown


def test_a_long_message_is_cut() -> None:
    terminal = Terminal("")
    terminal.answer(form({}, message="line\n" * 10_000))
    assert len(terminal.shown) < 100


def test_the_browser_opens_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    console._open_page("https://example.com")
    assert opened == ["https://example.com"]


def test_the_terminal_is_a_handler() -> None:
    terminal = Terminal("Ann", "y")
    desk = Desk(elicitation_handler=terminal.answer)
    params = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    assert desk.answer("elicitation/create", params, NEWEST) == {"action": "accept", "content": {"a": "Ann"}}
