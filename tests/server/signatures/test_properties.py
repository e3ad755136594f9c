"""Laws of signatures: schema and conversion agree, and what goes out comes in again unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_actors.protocol import codec
from mcp_actors.schemas import Schemas
from mcp_actors.server.signatures import InvalidArguments, Signature, signature_of
from tests.server.signatures.typed_cases import Case, all_cases, exact_cases, some_json

SCHEMAS: Final = Schemas()


def function_of(annotation: Any, *, default: bool = False) -> Callable[..., Any]:
    """A function with two parameters and a result of that type."""

    def short(value: Any = None, other: int = 0) -> Any:
        raise NotImplementedError

    def plain(value: Any, other: int = 0) -> Any:
        raise NotImplementedError

    made: Callable[..., Any] = short if default else plain
    made.__annotations__ = {"value": annotation, "other": int, "return": annotation}
    return made


def complaint(signature: Signature, arguments: dict[str, Any]) -> str | None:
    try:
        signature.arguments(arguments)
    except InvalidArguments as error:
        return str(error)
    return None


def written(case: Case, value: Any) -> Any:
    """The JSON of a value, as it comes off the wire."""
    signature = signature_of(function_of(case.annotation), structured_output=True)
    structured = codec.decode(codec.encode(signature.structured(value)))
    return structured["result"] if signature.wrapped_output else structured


@st.composite
def nearly(draw: st.DrawFn, case: Case) -> Any:
    """JSON that fits, sometimes with a part replaced by something else."""
    value = written(case, draw(case.values))
    return _spoiled(draw, value) if draw(st.booleans()) else value


def _spoiled(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value) or ["a"]) | st.sampled_from(["a", "b", "c"]))
        rest = {name: held for name, held in value.items() if name != key}
        return rest if draw(st.booleans()) else rest | {key: _spoiled(draw, value.get(key))}
    if isinstance(value, list) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], _spoiled(draw, value[index]), *value[index + 1 :]]
    return draw(some_json)


#: What comes beside the argument in question; most of it fits.
BESIDE: Final[list[dict[str, Any]]] = [{}, {}, {"other": 2.0}, {"other": -3}, {"other": "3"}, {"more": 1}]


@pytest.mark.requirement("feature:schema")
@settings(max_examples=300)
@given(st.data(), exact_cases, st.sampled_from(BESIDE), st.booleans())
def test_the_schema_accepts_exactly_what_the_conversion_accepts(
    data: st.DataObject, case: Case, beside: dict[str, Any], default: bool
) -> None:
    signature = signature_of(function_of(case.annotation, default=default))
    arguments = {"value": data.draw(nearly(case)), **beside} if data.draw(st.integers(0, 9)) else beside
    fault = SCHEMAS.check(signature.input_schema, arguments)
    said = complaint(signature, arguments)
    assert (said is None) == (fault is None), (said, fault)


@given(st.data(), all_cases)
def test_a_result_fits_its_schema(data: st.DataObject, case: Case) -> None:
    signature = signature_of(function_of(case.annotation), structured_output=True)
    structured = signature.structured(data.draw(case.values))
    assert signature.output_schema is not None
    assert signature.output_schema["type"] == "object"
    assert SCHEMAS.check(signature.output_schema, structured) is None


@given(st.data(), all_cases)
def test_what_goes_out_comes_in_again_unchanged(data: st.DataObject, case: Case) -> None:
    value = data.draw(case.values)
    signature = signature_of(function_of(case.annotation))
    assert signature.arguments({"value": written(case, value)}) == {"value": value}


@given(exact_cases, some_json)
def test_a_complaint_names_the_place_and_is_short(case: Case, value: Any) -> None:
    said = complaint(signature_of(function_of(case.annotation)), {"value": value})
    assert said is None or said.startswith("`$.value")
    assert said is None or (len(said) <= 300 and "Expected" not in said)


@given(st.data(), exact_cases)
def test_a_default_that_fits_is_in_the_schema(data: st.DataObject, case: Case) -> None:
    value = data.draw(case.values)

    def function(value: Any = value) -> None:
        raise NotImplementedError

    function.__annotations__ = {"value": case.annotation}
    schema = signature_of(function).input_schema
    default = schema["properties"]["value"]["default"]
    assert SCHEMAS.check(schema, {"value": default}) is None


@settings(max_examples=30)
@given(exact_cases)
def test_the_same_function_has_the_same_schema_to_the_last_byte(case: Case) -> None:
    function = function_of(case.annotation)
    first, second = (codec.encode(signature_of(function).input_schema) for _ in range(2))
    assert first == second
