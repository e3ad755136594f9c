"""The text of a configuration as a JSON document, and the servers in it, in the forms that hosts use."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from mcp_actors.client.config import jsonc
from mcp_actors.client.config.place import Place, suggestion
from mcp_actors.client.config.section import mapping

#: Keys that hold the servers: VS Code's is the second, everybody else's the first.
_HOLDERS: Final = ("mcpServers", "servers")
#: What may stand beside the servers of the flat form.
_BESIDE: Final = frozenset({"$schema", "inputs"})


def parse_document(text: str, place: Place) -> Any:
    """The document that a text holds; warns of names that stand twice in one object."""
    repeated: set[str] = set()

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(name for name, _ in pairs)
        repeated.update(name for name, count in counts.items() if count > 1)
        return dict(pairs)

    try:
        document = jsonc.loads(text, members)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        reason = "nested too deep"
    except ValueError:
        reason = "a number with too many digits"
    else:
        for name in sorted(repeated):
            place.warn(f"{name!r} stands twice in one object; only the last one counts")
        return document
    raise place.error(f"not valid JSON: {reason}")


def servers_of(document: object, place: Place) -> Mapping[str, Any]:
    """The servers of a document in any of its forms, by name; not yet read."""
    given = mapping(document, place)
    held = [key for key in _HOLDERS if key in given and not _is_entry(given[key])]
    if len(held) > 1:
        place.warn(f"{held[0]!r} is read, {held[1]!r} is ignored; put all servers under one of them")
    if held:
        return mapping(given[held[0]], place.of_key(held[0]))
    flat = {name: value for name, value in given.items() if name not in _BESIDE}
    if any(map(_is_entry, flat.values())):
        return flat
    if _is_entry(given):
        raise place.error('this is one server without a name; write {"mcpServers": {"name": {...}}}')
    close = next(filter(None, (suggestion(key, _HOLDERS) for key in given)), "")
    raise place.error(f"no servers found; they stand under 'mcpServers' or 'servers'{close}")


def _is_entry(value: object) -> bool:
    """Whether this describes a server. In a collection of servers, a server named "command" is an object."""
    if not isinstance(value, Mapping):
        return False
    return any(isinstance(value.get(key), str | list | tuple) for key in ("command", "url"))
