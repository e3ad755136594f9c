"""Arguments as people type them: ``key=value``, ``key:=json``, ``key=@file``, ``key:=@file``. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_actors.cli.conversion import Unfit, converted, read_json
from mcp_actors.cli.mistake import Mistake

# The first separator counts, so that values may hold any of them.
_WORD: Final = re.compile(r"(?P<key>[^=]+?)(?P<sign>:=|=)(?P<at>@?)(?P<value>.*)", re.DOTALL)

ReadFile = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Word:
    """One argument, taken apart. ``value`` is text, also where ``is_json`` says what it will become."""

    key: str
    value: str
    is_json: bool


def parse_words(words: Iterable[str], read_file: ReadFile) -> list[Word]:
    """Take the arguments apart; files are read. Raises `Mistake`."""
    return [_parsed(word, read_file) for word in words]


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that ``--json`` gave. Raises `Mistake`."""
    value = _parsed_json(text, "--json")
    if not isinstance(value, dict):
        raise Mistake(f"--json must be an object such as '{{\"a\": 1}}', not {_kind(value)}")
    return value


def typed(words: Iterable[Word], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool, converted as its schema wants them. Raises `Mistake`.

    A key may be repeated where the schema wants an array: each value is an item.
    """
    values: dict[str, Any] = {}
    for key, given in _by_key(words).items():
        if any(word.is_json for word in given):
            values[key] = _parsed_json(_only(key, given).value, key)
            continue
        try:
            values[key] = converted([word.value for word in given], key, schema)
        except Unfit as unfit:
            raise Mistake(f"{key}: {unfit}") from None
    return values


def plain(words: Iterable[Word]) -> dict[str, str]:
    """The arguments of a prompt, which are all text. Raises `Mistake`."""
    values = {}
    for key, given in _by_key(words).items():
        word = _only(key, given)
        if word.is_json:
            raise Mistake(f"{key}: the arguments of a prompt are text; write {key}=… instead of {key}:=…")
        values[key] = word.value
    return values


def _parsed(word: str, read_file: ReadFile) -> Word:
    found = _WORD.fullmatch(word)
    if found is None:
        raise Mistake(
            f"{word!r} is no argument: write key=value, key:=json or key=@file, "
            "and the command of a server after --"
        )
    value = read_file(found["value"]) if found["at"] else found["value"]
    return Word(found["key"], value, found["sign"] == ":=")


def _by_key(words: Iterable[Word]) -> dict[str, list[Word]]:
    keyed: dict[str, list[Word]] = {}
    for word in words:
        keyed.setdefault(word.key, []).append(word)
    return keyed


def _only(key: str, given: list[Word]) -> Word:
    if len(given) > 1:
        raise Mistake(f"{key} was given {len(given)} times")
    return given[0]


def _parsed_json(text: str, what: str) -> Any:
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Mistake(f"{what}: not JSON: {error.msg} at {place}{_quoting_hint(text)}") from None
    except ValueError as error:
        raise Mistake(f"{what}: not JSON that can be sent: {error}") from None


def _quoting_hint(text: str) -> str:
    # What remains of '{"a": 1}' when the shell has eaten the quotes, and of name:=Ada.
    eaten = '"' not in text and any(map(str.isalpha, text))
    return "; text needs double quotes inside single ones: '\"text\"'" if eaten else ""


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case _:
            return "an array"
