"""Annotations to JSON Schemas, and to what converts their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.server.signatures.annotations import Untranslatable, involves_pydantic, translated
from mcp_actors.server.signatures.modelled import Mode, Modelled
from mcp_actors.server.signatures.plain import Plain

Kind: TypeAlias = Plain | Modelled


class Unfounded(TypeError):
    """An annotation without a JSON Schema. ``name``: whose it is."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


class Kinds:
    """The annotations of one function, described together so that they share their definitions."""

    def __init__(self, annotations: Mapping[str, Any], mode: Mode = "validation") -> None:
        """Describe all of them.

        Raises:
            Unfounded: one of them cannot be described.
        """
        self.definitions: JsonObject = {}
        self._schemas: dict[str, JsonObject] = {}
        modelled = {name: one for name, one in annotations.items() if involves_pydantic(one)}
        plain = {name: one for name, one in annotations.items() if name not in modelled}
        fields = {name: _field(name, one, mode) for name, one in plain.items()}
        self._describe(fields)
        self._kinds: dict[str, Kind] = {
            name: self._model(name, one, mode) for name, one in modelled.items()
        } | {name: Plain(one, self.whole(name)) for name, one in fields.items()}

    def schema(self, name: str) -> JsonObject:
        """The schema; what it refers to is in ``definitions``."""
        return self._schemas[name]

    def whole(self, name: str) -> JsonObject:
        """The schema together with the definitions."""
        schema = self._schemas[name]
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def __getitem__(self, name: str) -> Kind:
        return self._kinds[name]

    def _describe(self, fields: dict[str, Any]) -> None:
        try:
            schemas, self.definitions = _components(fields.values())
        except (TypeError, NameError, ValueError, KeyError) as error:
            # Of all of them it is not known which; one by one it is, unless two are at odds.
            for name, field in fields.items():
                _explain(name, field)
            raise Unfounded(next(reversed(fields)), _namesakes(error)) from None
        for definition in self.definitions.values():
            if not definition.get("required", True):
                del definition["required"]
        self._schemas |= zip(fields, schemas, strict=True)

    def _model(self, name: str, annotation: Any, mode: Mode) -> Modelled:
        try:
            model = Modelled(annotation)
            schema = model.schema(mode, "#/$defs/{model}")
            own = schema.get("$defs", {})
            if any(self.definitions.get(key, one) != one for key, one in own.items()):
                # Another type of the same name came first.
                schema = model.schema(mode, f"#/$defs/{name}.{{model}}")
                own = {f"{name}.{key}": one for key, one in schema["$defs"].items()}
        except Untranslatable as error:
            raise Unfounded(name, str(error)) from None
        schema.pop("$defs", None)
        schema.pop("default", None)
        self.definitions |= own
        self._schemas[name] = schema
        return model


def _field(name: str, annotation: Any, mode: Mode) -> Any:
    try:
        return translated(annotation, formats=mode == "validation")
    except Untranslatable as error:
        raise Unfounded(name, str(error)) from None


def _components(fields: Iterable[Any]) -> tuple[tuple[JsonObject, ...], JsonObject]:
    return msgspec.json.schema_components(fields, ref_template="#/$defs/{name}")


def _explain(name: str, field: Any) -> None:
    try:
        _components((field,))
    except NameError as error:
        raise Unfounded(name, f"one of its fields names `{error.name}`, which cannot be found") from None
    except (TypeError, ValueError) as error:
        raise Unfounded(name, _reason(str(error))) from None
    except KeyError as error:
        raise Unfounded(name, _namesakes(error)) from None


def _namesakes(error: Exception) -> str:
    # msgspec tells classes of one name apart by their modules; of those that share it too, one is forgotten.
    name = getattr(error.args[0], "__qualname__", error.args[0])
    return f"two different classes are called {name}; rename one of them"


def _reason(text: str) -> str:
    if text.startswith("Generating JSON schema for custom types"):
        kind = text.rpartition("type ")[2].removesuffix(" is not supported")
        return (
            f"{kind} has no JSON form: take a type that JSON knows, a dataclass, a TypedDict, a "
            "msgspec.Struct or a pydantic model"
        )
    return text.replace("\n", " ")
