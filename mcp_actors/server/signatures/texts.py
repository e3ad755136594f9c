"""Functions whose arguments come as text: prompts, and resources whose address has variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.types import PromptArgument
from mcp_actors.server.signatures.blueprint import Blueprint
from mcp_actors.server.signatures.intake import Intake, read
from mcp_actors.server.signatures.places import schemas_at
from mcp_actors.server.signatures.problems import SignatureError


class TextSignature:
    """What a function takes, from texts. Any thread may use it.

    A parameter of type ``str``, or without annotation, gets the text as it is. For any other the text is JSON
    if it can be read as JSON of that type, and otherwise what it spells: a date, a number, one of an enum.
    """

    __slots__ = ("_intake", "choices", "context_parameter", "declared", "description")

    def __init__(self, blueprint: Blueprint) -> None:
        offered = blueprint.parameters.offered
        self.context_parameter: str | None = blueprint.parameters.context
        self.description: str | None = blueprint.documentation.text
        #: The parameters as a prompt lists them.
        self.declared: list[PromptArgument] = [
            PromptArgument(name=one.name, description=blueprint.description(one), required=one.required)
            for one in offered
        ]
        #: The texts that a parameter may have, where they are few: of a ``Literal``, an enum and ``bool``.
        self.choices: dict[str, tuple[str, ...]] = {
            one.name: found for one in offered if (found := _choices(blueprint.kinds.whole(one.name)))
        }
        self._intake = Intake(blueprint.parameters, blueprint.kinds)

    def arguments(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The keyword arguments for the function; what was not given is left to its own defaults.

        Raises:
            InvalidArguments: something is missing, unknown or does not fit; the message names all of it.
        """
        return self._intake.take_each(given, read)

    def call(self, function: Callable[..., Any], arguments: dict[str, Any], context: object) -> Any:
        """Call the function with what ``arguments`` made, and with the context if it wants one."""
        return self._intake.call(function, arguments, context)


#: What a prompt takes.
PromptSignature: TypeAlias = TextSignature
#: What a resource with variables in its address takes.
TemplateSignature: TypeAlias = TextSignature


def prompt_arguments_of(
    function: Callable[..., Any],
    context_type: type | None = None,
    *,
    names: Mapping[str, Any] | None = None,
) -> PromptSignature:
    """What a prompt takes; ``names`` as for ``signature_of``.

    Raises:
        SignatureError: the function cannot be offered; the message names the parameter and says why.
    """
    return TextSignature(Blueprint(function, context_type, names))


def template_arguments_of(
    function: Callable[..., Any],
    variables: set[str],
    context_type: type | None = None,
    *,
    names: Mapping[str, Any] | None = None,
) -> TemplateSignature:
    """What a resource with variables in its address takes; ``names`` as for ``signature_of``.

    Raises:
        SignatureError: the function cannot be offered, or its parameters and the variables differ.
    """
    blueprint = Blueprint(function, context_type, names)
    offered = {one.name: one for one in blueprint.parameters.offered}
    unused = sorted(variables - offered.keys())
    if unused and (
        blueprint.parameters.further is None or blueprint.parameters.withheld.intersection(unused)
    ):
        raise SignatureError(f"`{blueprint.callee.name}`: no parameter for {_quoted(unused)} of the template")
    unfilled = [name for name, one in offered.items() if one.required and name not in variables]
    if unfilled:
        raise SignatureError(
            f"`{blueprint.callee.name}`: the template has no variable for {_quoted(unfilled)}: add one, or "
            "give the parameter a default"
        )
    return TextSignature(blueprint)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _choices(schema: JsonObject) -> tuple[str, ...]:
    return tuple(text for one in schemas_at(schema, ()) for text in _listed(one))


def _listed(schema: JsonObject) -> Iterator[str]:
    if schema.get("type") == "boolean":
        yield from ("true", "false")
    for value in schema.get("enum", ()):
        if value is not None:
            yield value if isinstance(value, str) else codec.encode(value).decode()
