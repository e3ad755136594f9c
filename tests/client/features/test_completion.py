"""Completion: suggestions for what is being typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.types import PromptReference, ResourceTemplateReference
from tests.client.features.places import Place
from tests.client.toy_host import ToyHost

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


@pytest.fixture
def completing(make_host: MakeHost) -> ToyHost:
    host = make_host(capabilities={"completions": {}})
    host.answers["completion/complete"] = lambda _: {"completion": {"values": []}}
    return host


@pytest.mark.requirement("feature:completion")
def test_arguments_of_prompts_and_templates_are_completed(place: Place) -> None:
    client = place.connect()
    found = client.complete("greet", "who", "py")
    assert found.values == ["python", "pytorch"]
    assert (found.completion.total, found.completion.has_more) == (2, False)
    assert client.complete("toy:{name}", "name", "b").values == ["blob"]
    assert client.complete("greet", "who", "py", context={"not": "python"}).values == ["pytorch"]
    assert client.complete("greet", "who", "zzz").values == []


@pytest.mark.requirement("feature:completion")
@pytest.mark.parametrize(
    ("ref", "wire"),
    [
        ("greet", {"type": "ref/prompt", "name": "greet"}),
        ("a:b", {"type": "ref/prompt", "name": "a:b"}),
        ("file:///{path}", {"type": "ref/resource", "uri": "file:///{path}"}),
        ("file:///fixed", {"type": "ref/resource", "uri": "file:///fixed"}),
        ("toy:{name}", {"type": "ref/resource", "uri": "toy:{name}"}),
        (PromptReference(name="{odd}"), {"type": "ref/prompt", "name": "{odd}"}),
        (ResourceTemplateReference(uri="greet"), {"type": "ref/resource", "uri": "greet"}),
    ],
)
def test_a_reference_may_be_given_in_several_forms(
    ref: Any, wire: dict[str, Any], completing: ToyHost, make_client: MakeClient
) -> None:
    make_client(completing).complete(ref, "who", "")
    params = completing.await_heard("completion/complete")["params"]
    assert (params["ref"], params["argument"]) == (wire, {"name": "who", "value": ""})
    assert "context" not in params


@pytest.mark.requirement("feature:completion")
def test_the_context_holds_what_was_filled_in_before(completing: ToyHost, make_client: MakeClient) -> None:
    make_client(completing).complete("greet", "who", "x", context={"how": "loudly"})
    params = completing.await_heard("completion/complete")["params"]
    assert params["context"] == {"arguments": {"how": "loudly"}}


@pytest.mark.requirement("feature:completion")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((5, "who", ""), "ref must be a reference or a string, not int"),
        (("greet", 5, ""), "argument must be a string, not int"),
        (("greet", "who", None), "value must be a string, not NoneType"),
    ],
)
def test_a_mistake_is_the_callers_own(arguments: Any, complaint: str, client: Client, host: ToyHost) -> None:
    with pytest.raises(TypeError) as caught:
        client.complete(*arguments)
    assert str(caught.value) == complaint
    assert host.all_heard("completion/complete") == []


@pytest.mark.requirement("feature:completion")
def test_the_first_revision_has_completion_without_a_capability(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version="2024-11-05", capabilities={})
    host.answers["completion/complete"] = lambda _: {"completion": {"values": ["a"]}}
    assert make_client(host).complete("greet", "who", "").values == ["a"]


@pytest.mark.requirement("feature:completion")
def test_an_answer_that_is_none_fails_that_call_alone(completing: ToyHost, make_client: MakeClient) -> None:
    completing.answers["completion/complete"] = lambda _: {"completion": {"values": "many"}}
    client = make_client(completing)
    with pytest.raises(errors.InvalidResponse):
        client.complete("greet", "who", "")
    client.ping()
