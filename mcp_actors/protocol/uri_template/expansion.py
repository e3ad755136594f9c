"""From values to a URI: RFC 6570, all four levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from mcp_actors.protocol.uri_template.expression import Expression, Operator, Part, Variable
from mcp_actors.protocol.uri_template.percent import encode

#: What a variable may hold. None, like an empty list or mapping, is the same as no value.
TemplateValue: TypeAlias = str | Sequence[str] | Mapping[str, str] | None

# RFC 6570, 2.4.1: what is encoded already counts as one character.
_CHARACTER: Final = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)


def expand(parts: Sequence[Part], values: Mapping[str, TemplateValue]) -> str:
    """The URI that a template becomes with these values.

    Raises:
        TypeError: a value that is no text, list or mapping of text.
        ValueError: a prefix of a list or mapping was asked for, or a lone surrogate has no encoded form.
    """
    return "".join(
        encode(part, reserved=True) if isinstance(part, str) else _expanded(part, values) for part in parts
    )


def _expanded(expression: Expression, values: Mapping[str, TemplateValue]) -> str:
    operator = expression.operator
    pieces = [
        piece
        for variable in expression.variables
        for piece in _pieces(operator, variable, values.get(variable.name))
    ]
    return operator.first + operator.separator.join(pieces) if pieces else ""


def _pieces(operator: Operator, variable: Variable, value: TemplateValue) -> Iterator[str]:
    """What a variable contributes; nothing if it has no value."""
    if value is None:
        return
    if isinstance(value, str):
        yield _assigned(operator, variable.name, _cut(operator, variable, value))
        return
    if variable.limit is not None:
        raise ValueError(f"{variable.name} is to be cut to {variable.limit} characters, so it must be text")
    pairs = _pairs(variable.name, value)
    if variable.explode:
        yield from (_exploded(operator, variable.name, pair) for pair in pairs)
    elif pairs:
        yield _assigned(
            operator,
            variable.name,
            ",".join(encode(text, reserved=operator.reserved) for pair in pairs for text in pair),
        )


def _pairs(name: str, value: Sequence[str] | Mapping[str, str]) -> list[tuple[str, ...]]:
    """The members of a list, each alone, or those of a mapping, each with its key."""
    if isinstance(value, Mapping):
        members: list[tuple[str, ...]] = list(value.items())
    elif isinstance(value, Sequence):
        members = [(member,) for member in value]
    else:
        raise TypeError(f"{name} must be text, or a list or mapping of text, not {type(value).__name__}")
    for text in (text for member in members for text in member):
        if not isinstance(text, str):
            raise TypeError(f"{name} must hold nothing but text, not {type(text).__name__}")
    return members


def _exploded(operator: Operator, name: str, member: tuple[str, ...]) -> str:
    *keys, text = (encode(text, reserved=operator.reserved) for text in member)
    if operator.named:
        return _assigned(operator, keys[0] if keys else name, text)
    return "=".join((*keys, text))


def _assigned(operator: Operator, name: str, encoded: str) -> str:
    if not operator.named:
        return encoded
    return f"{name}={encoded}" if encoded else name + operator.if_empty


def _cut(operator: Operator, variable: Variable, value: str) -> str:
    if variable.limit is not None and operator.reserved:
        value = "".join(_CHARACTER.findall(value)[: variable.limit])
    elif variable.limit is not None:
        value = value[: variable.limit]
    return encode(value, reserved=operator.reserved)
