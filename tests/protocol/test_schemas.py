"""Our types and revisions against the published schemas of all five revisions, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from mcp_actors.protocol import types
from mcp_actors.protocol.codec import decode, encode
from mcp_actors.protocol.revisions import ALL, Era, Revision
from mcp_actors.protocol.types.value import Value
from tests.protocol.schema_table import FORM, NOT_MODELLED, PARAMS, TYPES

SCHEMAS: Final = Path(__file__).parents[3] / "shared" / "protocol" / "schema"

pytestmark = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason="the published schemas are not in ../shared/protocol/schema"
)

VERSIONS: Final = [revision.version for revision in ALL]


def definitions(version: str) -> dict[str, Any]:
    schema = json.loads((SCHEMAS / f"{version}.json").read_text())
    found: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return found


def resolved(defs: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind references, with the members of ``allOf`` put together."""
    while "$ref" in schema:
        schema = defs[schema["$ref"].rsplit("/", 1)[-1]]
    merged = dict(schema)
    for part in (resolved(defs, member) for member in schema.get("allOf", [])):
        merged["properties"] = part.get("properties", {}) | merged.get("properties", {})
        merged["required"] = [*part.get("required", []), *merged.get("required", [])]
    return merged


def shapes(version: str) -> Iterator[tuple[str, type[Value], dict[str, Any]]]:
    """Each object of a schema that we model: its name there, our type, and its resolved schema."""
    defs = definitions(version)
    for name, definition in defs.items():
        if name in TYPES:
            yield name, TYPES[name], resolved(defs, definition)
        elif PARAMS.get(name) is not None:
            params = resolved(defs, resolved(defs, definition)["properties"]["params"])
            # A union of shapes (elicitation) has its members in TYPES.
            if "anyOf" not in params:
                yield f"{name}.params", PARAMS[name], params  # type: ignore[misc]  # not None, just checked


def wire_fields(type_: type[Value]) -> dict[str, bool]:
    """Each field's name on the wire, and whether it must be there."""
    fields = {field.encode_name: field.required for field in msgspec.structs.fields(type_)}
    config = type_.__struct_config__
    if config.tag_field is not None:
        fields[config.tag_field] = True
    return fields


@pytest.mark.parametrize("version", VERSIONS)
def test_every_definition_of_the_schema_is_modelled_or_refused_with_a_reason(version: str) -> None:
    known = TYPES.keys() | PARAMS.keys() | NOT_MODELLED.keys()
    assert definitions(version).keys() - known == set()


def test_no_definition_is_listed_that_no_schema_has() -> None:
    published = {name for version in VERSIONS for name in definitions(version)}
    assert (TYPES.keys() | PARAMS.keys() | NOT_MODELLED.keys()) - published == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_property_of_the_schema_is_a_field_of_our_type(version: str) -> None:
    missing = {
        f"{name}.{key}"
        for name, type_, schema in shapes(version)
        for key in schema.get("properties", {}).keys() - wire_fields(type_).keys()
    }
    assert missing == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_we_require_only_what_the_schema_requires(version: str) -> None:
    too_strict = {
        f"{name}.{key}"
        for name, type_, schema in shapes(version)
        for key, required in wire_fields(type_).items()
        if required and key not in schema.get("required", [])
    }
    assert too_strict == set()


# Required by every revision that has them, and still not by us, because of a default that means the same.
LENIENT: Final = {
    "resultType": "absent means complete",
    "ttlMs": "absent means zero",
    "cacheScope": "absent means that nothing is kept",
    "_meta": "checked as the envelope of a request, where the era is known",
    "requestId": "2025-11-25 lets it be absent",
    "elicitationId": "only 2025-11-25 has it",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_schema_requires_is_required_or_has_a_reason_not_to_be(version: str) -> None:
    too_lenient = {
        f"{name}.{key}"
        for name, type_, schema in shapes(version)
        for key in schema.get("required", [])
        if not wire_fields(type_)[key] and key not in LENIENT
    }
    assert too_lenient == set()


def methods(version: str, union: str) -> set[str]:
    """The methods of the messages that a union of the schema names."""
    defs = definitions(version)
    schema = defs.get(union, {})
    members = schema.get("anyOf", [schema] if schema else [])
    found = (resolved(defs, member)["properties"]["method"] for member in members)
    return {method["const"] for method in found}


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_the_messages_of_each_revision_are_those_of_its_schema(revision: Revision) -> None:
    version = revision.version
    assert revision.requests == methods(version, "ClientRequest")
    assert revision.server_requests == methods(version, "ServerRequest")
    assert revision.input_requests == methods(version, "InputRequest")
    assert revision.client_notifications == methods(version, "ClientNotification")
    assert revision.server_notifications == methods(version, "ServerNotification")


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_the_capabilities_of_each_revision_are_those_of_its_schema(revision: Revision) -> None:
    defs = definitions(revision.version)
    assert revision.client_capability_keys == defs["ClientCapabilities"]["properties"].keys()
    assert revision.server_capability_keys == defs["ServerCapabilities"]["properties"].keys()


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_batching_is_where_the_schema_has_batches(revision: Revision) -> None:
    assert revision.has_batching == ("JSONRPCBatchRequest" in definitions(revision.version))
    assert (revision.era is Era.HANDSHAKE) == ("InitializeRequest" in definitions(revision.version))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_levels_of_log_messages_are_those_of_the_schema(version: str) -> None:
    assert set(types.LOG_LEVELS) == set(definitions(version)["LoggingLevel"]["enum"])
    assert set(definitions(version)["Role"]["enum"]) == {"user", "assistant"}


def examples() -> list[Any]:
    path = SCHEMAS / "examples-2026-07-28.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return [pytest.param(key.split("/")[0], value, id=key) for key, value in found.items()]


def typed_parts(name: str, example: dict[str, Any]) -> list[tuple[type[Value], Any]]:
    """The parts of an example that have a type of ours."""
    if name in TYPES:
        return [(TYPES[name], example)]
    if name in PARAMS:
        params = example.get("params")
        type_ = PARAMS[name] or types.MetaValue
        return [] if params is None else [(type_, params)]
    if name.endswith("ResultResponse"):
        return [(TYPES[name.removesuffix("Response")], example["result"])]
    if "error" in example:
        return [(types.ErrorObject, example["error"])]
    if name == "InputRequests":
        return [(types.InputRequest, request) for request in example.values()]
    if name == "InputResponses":
        kinds = (types.CreateMessageResult, types.ElicitResult)
        return [(kinds["action" in response], response) for response in example.values()]
    return []


PLAIN_EXAMPLES: Final = {name for name, reason in NOT_MODELLED.items() if reason == FORM} | {
    "ListRootsRequest"  # no params
}


@pytest.mark.parametrize(("name", "example"), examples())
def test_an_example_of_the_schema_comes_back_as_it_went_in(name: str, example: dict[str, Any]) -> None:
    parts = typed_parts(name, example)
    assert bool(parts) != (name in PLAIN_EXAMPLES)
    for type_, part in parts:
        value = type_.parse(encode(part))
        assert value.raw == part
        assert decode(encode(value)) == part


@pytest.mark.parametrize(("name", "example"), examples())
def test_the_fields_of_an_example_say_all_that_it_says(name: str, example: dict[str, Any]) -> None:
    for type_, part in typed_parts(name, example):
        value = type_.from_wire(part)
        # A copy knows only the fields: what it writes reads the same, and lacks nothing but defaults.
        copy = msgspec.structs.replace(value)
        wire = copy.to_wire()
        assert type_.from_wire(wire) == value
        defaults = {
            field.encode_name: field.default for field in msgspec.structs.fields(type_) if not field.required
        }
        assert part == {key: part[key] for key in part if defaults.get(key, wire) == part[key]} | wire


def test_there_are_as_many_examples_as_the_digest_counts() -> None:
    assert len(examples()) == 129
