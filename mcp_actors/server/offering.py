"""Offering: the face by which functions become tools, resources and prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.uri_template import UriTemplate
from mcp_actors.server.content import CONTENT_TYPES
from mcp_actors.server.context import Context
from mcp_actors.server.raw_signature import RawSignature
from mcp_actors.server.registry.completions import CompletionEntry
from mcp_actors.server.registry.contracts import ToolSignature
from mcp_actors.server.registry.entries import PromptEntry, ResourceEntry, TemplateEntry, ToolEntry
from mcp_actors.server.registry.options import Options, ResourceOptions, ToolOptions
from mcp_actors.server.registry.registry import Registry, Source
from mcp_actors.server.signatures import (
    prompt_arguments_of,
    signature_of,
    template_arguments_of,
)

F = TypeVar("F", bound=Callable[..., Any])


class FunctionOptions(ToolOptions, total=False):
    """What may be said about a tool beside its function.

    ``structured_output``: False: no output schema; True: there must be one. ``input_schema`` and
    ``output_schema`` replace those that follow from the function's signature.
    """

    structured_output: bool | None
    input_schema: JsonObject | None
    output_schema: JsonObject | None


class Offering:
    """Decorators give the function back as it is. Everything can also be added and removed while the server
    runs, by any thread: clients are told."""

    def __init__(self) -> None:
        self.registry = Registry()
        """What is offered at the moment."""

    # Tools.

    def tool(self, **options: Unpack[FunctionOptions]) -> Callable[[F], F]:
        """Offer a function as a tool: name, schemas and description come from the function.

        Raises, where it is used:
            SignatureError: the function cannot be offered; the message says why.
            ValueError: there is a tool of that name already.
        """

        def offer(function: F) -> F:
            self.add_tool(function, **options)
            return function

        return offer

    def add_tool(
        self, function: Callable[..., Any], *, replace: bool = False, **options: Unpack[FunctionOptions]
    ) -> None:
        """Offer a function as a tool."""
        _refuse_call(function, "tool")
        given, output = options.pop("input_schema", None), options.pop("output_schema", None)
        structured = options.pop("structured_output", None)
        own = signature_of(
            function,
            context_type=Context,
            content_types=CONTENT_TYPES,
            structured_output=structured,
        )
        signature: ToolSignature = own
        if given is not None or output is not None:
            signature = RawSignature(own, given or own.input_schema, output)
        tool_options: ToolOptions = options
        self.registry.add_tool(ToolEntry.of(function, signature, **tool_options), replace=replace)

    def remove_tool(self, name: str) -> None:
        """Offer a tool no more. Raises LookupError if there is none."""
        self.registry.remove_tool(name)

    # Resources.

    def resource(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Offer what a function returns as a resource; a URI with ``{variables}`` is a template for many."""

        def offer(function: F) -> F:
            self.add_resource(uri, function, **options)
            return function

        return offer

    def add_resource(
        self,
        uri: str,
        function: Callable[..., Any],
        *,
        replace: bool = False,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """Offer what a function returns as a resource, or a family of them."""
        variables = frozenset(UriTemplate(uri).variables)
        signature = template_arguments_of(function, set(variables), Context)
        if variables:
            self.registry.add_template(TemplateEntry.of(uri, function, signature, **options), replace=replace)
        else:
            self.registry.add_resource(ResourceEntry.of(uri, function, signature, **options), replace=replace)

    def add_source(self, source: Source, *, replace: bool = False) -> None:
        """Offer all resources of a source, or none: `TextResource`, `FileResource`, `DirectoryResource`."""
        self.registry.add_source(source, replace=replace)

    def remove_resource(self, uri: str) -> None:
        """Offer a resource, or a template, no more. Raises LookupError if there is none."""
        if UriTemplate(uri).variables:
            self.registry.remove_template(uri)
        else:
            self.registry.remove_resource(uri)

    # Prompts.

    def prompt(self, **options: Unpack[Options]) -> Callable[[F], F]:
        """Offer what a function returns as a prompt; its parameters are the prompt's arguments."""

        def offer(function: F) -> F:
            self.add_prompt(function, **options)
            return function

        return offer

    def add_prompt(
        self, function: Callable[..., Any], *, replace: bool = False, **options: Unpack[Options]
    ) -> None:
        """Offer what a function returns as a prompt."""
        _refuse_call(function, "prompt")
        signature = prompt_arguments_of(function, Context)
        self.registry.add_prompt(PromptEntry.of(function, signature, **options), replace=replace)

    def remove_prompt(self, name: str) -> None:
        """Offer a prompt no more. Raises LookupError if there is none."""
        self.registry.remove_prompt(name)

    # Completions.

    def completion(
        self, *, argument: str, prompt: str | None = None, template: str | None = None
    ) -> Callable[[F], F]:
        """Suggest values for an argument of a prompt, or a variable of a resource template.

        The function takes the text so far and, if it likes, a dict of the other arguments.
        """
        if (prompt is None) is (template is None):
            raise TypeError("name either a prompt or a template")
        reference: types.Reference
        if prompt is not None:
            reference = types.PromptReference(name=prompt)
        else:
            assert template is not None
            reference = types.ResourceTemplateReference(uri=template)

        def offer(function: F) -> F:
            self.registry.add_completion(CompletionEntry.of(reference, argument, function, Context))
            return function

        return offer


def _refuse_call(function: object, what: str) -> None:
    if not callable(function):
        raise TypeError(f"a {what} is a function, not {type(function).__name__}: write @server.{what}()")
