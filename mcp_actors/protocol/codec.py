"""JSON in and out, in one place: bytes to values and back, with one error for everything that is no JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec
import orjson

__all__ = ["DecodeFailed", "Json", "JsonObject", "convert", "decode", "decode_as", "decode_object", "encode"]

# Any: JSON is the border where types end; a recursive alias would make every caller cast.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]

T = TypeVar("T")


class DecodeFailed(ValueError):
    """Bytes that are no JSON, or JSON that is not the value asked for. The message says where and why."""


def encode(value: Json) -> bytes:
    """One compact JSON text. Structs and dataclasses are written as objects, ``to_wire()`` if they have it.

    Raises:
        TypeError: something in the value has no JSON form, or a key is no string.
        ValueError: NaN, an infinity, a circular reference, or nesting too deep.
    """
    try:
        out = orjson.dumps(value, default=_plain)
    except TypeError:
        # Big integers and lone surrogates are legal JSON that orjson refuses; the rest fails again below.
        return _encode_slowly(value)
    # orjson writes NaN and the infinities as null; only a frame that holds a null can hide one.
    if b"null" in out and _holds_non_finite(value):
        raise ValueError("NaN and infinity have no JSON form")
    return out


_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
# Untyped decoding is msgspec's, as quick as orjson's: orjson reads an integer above 64 bits as a float.
_decode_any: Callable[[Any], Any] = msgspec.json.Decoder().decode


def decode(data: bytes | memoryview | msgspec.Raw) -> Json:
    """The value of one JSON text.

    Raises:
        DecodeFailed: no JSON, no UTF-8, nested too deep, or a number beyond all bounds.
    """
    try:
        return _decode_any(data)
    except (ValueError, RecursionError):
        return _decode_slowly(data)


def decode_object(data: msgspec.Raw | None) -> JsonObject:
    """The object in a member that should hold one; empty if it holds none, or is not there."""
    try:
        value = None if data is None else decode(data)
    except DecodeFailed:
        return {}
    return value if isinstance(value, dict) else {}


def decode_as(data: bytes | memoryview | msgspec.Raw, type_: type[T]) -> T:
    """One JSON text as a value of ``type_``; what msgspec does not know needs a ``from_wire(value)``.

    Raises:
        DecodeFailed: as ``decode``, or the JSON does not fit the type; the message then names the place.
    """
    decoder = _DECODERS.get(type_)
    if decoder is None:
        decoder = _DECODERS.setdefault(type_, msgspec.json.Decoder(type_, dec_hook=_from_wire))
    try:
        return cast(T, decoder.decode(data))  # the decoder of this very type
    except msgspec.ValidationError as error:
        raise DecodeFailed(str(error)) from None
    except (ValueError, RecursionError):
        value = decode(data)
    return convert(value, type_)


def convert(value: Json, type_: type[T]) -> T:
    """A decoded JSON value as a value of ``type_``.

    Raises:
        DecodeFailed: the JSON does not fit the type; the message names the place.
    """
    try:
        return msgspec.convert(value, type_, dec_hook=_from_wire)
    except (msgspec.ValidationError, RecursionError) as error:
        raise DecodeFailed(str(error)) from None
    except UnicodeEncodeError:
        # msgspec chokes on a lone surrogate where it compares text: in keys, tags and literals.
        raise DecodeFailed("a lone surrogate where the name of something belongs") from None


def _from_wire(type_: type[Any], value: Json) -> Any:
    """A type that msgspec does not know makes itself from JSON: unions without a tag, or with open ones."""
    return type_.from_wire(value)


def _decode_slowly(data: bytes | memoryview | msgspec.Raw) -> Json:
    """The standard parser's opinion: it takes lone surrogates, NaN and numbers beyond a double."""
    try:
        return json.loads(str(memoryview(data), "utf-8"))
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: {error.reason} at byte {error.start}"
    except RecursionError:
        reason = "nested too deep"
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at character {error.pos}"
    except ValueError:
        reason = "a number with too many digits"
    raise DecodeFailed(f"not valid JSON: {reason}")


def _plain(value: object) -> Json:
    """The form of a value that orjson does not know. Not of sets and bytes: they have no obvious one."""
    if isinstance(value, msgspec.Struct):
        to_wire = getattr(value, "to_wire", None)
        return msgspec.to_builtins(value) if to_wire is None else to_wire()
    if isinstance(value, msgspec.Raw):
        return decode(value)
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


def _encode_slowly(value: Json) -> bytes:
    try:
        text = json.dumps(_builtins(value), allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError("a value that is nested too deep, or holds itself, has no JSON form") from None
    except ValueError:
        raise ValueError("NaN and infinity have no JSON form") from None
    return text.encode("ascii")


def _builtins(value: object) -> Json:
    """A copy made of nothing but what the standard encoder writes faithfully."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {_key(key): _builtins(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_builtins(item) for item in value]
    members = _members(value)
    if members is not None:
        return _builtins(members)
    # What is left is a date, an enum and the like, which orjson writes, or nothing that JSON knows.
    return decode(orjson.dumps(value, default=_plain))


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"JSON keys are strings, not {type(key).__name__}: {key!r}")
    return key


def _members(value: object) -> Json | None:
    """The fields of a struct or dataclass, None for anything else."""
    if isinstance(value, msgspec.Struct | msgspec.Raw):
        return _plain(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _holds_non_finite(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_holds_non_finite, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_non_finite, value))
    members = None if value is None or isinstance(value, str | int) else _members(value)
    return members is not None and _holds_non_finite(members)
