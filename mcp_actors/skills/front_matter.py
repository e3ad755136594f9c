"""The head of a ``SKILL.md``: finding it, and comparing it with what the skill's entry says."""

from __future__ import annotations

import re
from typing import Final

from mcp_actors.protocol.codec import Json
from mcp_actors.skills.yaml_tree import Scalar, Tree

_HEAD: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<head>.*?)(?<=\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_DECIMAL: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PREFIXED: Final = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
#: Longer numbers are compared as text only: converting them takes quadratic time.
_LONGEST_NUMBER: Final = 64
_LONGEST_SHOWN: Final = 80

# Readers differ about these (YAML 1.1 knows ``yes``, YAML 1.2 does not); each of their answers is accepted.
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTHS: Final = {
    True: frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}),
    False: frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}),
}


def split(text: str) -> tuple[str, str] | None:
    """The head, which is YAML, and the body of a file; None if it does not begin with a head."""
    found = _HEAD.match(text)
    return None if found is None else (found["head"], text[found.end() :])


def difference(tree: Tree, value: Json, place: str = "") -> str | None:
    """Where ``tree``, from the file, is not what ``value``, from the entry, says; None if it is everywhere.

    A word without quotes equals what any reader of YAML may make of it, and the word itself as text: the
    format of skills wants text in ``metadata``, whatever ``version: 1.0`` means elsewhere.
    """
    if isinstance(tree, dict) and isinstance(value, dict):
        return _difference_of_mappings(tree, value, place)
    if isinstance(tree, list) and isinstance(value, list) and len(tree) == len(value):
        pairs = zip(tree, value, strict=True)
        found = (difference(one, other, f"{place}[{i}]") for i, (one, other) in enumerate(pairs))
        return next(filter(None, found), None)
    if isinstance(tree, Scalar) and _means(tree, value):
        return None
    return f"{place or 'it'} is {_found(tree)} in the file, but {_told(value)} in the entry"


def _difference_of_mappings(tree: dict[str, Tree], value: dict[str, Json], place: str) -> str | None:
    inside = f"{place}." if place else ""
    for key in sorted(tree.keys() | value.keys()):
        where = inside + _cut(key)
        if key not in tree:
            return f"{where} is not in the file, but {_told(value[key])} in the entry"
        if key not in value:
            return f"{where} is {_found(tree[key])} in the file, but not in the entry"
        found = difference(tree[key], value[key], where)
        if found is not None:
            return found
    return None


def _means(scalar: Scalar, value: Json) -> bool:
    if value == scalar.text:
        return True
    if not scalar.plain:
        return False
    if isinstance(value, str):
        # JavaScript reads a date as a moment, and writes that.
        return value == f"{scalar.text}T00:00:00.000Z" and _DATE.fullmatch(scalar.text) is not None
    if value is None:
        return scalar.text in _NULLS
    if isinstance(value, bool):
        return scalar.text in _TRUTHS[value]
    return isinstance(value, int | float) and _number(scalar.text) == value


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST_NUMBER:
        return None
    if _PREFIXED.fullmatch(text):
        return int(text, 0)
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if re.search(r"[.eE]", text) else int(text)


def _found(tree: Tree) -> str:
    return _told(tree.text if isinstance(tree, Scalar) else tree)


def _told(value: Json) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"a mapping of {len(value)}" if isinstance(value, dict) else _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
