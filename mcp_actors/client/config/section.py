"""The entry of one server, read key by key: a value of the right type, or an error that names the place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_actors.client.config.expansion import Expansion
from mcp_actors.client.config.place import Place


class Section:
    """A JSON object whose texts are expanded as they are read. A key whose value is null is not there."""

    def __init__(self, place: Place, given: object, expansion: Expansion) -> None:
        self.place = place
        self._expansion = expansion
        self._values = {key: value for key, value in mapping(given, place).items() if value is not None}

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are there, in their order."""
        return tuple(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def word(self, key: str) -> str | None:
        """A text as it stands."""
        value = self._values.get(key)
        return None if value is None else _string(value, self.place.of_key(key))

    def text(self, key: str) -> str | None:
        """A text, expanded."""
        value = self.word(key)
        return None if value is None else self._expanded(value, self.place.of_key(key))

    def path(self, key: str) -> str | None:
        """A path, expanded, also from a leading ``~``."""
        value = self.word(key)
        return None if value is None else self._expanded(value, self.place.of_key(key), path=True)

    def texts(self, key: str, *, path_first: bool = False) -> tuple[str, ...]:
        """A list of texts, expanded; the first may be a path. Empty when the key is not there."""
        place, values = self.place.of_key(key), self._values.get(key, [])
        if not isinstance(values, list | tuple):
            raise place.error(f"must be a list of strings, not {_called(values)}")
        items = ((value, index, place.of_item(index)) for index, value in enumerate(values))
        return tuple(
            self._expanded(_string(value, item), item, path=path_first and index == 0)
            for value, index, item in items
        )

    def command(self, key: str) -> tuple[str, ...]:
        """A program, or a list of it and its arguments; expanded."""
        if isinstance(self._values.get(key), list | tuple):
            return self.texts(key, path_first=True)
        program = self.path(key)
        return () if program is None else (program,)

    def table(self, key: str) -> dict[str, str]:
        """An object of texts, expanded. Numbers and truth values are taken as JSON writes them."""
        place = self.place.of_key(key)
        members = mapping(self._values.get(key, {}), place)
        spelled = {name: _spelled(value, place.of_key(name)) for name, value in members.items()}
        return {name: self._expanded(text, place.of_key(name)) for name, text in spelled.items()}

    def members(self, key: str) -> dict[str, Any]:
        """An object as it stands; empty when the key is not there."""
        return dict(mapping(self._values.get(key, {}), self.place.of_key(key)))

    def flag(self, key: str, default: bool) -> bool:
        """A truth value."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.place.of_key(key).error(f"must be true or false, not {_called(value)}")
        return value

    def number(self, key: str) -> float:
        """A number above 0; the key is there."""
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.place.of_key(key).error(f"must be a number, not {_called(value)}")
        if not 0 < value < float("inf"):
            raise self.place.of_key(key).error("must be a number above 0")
        return value

    def _expanded(self, text: str, place: Place, *, path: bool = False) -> str:
        expansion = self._expansion
        expanded = expansion.expand_path(text, place) if path else expansion.expand(text, place)
        # No argument, variable or header can hold one, and the operating system's error would show the text.
        if "\0" in expanded:
            raise place.error("holds a NUL character")
        return expanded


def mapping(value: object, place: Place) -> Mapping[str, Any]:
    """A JSON object, or the error that says what stands there instead."""
    if not isinstance(value, Mapping):
        raise place.error(f"must be an object, not {_called(value)}")
    if not all(isinstance(key, str) for key in value):
        raise place.error("must have strings as keys")
    return value


def _string(value: object, place: Place) -> str:
    if not isinstance(value, str):
        raise place.error(f"must be a string, not {_called(value)}; put it in quotes")
    return value


def _spelled(value: object, place: Place) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float):
        raise place.error(f"must be a string, a number, true or false, not {_called(value)}")
    return json.dumps(value)


def _called(value: object) -> str:
    """What JSON calls a value: the value itself is not shown, it may be a secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
    return type(value).__name__
