"""Annotations, in the one dialect that msgspec understands, and what they are made of."""

from __future__ import annotations

import dataclasses
import datetime
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, is_typeddict

import msgspec
from msgspec import Meta

_CONSTRAINTS: Final = (
    "gt",
    "ge",
    "lt",
    "le",
    "multiple_of",
    "pattern",
    "min_length",
    "max_length",
    "tz",
)
_REMARKS: Final = ("title", "description", "examples", "extra_json_schema", "extra")
#: Of the package annotated-types: the classes, each with the one attribute that it is about.
_LIMITS: Final = {
    "Gt": "gt",
    "Ge": "ge",
    "Lt": "lt",
    "Le": "le",
    "MultipleOf": "multiple_of",
    "MinLen": "min_length",
    "MaxLen": "max_length",
}
#: msgspec names no format for these, since it also takes them without a time zone.
_FORMATS: Final = ((datetime.datetime, "date-time"), (datetime.time, "time"))


class Untranslatable(TypeError):
    """An annotation, or a part of one, that cannot be kept to; the message says which."""


def translated(annotation: Any, *, formats: bool) -> Any:
    """The annotation for msgspec: a text in ``Annotated`` is a description, annotated-types are limits.

    Not in the fields of classes: there msgspec looks for itself, and heeds its own ``Meta`` alone.

    Args:
        formats: whether to ask for a time zone by naming the format, though a time without one will do.

    Raises:
        Untranslatable: a condition that no schema can express.
    """
    if annotation is object:
        return Any
    for moment, format_ in _FORMATS:
        if formats and annotation is moment:
            return Annotated[annotation, Meta(extra_json_schema={"format": format_})]
    origin = get_origin(annotation)
    if origin is None or origin is Literal:
        return annotation
    if origin is Annotated:
        return _annotated(translated(annotation.__origin__, formats=formats), _metas(annotation.__metadata__))
    args = tuple(translated(one, formats=formats) for one in get_args(annotation))
    return _rebuilt(annotation, origin, args)


def is_union(annotation: Any) -> bool:
    """Whether it is written with ``|``, ``Union`` or ``Optional``."""
    return get_origin(annotation) in (Union, types.UnionType)


def bare(annotation: Any) -> Any:
    """The annotation without what ``Annotated`` adds to it."""
    return annotation.__origin__ if get_origin(annotation) is Annotated else annotation


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, each without remarks; a single type is a union of one."""
    annotation = bare(annotation)
    return tuple(map(bare, get_args(annotation))) if is_union(annotation) else (annotation,)


def said_of(annotation: Any) -> str | None:
    """The description that the annotation itself gives: the last text, `Meta` or pydantic's `Field`."""
    if get_origin(annotation) is not Annotated:
        return None
    remarks = reversed(annotation.__metadata__)
    texts = (one if isinstance(one, str) else getattr(one, "description", None) for one in remarks)
    return next((text for text in texts if isinstance(text, str) and text), None)


def parts(annotation: Any) -> Iterator[Any]:
    """Every type and every remark in an annotation, also those in the fields of its classes, each once."""
    seen: list[Any] = []
    waiting = [annotation]
    while waiting:
        part = waiting.pop()
        if any(part is one for one in seen):
            continue
        seen.append(part)
        yield part
        waiting += _inside(part)


def involves_pydantic(annotation: Any) -> bool:
    """Whether only pydantic can make sense of the annotation. Imports nothing."""
    return "pydantic" in sys.modules and any(map(_is_of_pydantic, parts(annotation)))


def _is_of_pydantic(part: Any) -> bool:
    kind = part if isinstance(part, type) else type(part)
    if kind.__module__.partition(".")[0] == "pydantic":
        return True
    return hasattr(part, "__get_pydantic_core_schema__") or hasattr(kind, "__pydantic_fields__")


def _inside(part: Any) -> Iterable[Any]:
    if get_origin(part) is Annotated:
        return (part.__origin__, *part.__metadata__)
    origin = get_origin(part)
    if origin is not None:
        return () if origin is Literal else (origin, *get_args(part))
    if isinstance(part, type):
        return _fields(part) if _has_fields(part) else ()
    # A `NewType`, or since Python 3.12 a `type X = …`.
    return (getattr(part, "__supertype__", None), getattr(part, "__value__", None))


def _has_fields(holder: type) -> bool:
    if issubclass(holder, tuple):
        return hasattr(holder, "_fields")
    return dataclasses.is_dataclass(holder) or issubclass(holder, msgspec.Struct) or is_typeddict(holder)


def _fields(holder: type) -> Iterable[Any]:
    try:
        return typing.get_type_hints(holder, include_extras=True).values()
    except (NameError, TypeError, AttributeError, SyntaxError):
        # msgspec will say the same more clearly, if it comes to that.
        return ()


def _metas(remarks: Iterable[Any]) -> Iterator[Meta]:
    for remark in remarks:
        if isinstance(remark, Meta):
            yield remark
        elif isinstance(remark, str):
            yield Meta(description=remark)
        elif type(remark).__module__ == "annotated_types":
            yield from _limits(remark)


def _limits(remark: Any) -> Iterator[Meta]:
    kind = type(remark).__name__
    if kind in _LIMITS:
        yield Meta(**{_LIMITS[kind]: getattr(remark, _LIMITS[kind])})
    elif kind == "Timezone" and remark.tz in (None, ...):
        yield Meta(tz=remark.tz is not None)
    elif kind in ("Interval", "Len"):
        yield from _metas(remark)
    elif kind != "Unit":
        raise Untranslatable(f"{remark!r} cannot be written as a JSON Schema")


def _annotated(annotation: Any, metas: Iterator[Meta]) -> Any:
    """msgspec wants limits at the very type that they limit; of a union, at its members."""
    for meta in metas:
        inner, limits = bare(annotation), _chosen(meta, _CONSTRAINTS)
        if is_union(inner) and limits:
            members = tuple(_limited(member, limits) for member in get_args(inner))
            remarks = getattr(annotation, "__metadata__", ())
            annotation = Annotated[Union[members], *remarks, Meta(**_chosen(meta, _REMARKS))]  # noqa: UP007
        else:
            annotation = Annotated[annotation, meta]
    return annotation


def _limited(member: Any, limits: dict[str, Any]) -> Any:
    return member if member is type(None) else Annotated[member, Meta(**limits)]


def _chosen(meta: Meta, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(meta, name)) is not None}


def _rebuilt(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Any:
    if args == get_args(annotation) or (isinstance(origin, type) and _has_fields(origin)):
        # A generic class stays as it is: its arguments are part of its name in the schema.
        return annotation
    if is_union(annotation):
        return Union[args]  # noqa: UP007
    # `typing.Sequence[X]` has an origin from `collections.abc`, which takes the same arguments.
    return origin[args]
