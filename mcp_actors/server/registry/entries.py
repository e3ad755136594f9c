"""Entries: a tool, resource, template or prompt with all that is needed to list and to run it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, Unpack

from mcp_actors.protocol import codec, types
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.uri_template import UriTemplate
from mcp_actors.server.brevity import Brevity
from mcp_actors.server.registry.contracts import Arguments, TextSignature, ToolSignature
from mcp_actors.server.registry.listing import Listed
from mcp_actors.server.registry.naming import check_name, check_uri, name_of
from mcp_actors.server.registry.options import (
    Mode,
    Options,
    ResourceOptions,
    TaskSupport,
    ToolOptions,
)

Definition = TypeVar("Definition", bound=types.Value)


class Entry(Listed, Generic[Definition], frozen=True, kw_only=True, dict=True, eq=False):
    """What all entries share.

    ``scopes``: what the caller's token must grant; ``required_capability``: what the client must have
    declared; ``timeout``: seconds that the function may take.
    """

    definition: Definition
    scopes: frozenset[str] = frozenset()
    required_capability: JsonObject | None = None
    timeout: float | None = None

    @cached_property
    def wire(self) -> JsonObject:
        """Its line in a listing, made once. For reading."""
        return self.definition.to_wire()


class ToolEntry(Entry[types.Tool], frozen=True, kw_only=True, dict=True, eq=False):
    """A tool."""

    signature: ToolSignature
    task_support: TaskSupport = "forbidden"

    @cached_property
    def brevity(self) -> Brevity:
        """How long its calls take."""
        return Brevity()

    @property
    def is_brief(self) -> bool:
        """Whether a call takes but a moment: it cannot talk with its client, and was short before."""
        alone = self.signature.context_parameter is None and self.timeout is None
        return alone and self.brevity.proven

    @property
    def key(self) -> str:
        """What it is found by: the name."""
        return self.definition.name

    @classmethod
    def of(
        cls, function: Callable[..., Any], signature: ToolSignature, **options: Unpack[ToolOptions]
    ) -> Self:
        """A tool of a function. Raises ``ValueError`` for a name that clients would not take."""
        support = options.get("task_support") or "forbidden"
        if support not in ("forbidden", "optional", "required"):
            raise ValueError(f"task_support is forbidden, optional or required, not {support!r}")
        definition = types.Tool(
            name=check_name("tool", options.get("name") or name_of(function)),
            input_schema=signature.input_schema,
            output_schema=signature.output_schema,
            annotations=options.get("annotations"),
            execution=None if support == "forbidden" else types.ToolExecution(task_support=support),
            **_shown(options, signature, _mode(options.get("mode"))),
        )
        return cls(
            definition=definition,
            function=function,
            signature=signature,
            task_support=support,
            **_conditions(options),
        )


class ResourceEntry(Entry[types.Resource], frozen=True, kw_only=True, dict=True, eq=False):
    """A resource with a fixed URI. Without a signature the function takes no arguments."""

    signature: Arguments | None = None

    @property
    def key(self) -> str:
        """What it is found by: the URI."""
        return self.definition.uri

    @classmethod
    def of(
        cls,
        uri: str,
        function: Callable[..., Any],
        signature: Arguments | None = None,
        **options: Unpack[ResourceOptions],
    ) -> Self:
        """A resource of a function. Raises ``ValueError`` if the URI is none."""
        definition = types.Resource(
            uri=check_uri(uri),
            name=options.get("name") or name_of(function),
            mime_type=options.get("mime_type"),
            annotations=options.get("annotations"),
            size=options.get("size"),
            **_shown(options, signature),
        )
        return cls(definition=definition, function=function, signature=signature, **_conditions(options))


class TemplateEntry(Entry[types.ResourceTemplate], frozen=True, kw_only=True, dict=True, eq=False):
    """A family of resources. Without a signature the function takes the template's variables as text."""

    template: UriTemplate
    signature: TextSignature | None = None

    @property
    def key(self) -> str:
        """What it is found by: the text of the template."""
        return self.definition.uri_template

    @classmethod
    def of(
        cls,
        uri_template: str,
        function: Callable[..., Any],
        signature: TextSignature | None = None,
        **options: Unpack[ResourceOptions],
    ) -> Self:
        """A template of a function.

        Raises:
            TemplateError: the text is no template.
            ValueError: its URIs do not tell the values they are made of.
        """
        template = _servable(uri_template)
        definition = types.ResourceTemplate(
            uri_template=uri_template,
            name=options.get("name") or name_of(function),
            mime_type=options.get("mime_type"),
            annotations=options.get("annotations"),
            **_shown(options, signature),
        )
        return cls(
            definition=definition,
            template=template,
            function=function,
            signature=signature,
            **_conditions(options),
        )


class PromptEntry(Entry[types.Prompt], frozen=True, kw_only=True, dict=True, eq=False):
    """A prompt."""

    signature: TextSignature

    @property
    def key(self) -> str:
        """What it is found by: the name."""
        return self.definition.name

    @classmethod
    def of(cls, function: Callable[..., Any], signature: TextSignature, **options: Unpack[Options]) -> Self:
        """A prompt of a function. Raises ``ValueError`` for a name that clients would not take."""
        definition = types.Prompt(
            name=check_name("prompt", options.get("name") or name_of(function)),
            arguments=list(signature.declared) or None,
            **_shown(options, signature),
        )
        return cls(definition=definition, function=function, signature=signature, **_conditions(options))


def _shown(options: Options, signature: object, extra: JsonObject | None = None) -> dict[str, Any]:
    """What all definitions show to people and models."""
    said, meta = options.get("description"), options.get("meta")
    if meta:
        # Here, where it is its author's mistake: one that cannot be written would spoil the list of all.
        codec.encode(meta)
    return {
        "title": options.get("title"),
        "description": getattr(signature, "description", None) if said is None else said,
        "icons": list(options.get("icons") or ()) or None,
        "meta": {**(meta or {}), **(extra or {})} or None,
    }


def _mode(mode: Mode | None) -> JsonObject | None:
    if mode not in (None, "stateless", "stateful"):
        raise ValueError(f"mode is stateless or stateful, not {mode!r}")
    return None if mode is None else {"mode": mode}


def _conditions(options: Options) -> dict[str, Any]:
    """Under which circumstances the function runs."""
    timeout = options.get("timeout")
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout must be more than 0 seconds, not {timeout!r}")
    required = options.get("required_capability")
    if required is not None and not isinstance(required, dict):
        raise TypeError(f"required_capability must be an object of capabilities, not {required!r}")
    return {
        "scopes": frozenset(options.get("scopes") or ()),
        "required_capability": required,
        "timeout": timeout,
    }


def _servable(uri_template: str) -> UriTemplate:
    template = UriTemplate(uri_template)
    if template.unmatchable is not None:
        raise ValueError(f"{uri_template!r} cannot be served: {template.unmatchable}")
    return template
