"""Elicitation: a server asks the user, by a form or a page, through a request or inside a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from mcp_actors.protocol.types import ElicitFormParams, ElicitResult, ElicitUrlParams
from tests.client.features.places import Place
from tests.client.toy_host import ToyHost, asking, form

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]


def asked(client: Client, what: str = "form") -> Any:
    """What the server learned when it asked the user."""
    return json.loads(client.call_tool("ask", {"what": what}).text)


def knows_forms(place: Place) -> bool:
    return place.version >= "2025-06-18"


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.requirement("feature:mrtr")
def test_a_form_is_filled_in_with_the_servers_defaults(place: Place) -> None:
    questions: list[Any] = []

    def answer(question: Any) -> dict[str, Any]:
        questions.append(question)
        return {"name": "Zoë"}

    client = place.connect(elicitation_handler=answer)
    if not knows_forms(place):
        assert asked(client) == {"error": -32601}
        assert questions == []
        return
    assert asked(client) == {"action": "accept", "content": {"name": "Zoë", "age": 30}}
    assert isinstance(questions[0], ElicitFormParams)
    assert (questions[0].message, [one.name for one in questions[0].fields]) == ("who?", ["name", "age"])


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize(
    ("given", "learned"),
    [
        (None, {"action": "decline"}),
        (False, {"action": "decline"}),
        (ElicitResult(action="cancel"), {"action": "cancel"}),
        (
            ElicitResult(action="accept", content={"name": "Z"}),
            {"action": "accept", "content": {"name": "Z"}},
        ),
    ],
)
def test_the_user_may_decline_or_turn_away(given: Any, learned: Any, place: Place) -> None:
    client = place.connect(elicitation_handler=lambda _: given)
    assert asked(client) == (learned if knows_forms(place) else {"error": -32601})


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize("given", [True, {"age": "old"}, {"name": "Z", "more": 1}, "yes", RuntimeError])
def test_an_answer_that_does_not_fit_or_a_handler_that_fails_is_no_answer(given: Any, place: Place) -> None:
    def answer(_: Any) -> Any:
        if given is RuntimeError:
            raise RuntimeError("the window closed")
        return given

    client = place.connect(elicitation_handler=answer)
    if place.stateless:
        with pytest.raises(errors.Cancelled, match="elicitation/create has no answer"):
            asked(client)
    else:
        assert asked(client) == {"error": -32603 if knows_forms(place) else -32601}
    client.ping()


@pytest.mark.requirement("feature:elicitation")
def test_a_page_is_visited_if_that_was_offered(place: Place) -> None:
    pages: list[Any] = []

    def visit(page: Any) -> bool:
        pages.append(page)
        return True

    client = place.connect(elicitation_handler=visit, elicitation_modes=("form", "url"))
    if place.version < "2025-11-25":
        assert asked(client, "url") == {"error": -32602 if knows_forms(place) else -32601}
        assert pages == []
        return
    assert asked(client, "url") == {"action": "accept"}
    assert isinstance(pages[0], ElicitUrlParams)
    assert (pages[0].url, pages[0].host, pages[0].message) == ("https://pay.example/7", "pay.example", "pay?")


@pytest.mark.requirement("feature:elicitation")
def test_a_page_is_refused_if_only_forms_were_offered(place: Place) -> None:
    client = place.connect(elicitation_handler=lambda _: pytest.fail("nobody may be asked"))
    if place.stateless:
        with pytest.raises(errors.InvalidResponse, match="in a way that this client did not offer"):
            asked(client, "url")
    else:
        assert asked(client, "url") == {"error": -32602 if knows_forms(place) else -32601}


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize(
    ("modes", "said"),
    [(("form",), {"form": {}}), (("url",), {"url": {}}), (("form", "url"), {"form": {}, "url": {}})],
)
def test_the_modes_are_declared_in_both_eras(
    modes: tuple[str, ...], said: Any, make_host: MakeHost, make_client: MakeClient
) -> None:
    old, new = make_host(version="2025-11-25"), make_host()
    for host in (old, new):
        client = make_client(host, elicitation_handler=lambda _: None, elicitation_modes=modes)
        client.call_tool("echo")
    assert old.await_heard("initialize")["params"]["capabilities"] == {"elicitation": said}
    meta = new.await_heard("tools/call")["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"elicitation": said}


@pytest.mark.requirement("feature:elicitation")
def test_the_retry_repeats_the_request_with_the_answer_and_the_state(
    host: ToyHost, make_client: MakeClient
) -> None:
    host.answers["tools/call"] = lambda request: (
        {"content": [], "structuredContent": request["params"]}
        if "inputResponses" in request["params"]
        else asking({"q": form()}, state="ünï")
    )
    client = make_client(host, elicitation_handler=lambda _: {"name": "Z"})
    client.call_tool("echo", {"x": 1}, meta={"mine": 2})
    first, second = (one["params"] for one in host.all_heard("tools/call"))
    answer = {"q": {"action": "accept", "content": {"name": "Z"}}}
    assert second == first | {"inputResponses": answer, "requestState": "ünï"}
    assert second["_meta"]["mine"] == 2
    ids = [one["id"] for one in host.all_heard("tools/call")]
    assert ids[0] != ids[1]


@pytest.mark.requirement("feature:elicitation")
@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda client: client.get_prompt("greet"), "prompts/get"),
        (lambda client: client.read_resource("toy:a"), "resources/read"),
    ],
)
def test_prompts_and_resources_may_ask_as_well(
    call: Callable[[Client], Any], method: str, host: ToyHost, make_client: MakeClient
) -> None:
    usual = host.answers[method]
    host.answers[method] = lambda request: (
        usual(request) if "inputResponses" in request["params"] else asking({"q": form()})
    )
    call(make_client(host, elicitation_handler=lambda _: {"name": "Z"}))
    first, second = (one["params"] for one in host.all_heard(method))
    assert second["inputResponses"]["q"]["content"] == {"name": "Z"}
    assert "requestState" not in second
    assert "inputResponses" not in first
