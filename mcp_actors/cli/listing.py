"""Tools, resources and prompts as tables that keep to the width of the screen."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mcp_actors import Client
from mcp_actors.cli.conversion import type_names
from mcp_actors.cli.output import json_text, one_line, results, safe, show
from mcp_actors.protocol import types

#: A name column wider than this leaves too little for the descriptions, which then go below the names.
_WIDEST_NAMES: Final = 0.4
_INDENT: Final = (0, 0, 0, 4)
_NARROWEST: Final = 40

Item = types.Tool | types.Resource | types.ResourceTemplate | types.Prompt


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing a server offers. ``key`` is its name on the wire."""

    key: str
    title: str
    fetch: Callable[[Client], Sequence[Any]]


KINDS: Final = (
    Kind("tools", "Tools", lambda client: client.list_tools()),
    Kind("resources", "Resources", lambda client: client.list_resources()),
    Kind("resourceTemplates", "Resource templates", lambda client: client.list_resource_templates()),
    Kind("prompts", "Prompts", lambda client: client.list_prompts()),
)


def show_items(kind: Kind, items: Sequence[Item], titled: bool) -> None:
    """Names, what they take, and the first paragraph about each."""
    rows = [(_name(item), _summary(item)) for item in items]
    widest = max(name.cell_len for name, _ in rows)
    room = results().width
    body = _beside(rows) if widest <= room * _WIDEST_NAMES else _below(rows)
    _show_section(kind, body, titled)


def show_schemas(kind: Kind, items: Sequence[Item], titled: bool) -> None:
    """Names, whole descriptions, and the input schemas of tools."""
    _show_section(kind, _below([(_name(item), _details(item)) for item in items]), titled)


def usage_of(item: types.Tool | types.Prompt) -> str:
    """What a tool or prompt takes, as it is typed: ``a=number [delay=number]``."""
    if isinstance(item, types.Prompt):
        blanks = [(one_line(f"{one.name}=text"), one.required) for one in item.arguments or ()]
        return " ".join(word if needed else f"[{word}]" for word, needed in blanks)
    schema = item.input_schema
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    known = list(properties) if isinstance(properties, Mapping) else []
    return " ".join(_argument(key, schema, needed=key in needed) for key in known)


def _argument(key: str, schema: Mapping[str, Any], *, needed: bool) -> str:
    names = "|".join(name for name in type_names(key, schema) if name != "null")
    text = one_line(f"{key}={names or 'any'}")
    return text if needed else f"[{text}]"


def _show_section(kind: Kind, body: RenderableType, titled: bool) -> None:
    if titled:
        show(Text(kind.title, "bold underline"))
    show(body)
    if titled:
        show("")


def _beside(rows: Sequence[tuple[Text, RenderableType]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, about in rows:
        table.add_row(name, about)
    return table


def _below(rows: Sequence[tuple[Text, RenderableType]]) -> Group:
    return Group(*(part for name, about in rows for part in (name, Padding(about, _INDENT, expand=False))))


def _name(item: Item) -> Text:
    match item:
        case types.Resource():
            text = item.uri
        case types.ResourceTemplate():
            text = item.uri_template
        case _:
            text = item.name
    return Text(one_line(text), "bold cyan", overflow="fold")


def _summary(item: Item) -> Group:
    paragraphs = (item.description or _title(item)).strip().split("\n\n")
    about = one_line(paragraphs[0]) + (" …" if len(paragraphs) > 1 else "")
    taken = _taken(item)
    return Group(*(text for text in (Text(about), Text(taken, "dim")) if text.plain))


def _details(item: Item) -> Group:
    parts: list[RenderableType] = [Text(safe((item.description or _title(item)).strip())), _facts(item)]
    if isinstance(item, types.Tool):
        parts.append(Text("\n".join(_hanging(json_text(item.input_schema))), "dim"))
    return Group(*parts, "")


def _hanging(text: str) -> Iterator[str]:
    """Long lines of JSON, wrapped so that what follows stands deeper than what comes next."""
    width = max(_NARROWEST, results().width - _INDENT[3])
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + _INDENT[3])
        yield textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False) if line else line


def _title(item: Item) -> str:
    """What stands in for a description."""
    names = (item.title, item.name if isinstance(item, types.Resource | types.ResourceTemplate) else None)
    return next((name for name in names if name), "")


def _taken(item: Item) -> str:
    if isinstance(item, types.Tool | types.Prompt):
        return usage_of(item)
    return one_line(item.mime_type or "")


def _facts(item: Item) -> Text:
    return Text(_taken(item), "dim")
