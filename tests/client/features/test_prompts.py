"""Prompts: listed, and filled in with strings."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.features.places import Place
from tests.client.toy_host import ToyHost


@pytest.mark.requirement("feature:prompts")
def test_prompts_are_listed_with_their_arguments(place: Place) -> None:
    (prompt,) = place.connect().list_prompts()
    assert prompt.name == "greet"
    assert prompt.arguments is not None
    assert [(one.name, one.required) for one in prompt.arguments] == [("who", True), ("how", False)]


@pytest.mark.requirement("feature:prompts")
def test_a_prompt_is_filled_in(place: Place) -> None:
    result = place.connect().get_prompt("greet", {"who": "Ödön"})
    assert result.description == "a greeting"
    assert [(one.role, one.content.raw["text"]) for one in result.messages] == [("user", "greet Ödön")]


@pytest.mark.requirement("feature:prompts")
def test_what_the_server_refuses_is_its_error(place: Place) -> None:
    client = place.connect()
    for name, arguments in (("greet", None), ("nothing", {"who": "me"})):
        with pytest.raises(errors.RemoteError) as caught:
            client.get_prompt(name, arguments)
        assert caught.value.code == -32602


@pytest.mark.requirement("feature:prompts")
@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("greet", {"age": 5}, "argument 'age' of a prompt must be a string, not int"),
        ("greet", {"who": None}, "argument 'who' of a prompt must be a string, not NoneType"),
        ("greet", ["who"], "arguments must be a mapping of names to values, not list"),
        (7, None, "name must be a string, not int"),
    ],
)
def test_a_mistake_in_the_arguments_is_the_callers_own(
    name: Any, arguments: Any, complaint: str, client: Client, host: ToyHost
) -> None:
    with pytest.raises(TypeError) as caught:
        client.get_prompt(name, arguments)
    assert str(caught.value) == complaint
    assert host.all_heard("prompts/get") == []


@pytest.mark.requirement("feature:prompts")
def test_arguments_and_meta_go_out_as_given(client: Client, host: ToyHost) -> None:
    client.get_prompt("greet", {"who": "me"}, meta={"mine": 1})
    params = host.await_heard("prompts/get")["params"]
    assert (params["name"], params["arguments"], params["_meta"]["mine"]) == ("greet", {"who": "me"}, 1)
    client.get_prompt("greet")
    assert "arguments" not in host.await_heard("prompts/get", 2)["params"]
