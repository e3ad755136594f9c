"""Questions inside results (2026-07-28): what a client sends back is checked before it is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mcp_actors import Server
from mcp_actors.server.asking import MAX_ROUNDS
from mcp_actors.server.context import Context
from tests.server.conftest import MakeServer, MakeTalk
from tests.server.talk import STATELESS, Talk


@dataclass
class Guest:
    """Who comes."""

    name: str


@pytest.fixture
def inn(server: Server) -> Server:
    return furnish(server)


def furnish(server: Server) -> Server:
    @server.tool(structured_output=False)
    def check_in(ctx: Context, room: int = 1) -> str:
        names = [ctx.elicit(f"Guest {number}?", Guest).data.name for number in (1, 2)]
        return f"{room}: {' and '.join(names)}"

    @server.tool(structured_output=False)
    def pester(ctx: Context) -> str:
        number = 0
        while True:
            number += 1
            ctx.elicit("Again?", Guest, key=f"again-{number}")

    return server


def accept(name: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": name}}


def first_round(talk: Talk, name: str = "check_in", **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = talk.tool(name, **arguments)["result"]
    assert result["resultType"] == "input_required"
    return result


def again(talk: Talk, state: Any, responses: Any, *, name: str = "check_in", **arguments: Any) -> Any:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if state is not None:
        params["requestState"] = state
    if responses is not None:
        params["inputResponses"] = responses
    return talk.call("tools/call", **params)


@pytest.fixture
def guest(inn: Server, talk: MakeTalk) -> Talk:
    return talk(inn, STATELESS, elicitation={})


@pytest.mark.requirement("feature:mrtr")
@pytest.mark.requirement("security:request-state")
def test_what_earlier_rounds_brought_is_remembered_by_the_state(guest: Talk) -> None:
    first = first_round(guest)
    assert list(first["inputRequests"]) == ["elicit-1"]
    second = again(guest, first["requestState"], {"elicit-1": accept("Ada")})["result"]
    assert list(second["inputRequests"]) == ["elicit-2"]
    last = again(guest, second["requestState"], {"elicit-2": accept("Bob")})["result"]
    assert last["content"][0]["text"] == "1: Ada and Bob"


@pytest.mark.requirement("feature:mrtr")
def test_a_client_may_bring_all_answers_itself(guest: Talk) -> None:
    both = {"elicit-1": accept("Ada"), "elicit-2": accept("Bob")}
    assert again(guest, None, both)["result"]["content"][0]["text"] == "1: Ada and Bob"


def test_a_question_is_never_kept(guest: Talk) -> None:
    assert not {"ttlMs", "cacheScope"} & set(first_round(guest))


@pytest.mark.requirement("security:request-state")
@pytest.mark.parametrize(
    "forge",
    [
        lambda state: state[:-1] + ("A" if state[-1] != "A" else "B"),
        lambda _state: "v1." + "A" * 200,
        lambda state: state + "A",
        lambda _state: "rubbish",
        lambda _state: 7,
        lambda _state: "",
    ],
)
def test_a_state_that_is_not_ours_is_refused(guest: Talk, forge: Any) -> None:
    state = first_round(guest)["requestState"]
    error = again(guest, forge(state), {"elicit-1": accept("Ada")})["error"]
    assert (error["code"], error["data"]) == (-32602, {"reason": "invalid_request_state"})


@pytest.mark.requirement("security:request-state")
def test_a_state_is_of_no_use_with_another_request(guest: Talk) -> None:
    state = first_round(guest, room=1)["requestState"]
    for other in ({"room": 2}, {"name": "pester"}):
        assert again(guest, state, {}, **other)["error"]["code"] == -32602
    assert "result" in again(guest, state, {"elicit-1": accept("Ada")}, room=1)


@pytest.mark.requirement("security:request-state")
def test_processes_that_share_a_key_understand_each_others_states(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    old, new = b"o" * 32, b"n" * 32
    servers = [furnish(make_server(request_state_keys=keys)) for keys in ((old,), (new, old), (new,))]
    guests = [talk(server, STATELESS, elicitation={}) for server in servers]
    state = first_round(guests[0])["requestState"]
    answers = [again(one, state, {"elicit-1": accept("Ada")}) for one in guests]
    assert ["result" in answer for answer in answers] == [True, True, False]


@pytest.mark.parametrize("responses", [[], "x", {"elicit-1": "x"}, {"elicit-1": [1]}])
def test_responses_that_are_none_are_refused(guest: Talk, responses: Any) -> None:
    error = again(guest, None, responses)["error"]
    assert (error["code"], error["message"]) == (-32602, "inputResponses must be an object of objects")


@pytest.mark.parametrize("response", [accept(7), {"action": "accept"}, {"action": 1}, {}])
def test_an_answer_that_does_not_fit_is_the_requests_mistake(guest: Talk, response: Any) -> None:
    error = again(guest, None, {"elicit-1": response})["error"]
    assert error["code"] == -32602
    assert "the client's answer to 'elicit-1' does not fit" in error["message"]


@pytest.mark.requirement("security:limits")
def test_a_client_is_asked_in_so_many_rounds_and_no_more(guest: Talk) -> None:
    result = first_round(guest, "pester")
    for number in range(1, MAX_ROUNDS):
        answer = {f"again-{number}": accept("Ada")}
        result = again(guest, result["requestState"], answer, name="pester")["result"]
    last = again(guest, result["requestState"], {f"again-{MAX_ROUNDS}": accept("Ada")}, name="pester")
    assert last["error"]["message"] == f"the client was asked in {MAX_ROUNDS} rounds already"


def test_an_answer_may_be_any_action(guest: Talk) -> None:
    answer = again(guest, None, {"elicit-1": {"action": "decline"}})
    assert answer["result"]["isError"] is True  # the tool relied on a name


def test_a_handlers_own_except_does_not_swallow_a_question(server: Server, talk: MakeTalk) -> None:
    @server.tool(structured_output=False)
    def careful(ctx: Context) -> str:
        try:
            return str(ctx.elicit("Who?", Guest).data)
        except Exception:  # noqa: BLE001 - as careful people write it
            return "swallowed"

    assert first_round(talk(server, STATELESS, elicitation={}), "careful")


def test_middleware_may_ask_and_so_may_what_it_wraps(server: Server, talk: MakeTalk) -> None:
    @server.middleware
    def doorkeeper(context: Context, _params: Any, proceed: Any) -> Any:
        assert context.elicit("Password?", Guest).data.name == "sesame"
        return proceed()

    furnish(server)
    guest = talk(server, STATELESS, elicitation={})
    result, seen = first_round(guest), []
    for name in ("sesame", "Ada", "Bob"):
        [key] = result["inputRequests"]
        seen.append(key)
        result = again(guest, result["requestState"], {key: accept(name)})["result"]
    assert result["content"][0]["text"] == "1: Ada and Bob"
    assert len(set(seen)) == 3
