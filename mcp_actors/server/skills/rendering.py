"""From YAML to JSON: what the words of a front matter mean, as YAML 1.2 has it."""

from __future__ import annotations

import math
import re
from typing import Final

from mcp_actors.protocol.codec import Json
from mcp_actors.skills.yaml_tree import Scalar, Tree

# YAML 1.2.2, section 10.3.2: the core schema. What is not in it is text: yes, 12:30, 2026-07-28.
_CONSTANTS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE: Final = re.compile(r"[-+]?[0-9]+")
_PREFIXED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST_NUMBER: Final = 64
#: Beyond it, readers whose only numbers are floating-point ones round.
_LARGEST: Final = 2**53 - 1


class NoJson(ValueError):
    """A word that means what JSON has not, or what its readers take differently."""


def rendered(tree: Tree) -> Json:
    """The JSON value that a tree means. Raises `NoJson` if there is none that all readers agree on."""
    if isinstance(tree, dict):
        return {_text(key): rendered(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [rendered(value) for value in tree]
    return _meaning(tree)


def _meaning(scalar: Scalar) -> Json:
    text = scalar.text
    if not scalar.plain:
        return _text(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    whole = bool(_WHOLE.fullmatch(text) or _PREFIXED.fullmatch(text))
    if not whole and not _DECIMAL.fullmatch(text):
        if _ENDLESS.fullmatch(text):
            raise _without_json(text)
        return text
    # The length first: converting very long numbers takes quadratic time.
    if len(text) > _LONGEST_NUMBER:
        raise _without_json(text)
    return _whole(text) if whole else _decimal(text)


def _text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise NoJson(f"{ascii(text[:40])} has half of a character, which not every reader takes") from None
    return text


def _whole(text: str) -> int:
    # Zeros in front do not make it octal in YAML 1.2.
    number = int(text, 0) if _PREFIXED.fullmatch(text) else int(text)
    if abs(number) > _LARGEST:
        raise _without_json(text)
    return number


def _decimal(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _without_json(text)
    return number


def _without_json(text: str) -> NoJson:
    return NoJson(f"{text[:40]!r} is a number that JSON cannot hold; in quotes it would be text")
