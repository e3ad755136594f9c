"""Laws of forms: what a form asks for is accepted, anything else refused, and defaults that fit do fit."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_actors.client.answering.desk import Desk, Unanswered
from mcp_actors.protocol.revisions import ALL
from mcp_actors.protocol.types import ElicitFormParams

pytestmark = pytest.mark.requirement("feature:elicitation")

REVISIONS = st.sampled_from([revision for revision in ALL if revision.version >= "2025-06-18"])
LETTERS = st.characters(exclude_categories=["Cs"])
WORDS = st.text(LETTERS, max_size=8)
VALUES = st.lists(WORDS, min_size=1, max_size=4, unique=True)

#: A field's schema, a strategy of what fits it, and values that do not.
Field = tuple[dict[str, Any], st.SearchStrategy[Any], list[Any]]


@st.composite
def texts(draw: st.DrawFn) -> Field:
    least, most = sorted((draw(st.integers(0, 5)), draw(st.integers(0, 8))))
    fits = st.text(LETTERS, min_size=least, max_size=most)
    wrong: list[Any] = [5, True, None, [], "x" * (most + 1)] + (["x" * (least - 1)] if least else [])
    return {"type": "string", "minLength": least, "maxLength": most}, fits, wrong


@st.composite
def formatted(draw: st.DrawFn) -> Field:
    fits = {
        "date": st.dates().map(str),
        "email": st.from_regex(r"[a-z]{1,8}@[a-z]{1,8}\.org", fullmatch=True),
        "uri": st.from_regex(r"https://[a-z]{1,8}/[a-z]{0,8}", fullmatch=True),
        "date-time": st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat() + "Z"),
    }
    name = draw(st.sampled_from(sorted(fits)))
    return {"type": "string", "format": name}, fits[name], ["not a thing", 5]


@st.composite
def whole_numbers(draw: st.DrawFn) -> Field:
    least, most = sorted((draw(st.integers(-(10**20), 10**20)), draw(st.integers())))
    fits = st.integers(least, most)
    return (
        {"type": "integer", "minimum": least, "maximum": most},
        fits,
        [least - 1, most + 1, 0.5, "1", False],
    )


@st.composite
def numbers(draw: st.DrawFn) -> Field:
    least, most = sorted((draw(st.floats(-1e9, 1e9)), draw(st.floats(-1e9, 1e9))))
    fits = st.floats(least, most)
    above, below = math.nextafter(most, math.inf), math.nextafter(least, -math.inf)
    return {"type": "number", "minimum": least, "maximum": most}, fits, [above, below, "1", True, None]


SWITCHES: st.SearchStrategy[Field] = st.just(({"type": "boolean"}, st.booleans(), [0, 1, "true", None]))


def single(values: list[str], titled: bool, key: str) -> dict[str, Any]:
    if titled:
        return {key: [{"const": value, "title": value.upper()} for value in values]}
    return {"type": "string", "enum": values}


@st.composite
def choices(draw: st.DrawFn) -> Field:
    values = draw(VALUES)
    schema = {"type": "string"} | single(values, draw(st.booleans()), "oneOf")
    if "enum" in schema and draw(st.booleans()):
        schema["enumNames"] = [value.title() for value in values]
    return schema, st.sampled_from(values), ["".join(values) + "!", 5, [values[0]]]


@st.composite
def several_choices(draw: st.DrawFn) -> Field:
    values = draw(VALUES)
    most = draw(st.integers(1, 4))
    schema = {"type": "array", "maxItems": most, "items": single(values, draw(st.booleans()), "anyOf")}
    fits = st.lists(st.sampled_from(values), max_size=most)
    return schema, fits, [["".join(values) + "!"], [values[0]] * (most + 1), values[0], [5]]


FIELDS = st.one_of(texts(), formatted(), whole_numbers(), numbers(), SWITCHES, choices(), several_choices())
FORMS = st.dictionaries(WORDS, FIELDS, min_size=1, max_size=4)


def asked(fields: dict[str, Field], required: list[str], defaults: dict[str, Any]) -> dict[str, Any]:
    properties = {
        name: schema | ({"default": defaults[name]} if name in defaults else {})
        for name, (schema, _, _) in fields.items()
    }
    return {
        "message": "m",
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    }


@given(FORMS, st.data(), REVISIONS)
def test_what_a_form_asks_for_is_accepted(
    fields: dict[str, Field], data: st.DataObject, revision: Any
) -> None:
    names = data.draw(st.sets(st.sampled_from(sorted(fields))))
    content = {name: data.draw(fields[name][1]) for name in names}
    desk = Desk(elicitation_handler=lambda _: content)
    result = desk.answer("elicitation/create", asked(fields, sorted(names), {}), revision)
    assert result == {"action": "accept", "content": content}


@given(FORMS, st.data(), REVISIONS)
def test_defaults_that_fit_are_accepted(fields: dict[str, Field], data: st.DataObject, revision: Any) -> None:
    names = data.draw(st.sets(st.sampled_from(sorted(fields))))
    defaults = {name: data.draw(fields[name][1]) for name in names}
    params = asked(fields, sorted(names), defaults)
    assert ElicitFormParams.from_wire(params).defaults() == defaults
    for desk in (Desk(elicitation_handler=lambda _: {}), Desk(elicitation_handler=lambda _: True)):
        assert desk.answer("elicitation/create", params, revision) == {
            "action": "accept",
            "content": defaults,
        }


@given(FORMS, st.data(), REVISIONS)
def test_an_answer_spoilt_in_one_place_is_refused_and_the_place_named(
    fields: dict[str, Field], data: st.DataObject, revision: Any
) -> None:
    content = {name: data.draw(fits) for name, (_, fits, _) in fields.items()}
    spoilt = data.draw(st.sampled_from(sorted(fields)))
    assume(spoilt.isprintable())
    content[spoilt] = data.draw(st.sampled_from(fields[spoilt][2]))
    desk = Desk(elicitation_handler=lambda _: content)
    with pytest.raises(Unanswered) as caught:
        desk.answer("elicitation/create", asked(fields, [], {}), revision)
    assert caught.value.code == -32603
    assert caught.value.message.startswith(f"the answer does not fit the form: {spoilt}")


@given(FORMS, st.data(), REVISIONS)
def test_a_form_that_lacks_what_it_must_have_is_refused(
    fields: dict[str, Field], data: st.DataObject, revision: Any
) -> None:
    missing = data.draw(st.sampled_from(sorted(fields)))
    content = {name: data.draw(fits) for name, (_, fits, _) in fields.items() if name != missing}
    desk = Desk(elicitation_handler=lambda _: content)
    with pytest.raises(Unanswered, match="required"):
        desk.answer("elicitation/create", asked(fields, sorted(fields), {}), revision)


@given(FORMS)
def test_every_field_of_a_form_is_read_back(fields: dict[str, Field]) -> None:
    form = ElicitFormParams.from_wire(asked(fields, [], {}))
    assert [field.name for field in form.fields] == list(fields)
    for field in form.fields:
        assert field.schema == fields[field.name][0]
        assert bool(field.choices) == (field.kind in ("choice", "choices"))
