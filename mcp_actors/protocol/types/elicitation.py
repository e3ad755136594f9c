"""Elicitation: a server asks the client's user, by a form or on a web page."""

from __future__ import annotations

from typing import Literal, TypeAlias

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.tasks import TaskMetadata
from mcp_actors.protocol.types.value import MetaValue


class ElicitFormParams(MetaValue):
    """Questions to answer in a form. The schema is plain JSON: flat, with primitive fields only."""

    message: str
    requested_schema: JsonObject
    mode: Literal["form"] = "form"
    task: TaskMetadata | None = None


class ElicitUrlParams(MetaValue, tag_field="mode", tag="url"):
    """A page to visit. Never open it without the user's consent."""

    message: str
    url: str
    elicitation_id: str | None = None
    task: TaskMetadata | None = None


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
