"""Values of the types that msgspec knows: from JSON, from text, and back to JSON."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import DecodeFailed, Json, JsonObject
from mcp_actors.server.signatures.annotations import alternatives
from mcp_actors.server.signatures.complaints import complaint
from mcp_actors.server.signatures.numbers import with_integers
from mcp_actors.server.signatures.problems import InvalidArguments, UnusableResult

#: What msgspec raises at values that do not fit. TypeError: an array that should become the member of a set.
UNFIT: Final = (ValueError, TypeError, RecursionError)


class Plain:
    """One annotation. ``schema`` describes its JSON, with all definitions that it needs."""

    def __init__(self, annotation: Any, schema: JsonObject) -> None:
        self.field = annotation
        self._schema = schema
        members = set(map(id, alternatives(annotation))) - {id(type(None))}
        self._takes_any_text = members <= {id(str), id(Any)}

    def make(self, value: Json, place: str) -> Any:
        """The value for the function.

        Raises:
            InvalidArguments: the JSON does not fit.
        """
        try:
            return msgspec.convert(value, self.field, str_keys=True)
        except UNFIT:
            pass
        try:
            value = with_integers(value)
            return msgspec.convert(value, self.field, str_keys=True)
        except UNFIT as error:
            raise InvalidArguments(complaint(error, value, place, self._schema)) from None

    def read(self, text: str, place: str) -> Any:
        """The value that a text stands for: itself, its JSON, or what it spells.

        Raises:
            InvalidArguments: the text does not fit.
        """
        if self._takes_any_text:
            # Neither `null` nor quotation marks mean anything where every text is welcome.
            return self.make(text, place)
        value = _json_of(text)
        try:
            return self.make(value, place)
        except InvalidArguments:
            if isinstance(value, list | dict):
                raise
        try:
            return msgspec.convert(text, self.field, strict=False, str_keys=True)
        except UNFIT as error:
            raise InvalidArguments(complaint(error, text, place, self._schema)) from None

    def write(self, value: object) -> Json:
        """The JSON form of a value of this type.

        Raises:
            UnusableResult: it has none, or is of another type.
        """
        try:
            written = msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)
            msgspec.convert(written, self.field, str_keys=True)
            # NaN and the infinities are floats to msgspec, and nothing to JSON.
            codec.encode(written)
        except msgspec.ValidationError as error:
            raise UnusableResult(complaint(error, written, "$", self._schema)) from None
        except UNFIT as error:
            raise UnusableResult(f"it has no JSON form: {error}") from None
        return written


def _json_of(text: str) -> Json:
    try:
        return codec.decode(text.encode("utf-8", "surrogatepass"))
    except DecodeFailed:
        return text


def _dumped(value: object) -> Json:
    """A pydantic model where the annotation did not promise one."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a value of type {type(value).__name__} in it has none")
    return dump(mode="json", by_alias=True)
