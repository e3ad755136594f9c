"""What does not fit, said in plain words: where, what was expected, and what came instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.signatures.places import found_at, is_secret, named, path_of, pinned, schemas_at
from mcp_actors.telemetry.redaction import printable

MAX_SHOWN: Final = 80
MAX_COMPLAINT: Final = 300
_MAX_LISTED: Final = 20

#: msgspec's names of what it expects or got.
_KINDS: Final = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
    "datetime": "a date and time as a string",
    "date": "a date as a string",
    "time": "a time as a string",
    "duration": "a duration as a string",
    "uuid": "a UUID as a string",
    "decimal": "a decimal number as a string",
    "bytes": "a string in base64",
    "bytearray": "a string in base64",
}
#: Strings of a certain form: how msgspec complains of them, and what they look like.
_FORMS: Final = {
    "Invalid RFC3339 encoded datetime": 'a date and time such as "2026-01-31T09:30:00Z"',
    "Invalid RFC3339 encoded date": 'a date such as "2026-01-31"',
    "Invalid RFC3339 encoded time": 'a time such as "09:30:00"',
    "Invalid ISO8601 duration": 'a duration such as "PT1H30M"',
    "Duration is out of range": "a shorter duration",
    "Invalid UUID": "a UUID",
    "Invalid base64 encoded string": "a string in base64",
    "Invalid decimal string": 'a decimal number such as "12.50"',
    "Number out of range": "a smaller number",
    "Integer value out of range": "a smaller number",
}
_PLACED: Final = re.compile(r"(.*?)(?: - at `(key` in `)?(\$[^`]*)`)?", re.DOTALL)
_GOT: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_COUNTED: Final = re.compile(r"Expected `array` of (.*), got (\d+)")
_LIMITED: Final = re.compile(r"Expected `(\w+)` (.*)", re.DOTALL)
_CHOICE: Final = re.compile(r"Invalid (?:enum )?value .*", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


class Scene(Struct, frozen=True):
    """The place of a complaint: what is there, if that is known and may be shown, and its schemas."""

    found: tuple[Json, ...]
    schemas: list[JsonObject]

    def got(self, otherwise: str = "") -> str:
        """The end of a sentence, with the value itself if it is short enough to say something."""
        shown = shown_values(self.found)
        return f", got {shown or otherwise}" if shown or otherwise else ""


def complaint(error: Exception, value: Json, place: str, schema: JsonObject) -> str:
    """One sentence on a value that msgspec did not take as what ``schema`` describes."""
    placed = _PLACED.fullmatch(str(error))
    assert placed is not None  # the pattern takes every text
    key = placed[2] is not None
    path = pinned(path_of(placed[3] or ""), schema, value)
    where = named(path, place)
    found = () if key or is_secret(where) else tuple(found_at(value, path))
    words = _words(error, placed[1], Scene(found, schemas_at(schema, path)))
    return printable(f"`{where}`: {'one of its keys: ' if key else ''}{words}", MAX_COMPLAINT)


def shown_values(found: Iterable[Json]) -> str:
    """A scalar as JSON, cut; nothing of arrays and objects, whose type says enough."""
    scalars = (one for one in found if not isinstance(one, dict | list | tuple))
    return "".join(printable(_as_json(one), MAX_SHOWN) for one in scalars)


def _as_json(scalar: Json) -> str:
    try:
        return codec.encode(scalar).decode()
    except ValueError:
        # NaN and the infinities, which the decoder lets pass.
        return str(scalar)


def kind_of(value: Json) -> str:
    """What a JSON value is, with its article."""
    kinds = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (dict, "object"))
    name = next((name for kind, name in kinds if isinstance(value, kind)), "array")
    return "null" if value is None else _KINDS[name]


def _words(error: Exception, text: str, scene: Scene) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, UnicodeEncodeError):
        return "it holds text that is not Unicode"
    if isinstance(error, TypeError):
        return "a set holds no arrays and no objects"
    if text in _FORMS:
        return f"expected {_FORMS[text]}{scene.got()}"
    for pattern, word in _WORDINGS:
        found = pattern.fullmatch(text)
        if found is not None:
            return word(found, scene)
    # The words of a class of the function's author, who checks more than types.
    return text


def _word_type(found: re.Match[str], scene: Scene) -> str:
    expected = [_KINDS.get(one, one) for one in found[1].split(" | ")]
    got = _KINDS.get(found[2], found[2])
    if found[2] == "bool" or not scene.found:
        return f"expected {_listed(expected)}{scene.got(got)}"
    shown = shown_values(scene.found)
    return f"expected {_listed(expected)}, got {got}{f' ({shown})' if shown and got != shown else ''}"


def _word_count(found: re.Match[str], _scene: Scene) -> str:
    return f"expected an array of {found[1]}, got one of length {found[2]}"


def _word_limit(found: re.Match[str], scene: Scene) -> str:
    got = scene.got()
    for one in scene.found:
        if isinstance(one, list | tuple | dict):
            got = f", got one of length {len(one)}"
    return f"expected {_KINDS.get(found[1], found[1])} {found[2]}{got}"


def _word_choice(_found: re.Match[str], scene: Scene) -> str:
    choices = [shown_values((one,)) for schema in scene.schemas for one in schema.get("enum", ())]
    return f"expected {_listed(choices) if choices else 'another value'}{scene.got()}"


def _word_missing(found: re.Match[str], _scene: Scene) -> str:
    return f"`{found[1]}` is missing"


def _word_unknown(found: re.Match[str], scene: Scene) -> str:
    known = [f"`{name}`" for schema in scene.schemas for name in schema.get("properties", ())]
    return f"`{found[1]}` is unknown; known are {_listed(known, 'and')}"


_WORDINGS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Scene], str]], ...]] = (
    (_GOT, _word_type),
    (_COUNTED, _word_count),
    (_LIMITED, _word_limit),
    (_CHOICE, _word_choice),
    (_MISSING, _word_missing),
    (_UNKNOWN, _word_unknown),
)


def _listed(words: list[str], last: str = "or") -> str:
    """``a, b or c``, not too many of them."""
    if len(words) > _MAX_LISTED:
        words = [*words[:_MAX_LISTED], f"{len(words) - _MAX_LISTED} more"]
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:]))) or "none"
