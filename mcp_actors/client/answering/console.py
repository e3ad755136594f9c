"""A ready-made elicitation handler for programs that run in a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types import ElicitFormParams, ElicitResult, ElicitUrlParams
from mcp_actors.protocol.types.form_fields import FormField
from mcp_actors.schemas.checking import Schemas, UnusableSchema
from mcp_actors.telemetry.redaction import printable

Ask: TypeAlias = Callable[[str], str]
Show: TypeAlias = Callable[[str], object]
Open: TypeAlias = Callable[[str], object]

_LINE: Final = 500
_LINES: Final = 50
_YES: Final = ("y", "yes")
_NO: Final = ("n", "no")


class NotUnderstood(ValueError):
    """What was typed is no answer; the message says what would be."""


def _open_page(url: str) -> None:
    # Imported here: few need it. It starts the browser without a shell.
    import webbrowser

    webbrowser.open(url)


def ask_on_terminal(
    request: ElicitFormParams | ElicitUrlParams,
    *,
    server: str = "The server",
    ask: Ask = input,
    show: Show = print,
    open_page: Open = _open_page,
) -> ElicitResult:
    """Ask the user in the terminal: field by field, or whether to open the page.

    An empty line takes the default, or leaves out what is not required; the end of input (Ctrl-D) cancels.
    What the server says is shown with its control characters spelled out. A page is opened only after a yes.

    Args:
        server: who asks, for people.
        ask: shows a prompt and returns the line that was typed.
        show: shows a line.
        open_page: opens a page where neither this program nor a model can read it.
    """
    show(f"{printable(server, _LINE)} asks:")
    for line in request.message.splitlines()[:_LINES]:
        show(f"  {printable(line, _LINE)}")
    try:
        if isinstance(request, ElicitUrlParams):
            return _visit(request, ask, show, open_page)
        return Questions(ask, show).fill_in(request)
    except EOFError:
        return ElicitResult(action="cancel")


def _visit(request: ElicitUrlParams, ask: Ask, show: Show, open_page: Open) -> ElicitResult:
    host = request.host or "unknown"
    show(f"It wants to open a page of {printable(host, _LINE)}:")
    # In full, however long: people must see all of what they agree to.
    show(f"  {printable(request.url, len(request.url) * 10)}")
    if not request.secure:
        show("  This connection is not encrypted.")
    if ask("Open it in the browser? [y/N] ").strip().lower() not in _YES:
        return ElicitResult(action="decline")
    open_page(request.url)
    return ElicitResult(action="accept")


class Questions:
    """Puts the questions of a form, one after the other."""

    def __init__(self, ask: Ask, show: Show) -> None:
        self._ask = ask
        self._show = show
        self._schemas = Schemas()

    def fill_in(self, form: ElicitFormParams) -> ElicitResult:
        """All questions, then a look at the answers before they are sent."""
        content: JsonObject = {}
        for field in form.fields:
            self._introduce(field)
            answer = self._answer(field)
            if answer is not None:
                content[field.name] = answer
        self._show("Your answers:")
        for name, value in content.items():
            self._show(f"  {printable(name, _LINE)}: {printable(_as_typed(value), _LINE)}")
        if self._ask("Send them? [Y/n] ").strip().lower() in _NO:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=content)

    def _introduce(self, field: FormField) -> None:
        self._show("")
        if field.description:
            self._show(f"  {printable(field.description, _LINE)}")
        for number, (value, title) in enumerate(field.choices, start=1):
            remark = "" if title == value else f" ({printable(value, _LINE)})"
            self._show(f"  {number}. {printable(title, _LINE)}{remark}")

    def _answer(self, field: FormField) -> Json:
        """The answer to one question; None if it is left out."""
        prompt = f"{printable(field.label, _LINE)}{''.join(_remarks(field))}: "
        while True:
            typed = self._ask(prompt).strip()
            try:
                value = _read(field, typed) if typed else field.default
                return self._checked(field, value)
            except NotUnderstood as error:
                self._show(f"  {error}")

    def _checked(self, field: FormField, value: Json) -> Json:
        if value is None:
            if field.required:
                raise NotUnderstood("Please answer, or press Ctrl-D to cancel.")
            return None
        try:
            fault = self._schemas.fault(field.schema, value, formats=True)
        except UnusableSchema:
            # A field that makes sense only inside its form is judged with the form.
            return value
        if fault is not None:
            raise NotUnderstood(f"That does not fit: it {fault.complaint}.")
        return value


def _remarks(field: FormField) -> Iterator[str]:
    """What stands behind the label: how to answer, and what an empty line means."""
    ways = {"boolean": "y/n", "choice": "number", "choices": "numbers, separated by commas; 0 for none"}
    way = ways.get(field.kind) or field.format
    if way:
        yield f" ({printable(way, _LINE)})"
    if field.default is not None:
        yield f" [{printable(_as_typed(field.default), _LINE)}]"
    elif not field.required:
        yield " (optional)"


def _as_typed(value: Json) -> str:
    if isinstance(value, bool):
        return "y" if value else "n"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(field: FormField, typed: str) -> Json:
    match field.kind:
        case "boolean":
            return _boolean(typed)
        case "integer" | "number":
            return _number(field, typed)
        case "choice":
            return _chosen(field, typed)
        case "choices":
            return [] if typed == "0" else [_chosen(field, one.strip()) for one in typed.split(",")]
        case _:
            return typed


def _boolean(typed: str) -> bool:
    if typed.lower() not in _YES + _NO:
        raise NotUnderstood("Please type y or n.")
    return typed.lower() in _YES


def _number(field: FormField, typed: str) -> float:
    try:
        return int(typed)
    except ValueError:
        if field.kind == "integer":
            raise NotUnderstood("Please type a whole number.") from None
    try:
        number = float(typed)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise NotUnderstood("Please type a number.")
    return number


def _chosen(field: FormField, typed: str) -> str:
    """A choice by its number, or else by its value or title."""
    if typed.isdecimal() and 0 < int(typed) <= len(field.choices):
        return field.choices[int(typed) - 1][0]
    for value, title in field.choices:
        if typed in (value, title):
            return value
    raise NotUnderstood(f"Please type a number from 1 to {len(field.choices)}.")
