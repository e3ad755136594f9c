"""From a URI back to the values that a template makes it of, in linear time: nothing is tried twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mcp_actors.protocol.uri_template import percent
from mcp_actors.protocol.uri_template.expression import Expression, Part

#: A longer URI fits no template.
MAX_LENGTH: Final = 8192

_NUL: Final = frozenset({"\0", "%00"})
_SEGMENT: Final = _NUL | {"/", "%2F", "?", "#"}
#: The units that no value of an expression holds. An encoded slash in what is one step of a path would let
#: it be several.
_NEVER: Final = {
    "": _SEGMENT,
    "+": _NUL,
    "#": _NUL,
    ".": _SEGMENT,
    "/": _SEGMENT,
    ";": _SEGMENT,
    "?": _NUL | {"#"},
    "&": _NUL | {"#"},
}
_QUERY: Final = ("?", "&")
#: These write their sign before each value.
_STEPS: Final = ("/", ".")
_SEPARATOR: Final = re.compile(r"[/\\]|%2f|%5c", re.IGNORECASE)
_DOT: Final = re.compile("%2e", re.IGNORECASE)


class Unmatchable(ValueError):
    """A template whose URIs do not tell the values they were made of; the message says why."""


class Fixed(Struct, frozen=True):
    """A literal of a template."""

    units: list[str]

    def ends(self, units: list[str], after: list[int]) -> list[int]:
        """For each place of a URI: where this part ends if it begins there and the rest fits; else -1."""
        size = len(self.units)
        fits = [-1] * len(after)
        for place in range(len(after) - size):
            if after[place + size] >= 0 and units[place : place + size] == self.units:
                fits[place] = place + size
        return fits


class Hole(Struct, frozen=True):
    """An expression of a template, or one variable of it. With a ``sign`` it may be left out.

    Its value is as long as the rest of the template allows.
    """

    sign: str
    names: tuple[str, ...]
    never: frozenset[str]
    named: bool = False

    def ends(self, units: list[str], after: list[int]) -> list[int]:
        """As for a literal; a hole that is left out ends where it begins."""
        far, skip = self._far(units, after), len(self.sign)
        fits = [place if skip and end >= 0 else -1 for place, end in enumerate(after)]
        for place in range(len(units) - skip):
            begin = place + skip
            if far[begin] > begin and (not skip or units[place] == self.sign):
                fits[place] = far[begin]
        return fits

    def _far(self, units: list[str], after: list[int]) -> list[int]:
        """For each place: how far a value that begins there can go so that the rest fits; else -1."""
        far = [-1] * len(after)
        for place in range(len(units), -1, -1):
            if place < len(units) and units[place] not in self.never:
                far[place] = far[place + 1]
            if far[place] < 0 and after[place] >= 0:
                far[place] = place
        return far

    def values(self, units: list[str]) -> dict[str, str] | None:
        """What the units mean, sign included; None if they are no values of this expression."""
        if not units:
            return {}
        units = units[len(self.sign) :]
        if self.named:
            return self._named_values(units)
        pieces = _split(units, ",") if len(self.names) > 1 else [units]
        if len(pieces) != len(self.names) or not all(pieces):
            return None
        return _checked(list(zip(self.names, pieces, strict=True)))

    def _named_values(self, units: list[str]) -> dict[str, str] | None:
        pairs: list[tuple[str, list[str]]] = []
        for piece in _split(units, "&" if self.sign in _QUERY else self.sign):
            end = piece.index("=") if "=" in piece else len(piece)
            pairs.append(("".join(piece[:end]), piece[end + 1 :]))
        names = [name for name, _ in pairs]
        known = len(set(names)) == len(names) and set(names) <= set(self.names)
        return _checked(pairs) if known else None


MatchPart: TypeAlias = Fixed | Hole


def compiled(parts: Sequence[Part]) -> tuple[MatchPart, ...]:
    """A template made ready for matching.

    Raises:
        Unmatchable: no URI of it tells the values.
    """
    made: list[MatchPart] = []
    for part in parts:
        for one in _made(part):
            if made and _continues(made[-1], one):
                made[-1] = _joined(made[-1], one)
            else:
                made.append(one)
    return tuple(_bounded(one, made[index + 1 :]) for index, one in enumerate(made))


def _made(part: Part) -> Iterator[MatchPart]:
    if isinstance(part, str):
        yield Fixed(percent.units(percent.encode(part, reserved=True)) or [])
        return
    _refuse_ambiguity(part)
    never = _NEVER[part.sign]
    names = tuple(variable.name for variable in part.variables)
    if part.sign not in _STEPS:
        yield Hole(part.sign if part.operator.first else "", names, never, part.operator.named)
        return
    for variable in part.variables:
        # Exploded, it holds its own sign; a value after a dot may hold dots anyway.
        yield Hole(part.sign, (variable.name,), never - {part.sign} if variable.explode else never)


def _refuse_ambiguity(expression: Expression) -> None:
    for variable in expression.variables:
        if variable.limit is not None:
            raise Unmatchable(f"only {variable.limit} characters of {variable.name} are in the URI")
        if "%" in variable.name:
            raise Unmatchable(f"{variable.name} is encoded, so no parameter can bear its name")
        if variable.explode and expression.operator.named:
            raise Unmatchable(f"{variable.name} becomes any number of names and values")
        if variable.explode and expression.sign in _STEPS and variable != expression.variables[-1]:
            raise Unmatchable(f"where {variable.name} ends cannot be told")


def _continues(last: MatchPart, one: MatchPart) -> bool:
    """Whether two expressions are one query: ``{?a}{&b}``."""
    return isinstance(last, Hole) and last.sign in _QUERY and isinstance(one, Hole) and one.sign == "&"


def _joined(last: MatchPart, one: MatchPart) -> Hole:
    assert isinstance(last, Hole)
    assert isinstance(one, Hole)
    return replace(last, names=last.names + one.names)


def _bounded(one: MatchPart, later: list[MatchPart]) -> MatchPart:
    """A value does not hold the sign of what may follow: it would swallow it."""
    if isinstance(one, Fixed):
        return one
    signs = {part.sign for part in later if isinstance(part, Hole)} & {"?", "#"}
    for part in later:
        if isinstance(part, Fixed) or not part.sign:
            break
        signs.add(part.sign)
    return replace(one, never=one.never | signs)


def match(parts: Sequence[MatchPart], uri: str) -> dict[str, str] | None:
    """The values that make this URI of the template; None if none do, or if they are not safe to use."""
    units = percent.units(uri) if len(uri) <= MAX_LENGTH else None
    route = _route(parts, units) if units is not None else None
    if units is None or route is None:
        return None
    found: dict[str, str] = {}
    for part, (begin, end) in zip(parts, pairwise(route), strict=True):
        values = part.values(units[begin:end]) if isinstance(part, Hole) else {}
        if values is None or any(found.setdefault(name, text) != text for name, text in values.items()):
            return None
    return found


def _route(parts: Sequence[MatchPart], units: list[str]) -> list[int] | None:
    """Where each part begins, and where the last one ends; None if the URI does not fit.

    The parts are asked from the last to the first, each once, where they may begin: so nothing is tried that
    has to be taken back, and the work is the length of the URI times the number of parts.
    """
    if parts and isinstance(parts[0], Fixed) and units[: len(parts[0].units)] != parts[0].units:
        return None
    after = [-1] * len(units) + [len(units)]
    steps: list[list[int]] = []
    for part in reversed(parts):
        after = part.ends(units, after)
        steps.append(after)
    if after[0] < 0:
        return None
    route = [0]
    for ends in reversed(steps):
        route.append(ends[route[-1]])
    return route


def _split(units: list[str], separator: str) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for unit in units:
        if unit == separator:
            pieces.append([])
        else:
            pieces[-1].append(unit)
    return pieces


def _checked(pairs: Sequence[tuple[str, list[str]]]) -> dict[str, str] | None:
    """The values as text; None if one is no text, or leads upwards in a tree of files."""
    values = {name: percent.decode(units) for name, units in pairs}
    if any(text is None or _climbs(text) for text in values.values()):
        return None
    return {name: text for name, text in values.items() if text is not None}


def _climbs(text: str) -> bool:
    # Also what a second decoding would turn into a step upwards, and the separator of another system.
    return any(_DOT.sub(".", step) == ".." for step in _SEPARATOR.split(text))
