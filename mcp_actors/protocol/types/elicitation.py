"""Elicitation: a server asks the client's user, by a form or on a web page."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.form_fields import FormField, defaults, read_fields
from mcp_actors.protocol.types.tasks import TaskMetadata
from mcp_actors.protocol.types.value import MetaValue

# Deliberately narrower than the standard: no user info, backslash, blank or host beyond ASCII, by which an
# address could show one host to people and lead to another.
_PAGE: Final = re.compile(
    r"https?://(?P<host>[A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?#][^\\]*)?", re.IGNORECASE
)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class ElicitFormParams(MetaValue):
    """Questions to answer in a form. The schema is plain JSON: flat, with primitive fields only."""

    message: str
    requested_schema: JsonObject
    mode: Literal["form"] = "form"
    task: TaskMetadata | None = None

    @property
    def fields(self) -> list[FormField]:
        """The questions, in the server's order. Raises ``DecodeFailed`` if the schema is no flat form."""
        return read_fields(self.requested_schema)

    def defaults(self) -> JsonObject:
        """What the server suggests, for the fields for which it suggests anything."""
        return defaults(self.requested_schema)


class ElicitUrlParams(MetaValue, tag_field="mode", tag="url"):
    """A page to visit. Never open it without the user's consent."""

    message: str
    url: str
    elicitation_id: str | None = None
    task: TaskMetadata | None = None

    @property
    def host(self) -> str | None:
        """Whose page it is, to be shown to people; None if this is no plain address of a web page."""
        page = _PAGE.fullmatch(self.url) if " " not in self.url and self.url.isprintable() else None
        return page["host"].lower() if page else None

    @property
    def secure(self) -> bool:
        """Whether nobody on the way can read or change the page: https, or a page of this very machine."""
        return self.host is not None and (self.url[:6].lower() == "https:" or self.host in _LOOPBACK)


ElicitParams: TypeAlias = ElicitFormParams | ElicitUrlParams


def elicit_params(value: Json) -> ElicitParams:
    """The parameters of ``elicitation/create``; a form where no mode is named.

    Raises:
        DecodeFailed: they fit neither.
    """
    if isinstance(value, dict) and value.get("mode") == "url":
        return ElicitUrlParams.from_wire(value)
    return ElicitFormParams.from_wire(value)


class ElicitResult(MetaValue):
    """What the user did, and what the form then held."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject | None = None


class ElicitationCompleteParams(MetaValue):
    """Which visit to a page has ended (2025-11-25)."""

    elicitation_id: str
