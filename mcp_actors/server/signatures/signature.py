"""A function as a tool: the schemas of what goes in and comes out, and the way of the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.signatures.blueprint import Blueprint
from mcp_actors.server.signatures.intake import Intake
from mcp_actors.server.signatures.kinds import Unfounded
from mcp_actors.server.signatures.problems import SignatureError
from mcp_actors.server.signatures.results import Outcome, outcome_of


class Signature:
    """What a function takes and gives, compiled once. Any thread may use it.

    ``arguments`` takes what ``input_schema`` describes, with these exceptions. It takes more: repeated
    members of a set, and a number for a ``Decimal``. It takes less: a ``format`` (dates, UUIDs …) and base64
    are rules for it, as are the types of a dict's keys and Python's reading of a ``pattern``; a number must
    not be beyond a float where one is expected; and the function's own classes may check more than types.
    """

    __slots__ = ("_intake", "_outcome", "context_parameter", "description", "input_schema")

    def __init__(self, blueprint: Blueprint, outcome: Outcome) -> None:
        self.input_schema: JsonObject = blueprint.input_schema
        self.context_parameter: str | None = blueprint.parameters.context
        self.description: str | None = blueprint.documentation.text
        self._intake = Intake(blueprint.parameters, blueprint.kinds)
        self._outcome = outcome

    @property
    def output_schema(self) -> JsonObject | None:
        """What ``structured`` gives: always an object, as the protocol had it up to 2025-11-25."""
        return self._outcome.schema

    @property
    def wrapped_output(self) -> bool:
        """Whether the result is no object, so that ``structured`` puts it into ``{"result": …}``."""
        return self._outcome.wrapped

    def arguments(self, given: JsonObject) -> dict[str, Any]:
        """The keyword arguments for the function; what was not given is left to its own defaults.

        Raises:
            InvalidArguments: something is missing, unknown or does not fit; the message names all of it.
        """
        return self._intake.take(given)

    def structured(self, value: object) -> Json:
        """The JSON form of what the function returned; it fits ``output_schema``.

        To be sure of that, classes of the return annotation are made once more from their JSON.

        Raises:
            UnusableResult: there is none, or it does not fit.
        """
        return self._outcome.write(value)

    def call(self, function: Callable[..., Any], arguments: dict[str, Any], context: object) -> Any:
        """Call the function with what ``arguments`` made, and with the context if it wants one."""
        return self._intake.call(function, arguments, context)


def signature_of(
    function: Callable[..., Any],
    *,
    context_type: type | None = None,
    content_types: tuple[type, ...] = (),
    structured_output: bool | None = None,
    names: Mapping[str, Any] | None = None,
) -> Signature:
    """What a function takes and gives.

    Args:
        context_type: a parameter annotated with it is not an argument, but for the caller of the function.
        content_types: classes that stand for content when returned, besides the protocol's own blocks.
        structured_output: False: no output schema; True: there must be one; None: as the annotation is.
        names: what annotations that are strings may name besides the function's globals and closure; for
            types that are local to another function, its ``locals()``.

    Raises:
        SignatureError: the function cannot be offered; the message names the parameter and says why.
    """
    blueprint = Blueprint(function, context_type, names)
    annotation = blueprint.callee.hints.get("return", Parameter.empty)
    try:
        outcome = outcome_of(annotation, content_types, structured_output)
    except Unfounded as error:
        raise SignatureError(f"`{blueprint.callee.name}`: no schema for what it returns: {error}") from None
    return Signature(blueprint, outcome)
