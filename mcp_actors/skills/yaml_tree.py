"""YAML as a tree of its words. What a word means (is ``yes`` a truth value?) is left to who compares it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias

from msgspec import Struct

_DEEPEST: Final = 32


class YamlRefused(ValueError):
    """Text that is no YAML, or YAML of a kind that is not accepted here. The message says where."""


class Scalar(Struct, frozen=True):
    """One word or text. ``plain`` if it was written without quotes, so that it may mean a number."""

    text: str
    plain: bool


Tree: TypeAlias = "Scalar | list[Tree] | dict[str, Tree]"


def require_yaml() -> Any:
    """The library that reads YAML. An extra: only who reads skills needs it."""
    try:
        # Not an import statement: whoever has no use for skills has neither the library nor its types.
        return import_module("yaml")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading a skill needs PyYAML, which the extra [skills] brings: pip install 'mcp-actors[skills]'",
            name=error.name,
        ) from None


def parse(text: str) -> Tree:
    """The one document in ``text``.

    Raises:
        YamlRefused: no YAML; or aliases, which let a few bytes grow without bound; or tags, which ask for
            types that JSON has not; or a key twice, of which readers take different ones; or too deep.
    """
    yaml = require_yaml()
    try:
        return _Reader(yaml, text).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" in line {mark.line + 1}"
        raise YamlRefused(
            f"{getattr(error, 'problem', None) or 'characters that YAML forbids'}{place}"
        ) from None
    except (ValueError, OverflowError) as error:
        # The library makes characters of escapes like "\UFFFFFFFF" without looking first.
        raise error if isinstance(error, YamlRefused) else YamlRefused(str(error)) from None


class _Reader:
    """Reads the events of one text, so that nothing is built before it is known to be small and plain."""

    def __init__(self, yaml: Any, text: str) -> None:
        self._yaml = yaml
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)

    def document(self) -> Tree:
        yaml = self._yaml
        next(self._events)  # the stream begins
        if not isinstance(next(self._events), yaml.DocumentStartEvent):
            return Scalar("", plain=True)
        tree = self._tree(next(self._events), _DEEPEST)
        next(self._events)  # the document ends
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            raise YamlRefused("more than one document")
        return tree

    def _tree(self, event: Any, levels: int) -> Tree:
        yaml = self._yaml
        if isinstance(event, yaml.AliasEvent):
            raise YamlRefused(f"an alias in line {event.start_mark.line + 1}")
        if event.tag is not None:
            raise YamlRefused(f"a tag in line {event.start_mark.line + 1}")
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, plain=event.style is None)
        if levels == 0:
            raise YamlRefused(f"more than {_DEEPEST} levels in line {event.start_mark.line + 1}")
        mapping = isinstance(event, yaml.MappingStartEvent)
        return self._mapping(levels - 1) if mapping else self._sequence(levels - 1)

    def _sequence(self, levels: int) -> list[Tree]:
        items: list[Tree] = []
        while not isinstance(event := next(self._events), self._yaml.SequenceEndEvent):
            items.append(self._tree(event, levels))
        return items

    def _mapping(self, levels: int) -> dict[str, Tree]:
        items: dict[str, Tree] = {}
        while not isinstance(event := next(self._events), self._yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            key = self._tree(event, levels)
            if not isinstance(key, Scalar):
                raise YamlRefused(f"a key that is no text in line {line}")
            if key.text in items:
                raise YamlRefused(f"the key {key.text[:80]!r} twice, again in line {line}")
            items[key.text] = self._tree(next(self._events), levels)
        return items
