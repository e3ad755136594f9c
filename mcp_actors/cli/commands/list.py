"""mcp-actors list: what a server offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from mcp_actors import Client, errors
from mcp_actors.cli.connection import connected
from mcp_actors.cli.listing import KINDS, Kind, show_items, show_schemas
from mcp_actors.cli.output import remark, write_json
from mcp_actors.cli.target import Target

_METHOD_NOT_FOUND: Final = -32601


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to list, and how to show it."""

    resources: Annotated[bool, typer.Option("--resources", help="List resources.")] = False
    templates: Annotated[bool, typer.Option("--templates", help="List templates of resources.")] = False
    prompts: Annotated[bool, typer.Option("--prompts", help="List prompts.")] = False
    everything: Annotated[bool, typer.Option("--all", help="List all of it, tools as well.")] = False
    schema: Annotated[
        bool, typer.Option("--schema", help="Show whole descriptions and the input schemas of tools.")
    ] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: an object with a list for each kind.")
    ] = False

    def kinds(self) -> list[Kind]:
        """The kinds of things to list: tools, unless others were asked for."""
        asked = {"resources": self.resources, "resourceTemplates": self.templates, "prompts": self.prompts}
        chosen = [kind for kind in KINDS if self.everything or asked.get(kind.key)]
        return chosen or [kind for kind in KINDS if kind.key == "tools"]


def list_(target: Target, wanted: Wanted) -> None:
    """List the tools of a server, or what else it offers."""
    kinds = wanted.kinds()
    with connected(target) as client:
        found = [_listed(client, kind) for kind in kinds]
        server = client.server_info.name or client.name
    if wanted.as_json:
        write_json({kind.key: [item.raw for item in items] for kind, items in zip(kinds, found, strict=True)})
        return
    show: Callable[[Kind, Sequence[Any], bool], None] = show_schemas if wanted.schema else show_items
    for kind, items in zip(kinds, found, strict=True):
        if items:
            show(kind, items, len(kinds) > 1)
        else:
            remark(f"{server} offers no {kind.title.lower()}")


def _listed(client: Client, kind: Kind) -> Sequence[Any]:
    try:
        return kind.fetch(client)
    except errors.CapabilityMissing:
        return ()
    except errors.RemoteError as error:
        # A server that has resources need not have templates of them, and no capability tells which.
        if error.code != _METHOD_NOT_FOUND:
            raise
        return ()
