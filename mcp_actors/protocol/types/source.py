"""Where a value came from: the JSON it was read from, decoded only when somebody looks."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from mcp_actors.protocol.codec import Json, JsonObject, decode

Wire: TypeAlias = bytes | memoryview | msgspec.Raw


class Source:
    """JSON text, decoded at most once per reader. Immutable to the outside, so threads may share it."""

    __slots__ = ("_text", "_value")

    def __init__(self, text: Wire) -> None:
        self._text: Wire | None = text
        self._value: Json = None

    def read(self) -> JsonObject:
        """The decoded object. Everybody gets the same one: it is for reading."""
        text = self._text
        if text is not None:
            self._value = decode(text)
            # Only now: another thread that finds no text must find the value.
            self._text = None
        value: JsonObject = self._value
        return value


class Decoded:
    """A source that was decoded before it got here."""

    __slots__ = ("_value",)

    def __init__(self, value: JsonObject) -> None:
        self._value = value

    def read(self) -> JsonObject:
        """The decoded object. Everybody gets the same one: it is for reading."""
        return self._value


class Part:
    """A piece of another source, by the keys and indices that lead to it."""

    __slots__ = ("_path", "_whole")

    def __init__(self, whole: Origin, *path: str | int) -> None:
        self._whole = whole
        self._path = path

    def read(self) -> JsonObject:
        """The decoded object. Everybody gets the same one: it is for reading."""
        here: Json = self._whole.read()
        for step in self._path:
            here = here[step]
        piece: JsonObject = here
        return piece


Origin: TypeAlias = Source | Decoded | Part
