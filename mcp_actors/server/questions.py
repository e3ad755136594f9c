"""Questions: what a handler can ask its client, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import DecodeFailed, JsonObject
from mcp_actors.server.forms import filled_in, form_of


class Elicited(Struct, frozen=True):
    """What the user did with a form or a page. ``data`` is the form's content, of the type asked for."""

    action: str
    content: JsonObject | None = None
    data: Any = None

    @property
    def accepted(self) -> bool:
        """Whether the user filled in the form, or agreed to visit the page."""
        return self.action == "accept"


class Elicit(Struct, frozen=True):
    """Ask the user: to fill in ``form``, or to visit ``url``."""

    kind: ClassVar[str] = "elicit"

    message: str
    form: type | JsonObject = {}
    url: str | None = None

    def request(self) -> JsonObject:
        """The request as it is sent."""
        params: JsonObject = {"message": self.message}
        if self.url is None:
            params["requestedSchema"] = form_of(self.form)
        else:
            params |= {"mode": "url", "url": self.url}
        return {"method": "elicitation/create", "params": params}

    def understand(self, given: JsonObject) -> Elicited:
        """What the client answered. Raises DecodeFailed if it does not fit."""
        result = types.ElicitResult.from_wire(given)
        if result.action != "accept" or self.url is not None:
            return Elicited(result.action, result.content)
        if result.content is None:
            raise DecodeFailed("a form that was accepted has content")
        return Elicited(result.action, result.content, filled_in(self.form, result.content))


class Sample(Struct, frozen=True):
    """Ask the client's model. ``options`` are those of ``sampling/createMessage``, in snake case."""

    kind: ClassVar[str] = "sample"

    messages: str | Sequence[types.SamplingMessage | JsonObject]
    max_tokens: int = 1000
    options: Mapping[str, Any] = {}

    def request(self) -> JsonObject:
        """The request as it is sent."""
        messages: Sequence[types.SamplingMessage | JsonObject]
        if isinstance(self.messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": self.messages}}]
        else:
            messages = self.messages
        wire = {
            "messages": [one if isinstance(one, dict) else one.to_wire() for one in messages],
            "maxTokens": self.max_tokens,
        }
        wire |= {_camel(name): _plain(value) for name, value in self.options.items()}
        return {"method": "sampling/createMessage", "params": wire}

    def understand(self, given: JsonObject) -> types.CreateMessageResult:
        """What the model said. Raises DecodeFailed if it does not fit."""
        return types.CreateMessageResult.from_wire(given)


class Roots(Struct, frozen=True):
    """Ask for the folders that the client works on."""

    kind: ClassVar[str] = "roots"

    def request(self) -> JsonObject:
        """The request as it is sent."""
        return {"method": "roots/list", "params": {}}

    def understand(self, given: JsonObject) -> list[types.Root]:
        """The folders. Raises DecodeFailed if the answer does not fit."""
        return types.ListRootsResult.from_wire(given).roots


Question: TypeAlias = Elicit | Sample | Roots


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    to_wire = getattr(value, "to_wire", None)
    return value if to_wire is None else to_wire()
