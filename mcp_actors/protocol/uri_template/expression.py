"""What a URI template is made of: literals, and expressions with an operator and variables."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from msgspec import Struct


class TemplateError(ValueError):
    """A text that is no URI template; the message names the place."""


class Operator(Struct, frozen=True):
    """How the values of an expression are joined: the table of RFC 6570, appendix A."""

    first: str
    separator: str
    named: bool = False
    if_empty: str = ""
    reserved: bool = False


OPERATORS: Final = {
    "": Operator("", ","),
    "+": Operator("", ",", reserved=True),
    "#": Operator("#", ",", reserved=True),
    ".": Operator(".", "."),
    "/": Operator("/", "/"),
    ";": Operator(";", ";", named=True),
    "?": Operator("?", "&", named=True, if_empty="="),
    "&": Operator("&", "&", named=True, if_empty="="),
}


class Variable(Struct, frozen=True):
    """One name of an expression. ``limit``: only so many characters of the value."""

    name: str
    limit: int | None = None
    explode: bool = False


class Expression(Struct, frozen=True):
    """What stands between braces."""

    sign: str
    variables: tuple[Variable, ...]

    @property
    def operator(self) -> Operator:
        """How its values are joined."""
        return OPERATORS[self.sign]


Part: TypeAlias = str | Expression

# RFC 6570, 2.2: kept for the future.
_FOR_LATER: Final = "=,!@|"
_LETTER: Final = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
_VARIABLE: Final = re.compile(rf"({_LETTER}(?:\.?{_LETTER})*)(?::([1-9][0-9]{{0,3}})|(\*))?")
_NO_LITERAL: Final = re.compile(r'%(?![0-9A-Fa-f]{2})|[\x00-\x20\x7f-\x9f"<>\\^`{|}]')
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


def parse(text: str) -> tuple[Part, ...]:
    """The parts of a template, in order.

    Raises:
        TemplateError: it is none.
    """
    parts: list[Part] = []
    behind = 0
    for found in _BRACES.finditer(text):
        parts += _literal(text, behind, found.start())
        parts.append(_expression(text, found))
        behind = found.end()
    return (*parts, *_literal(text, behind, len(text)))


def _literal(text: str, start: int, end: int) -> list[Part]:
    wrong = _NO_LITERAL.search(text, start, end)
    if wrong is not None:
        raise _error(text, wrong.start(), f"{wrong[0]!r} cannot stand outside of an expression")
    return [text[start:end]] if start < end else []


def _expression(text: str, found: re.Match[str]) -> Expression:
    inner, place = found[1], found.start(1)
    if inner[:1] and inner[0] in _FOR_LATER:
        raise _error(text, place, f"the operator {inner[0]!r} is not in use")
    sign = inner[0] if inner[:1] in OPERATORS and inner else ""
    place += len(sign)
    variables: list[Variable] = []
    for spec in inner[len(sign) :].split(","):
        variables.append(_variable(text, place, spec))
        place += len(spec) + 1
    return Expression(sign, tuple(variables))


def _variable(text: str, place: int, spec: str) -> Variable:
    found = _VARIABLE.fullmatch(spec)
    if found is None:
        raise _error(text, place, f"{spec!r} is no variable" if spec else "a variable is missing")
    name, limit, star = found.groups()
    return Variable(name, int(limit) if limit else None, star is not None)


def _error(text: str, place: int, what: str) -> TemplateError:
    return TemplateError(f"{text!r} is no URI template: {what} (character {place + 1})")
