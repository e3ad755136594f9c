"""Values of the types that pydantic knows: from JSON, from text, and back to JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.server.signatures.annotations import Untranslatable
from mcp_actors.server.signatures.complaints import MAX_COMPLAINT, kind_of, shown_values
from mcp_actors.server.signatures.numbers import with_integers
from mcp_actors.server.signatures.places import found_at, is_secret, named
from mcp_actors.server.signatures.problems import InvalidArguments, UnusableResult
from mcp_actors.telemetry.redaction import printable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Mode: TypeAlias = Literal["validation", "serialization"]

_MAX_COMPLAINTS: Final = 5


class Modelled:
    """One annotation. pydantic is imported when the first is made."""

    #: msgspec lets everything pass.
    field: Any = Any

    def __init__(self, annotation: Any) -> None:
        from pydantic import TypeAdapter, ValidationError
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

        self._unfit = ValidationError
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise Untranslatable(f"pydantic does not take it: {str(error).splitlines()[0]}") from None

    def schema(self, mode: Mode, references: str) -> JsonObject:
        """The JSON Schema, with its own ``$defs``; ``references`` is their form, with ``{model}`` in it.

        Raises:
            Untranslatable: there is none.
        """
        from pydantic.errors import PydanticInvalidForJsonSchema
        from pydantic.json_schema import GenerateJsonSchema

        class Untitled(GenerateJsonSchema):
            """Without a title that repeats each field's name."""

            def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
                return False

        try:
            return self._adapter.json_schema(mode=mode, ref_template=references, schema_generator=Untitled)
        except PydanticInvalidForJsonSchema as error:
            raise Untranslatable(str(error).splitlines()[0]) from None

    def make(self, value: Json, place: str) -> Any:
        """The value for the function.

        Raises:
            InvalidArguments: the JSON does not fit.
        """
        # From JSON text: only there does being strict with numbers still allow dates to be strings.
        try:
            return self._adapter.validate_json(codec.encode(value), strict=True)
        except (ValueError, RecursionError):
            pass
        try:
            value = with_integers(value)
            return self._adapter.validate_json(codec.encode(value), strict=True)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(_complaints(error, value, place)) from None

    def read(self, text: str, place: str) -> Any:
        """The value that a text stands for: its JSON, or what it spells.

        Raises:
            InvalidArguments: the text does not fit.
        """
        try:
            return self._adapter.validate_json(text)
        except self._unfit:
            pass
        try:
            return self._adapter.validate_python(text)
        except self._unfit as error:
            raise InvalidArguments(_complaints(error, text, place)) from None

    def write(self, value: object) -> Json:
        """The JSON form of a value of this type.

        Raises:
            UnusableResult: it has none, or is of another type.
        """
        from pydantic_core import PydanticSerializationError

        try:
            made = self._adapter.validate_python(value)
            written = self._adapter.dump_python(made, mode="json", by_alias=True)
            codec.encode(written)
        except self._unfit as error:
            raise UnusableResult(_complaints(error, value, "$")) from None
        except (PydanticSerializationError, TypeError, ValueError) as error:
            raise UnusableResult(f"it has no JSON form: {error}") from None
        return written


def _complaints(error: Exception, value: Json, place: str) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        # Before pydantic had a look at it: nested too deep, or no JSON at all.
        return f"`{place}`: {'it is nested too deep' if isinstance(error, RecursionError) else error}"
    details = error.errors(include_url=False, include_context=False)
    words = [_complaint(one, value, place) for one in details[:_MAX_COMPLAINTS]]
    return "; ".join(words)


def _complaint(detail: ErrorDetails, value: Json, place: str) -> str:
    path: tuple[str | int, ...] = ()
    for step in detail["loc"]:
        # In a union pydantic also names the member that it tried, which is no place in the value.
        if tuple(found_at(value, (*path, step))):
            path = (*path, step)
    where = named(path, place)
    if detail["type"] == "missing":
        return f"`{named(detail['loc'][-1:], where)}` is missing"
    if detail["type"] == "json_invalid":
        # We wrote it ourselves; only a lone surrogate makes it invalid.
        return f"`{where}`: it holds text that is not Unicode"
    words = detail["msg"].replace("Input should be", "it should be").removeprefix("Value error, ")
    secret = is_secret(named(detail["loc"], place))
    return printable(f"`{where}`: {words}{_got(detail['input'], secret)}", MAX_COMPLAINT)


def _got(value: Json, secret: bool) -> str:
    if not isinstance(value, str | float | int | list | dict | None):
        return f", got a value of type {type(value).__name__}"
    shown = "" if secret or value is None else shown_values((value,))
    return f", got {kind_of(value)}{f' ({shown})' if shown else ''}"
