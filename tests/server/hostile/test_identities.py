"""What belongs to one principal is of no use to another, and what is forged of no use to anybody."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Authorization, Principal, Server, StaticTokens
from mcp_actors.protocol.serving.profile import TASKS
from tests.server.hostile.conftest import MakeTarget
from tests.server.hostile.messages import INITIALIZE, INITIALIZED, call, described, request, stateless_headers
from tests.server.http.driver import Answer, Driver, Elsewhere

EXTENSION: dict[str, Any] = {"extensions": {TASKS: {}}, "elicitation": {}}


class House:
    """A server behind a guard, and its callers by their tokens."""

    def __init__(self, server: Server) -> None:
        names = ("alice", "bob", "carol")
        guard = Authorization(
            StaticTokens({name: Principal(name) for name in names}),
            resource="http://localhost:8000/mcp",
            authorization_servers=["https://issuer.example"],
        )
        self.server = server
        self._driver = Driver(server.wsgi(authorization=guard, keep_alive=0.05, look_every=0.01))

    def post(
        self, who: str, message: Any, path: str = "/mcp", query: str = "", **headers: str | None
    ) -> Answer:
        spelled = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"Authorization": f"Bearer {who}", **spelled}
        return self._driver.post(message, path, headers=given, QUERY_STRING=query)

    def get(self, who: str, path: str = "/mcp", **headers: str) -> Answer:
        spelled = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._driver.get(path, headers={"Authorization": f"Bearer {who}", **spelled})

    def delete(self, who: str, session: str) -> Answer:
        headers = {"Authorization": f"Bearer {who}", "Mcp-Session-Id": session}
        return self._driver.request("DELETE", headers=headers)

    def open(self, who: str) -> str:
        """A session of theirs."""
        session = self.post(who, INITIALIZE).session
        assert self.post(who, INITIALIZED, Mcp_Session_Id=session).status == 202
        return session

    def ask(self, who: str, method: str, named: str | None = None, **params: Any) -> Answer:
        """A request of 2026-07-28."""
        message = request(1, method, described(params, **EXTENSION))
        return self.post(who, message, **stateless_headers(method, named))

    def tool(self, who: str, name: str, **params: Any) -> Any:
        """A call of 2026-07-28, and its answer."""
        return self.ask(who, "tools/call", name, name=name, **params).json()

    def task(self, who: str, seconds: float) -> str:
        """A task of theirs that takes some time."""
        task_id: str = self.tool(who, "work", arguments={"seconds": seconds})["result"]["taskId"]
        return task_id


@pytest.fixture
def house(target: Server) -> House:
    return House(target)


FORGED_SESSIONS = ["0" * 64, "", "../../etc/passwd", "a" * 10_000, "\xff", "null", "%00"]


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("forged", FORGED_SESSIONS)
def test_a_forged_session_is_not_found_whatever_is_asked_of_it(house: House, forged: str) -> None:
    assert house.post("alice", call(1, "add", a=1, b=2), Mcp_Session_Id=forged).status == 404
    assert house.get("alice", Mcp_Session_Id=forged).status == 404
    assert house.delete("alice", forged).status == 404


@pytest.mark.requirement("security:resource-server")
def test_the_session_of_another_looks_like_none_and_is_not_harmed(house: House) -> None:
    session = house.open("alice")
    strange, unknown = (
        house.post("bob", call(1, "add", a=1, b=2), Mcp_Session_Id=one) for one in (session, "0" * 64)
    )
    assert (strange.status, strange.fields, strange.read()) == (404, unknown.fields, unknown.read())
    assert house.get("bob", Mcp_Session_Id=session).status == 404
    assert house.delete("bob", session).status == 404
    answer = house.post("alice", call(1, "add", a=1, b=2), Mcp_Session_Id=session).json()
    assert answer["result"]["content"][0]["text"] == "3"


@pytest.mark.requirement("security:resource-server")
def test_an_answer_of_another_session_settles_no_question(house: House) -> None:
    """Numbers of questions are easy to guess, and of use in their own session alone."""
    hello = INITIALIZE["params"] | {"capabilities": {"elicitation": {}}}  # type: ignore[operator]
    session = house.post("alice", {**INITIALIZE, "params": hello}).session
    house.post("alice", INITIALIZED, Mcp_Session_Id=session)
    waiting = house.post("alice", call(1, "agree", what="sell"), Mcp_Session_Id=session)
    question = waiting.message()
    assert question["method"] == "elicitation/create"
    other = house.open("bob")
    forged = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
    assert house.post("bob", forged, Mcp_Session_Id=other).status == 202
    assert house.post("bob", forged, Mcp_Session_Id=session).status == 404
    honest = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    assert house.post("alice", honest, Mcp_Session_Id=session).status == 202
    assert waiting.message()["result"]["content"][0]["text"] == "sell: decline"
    waiting.close()


FORGED_EVENTS = [
    "1-0",
    "999-1",
    "1-999999999999999999",
    "-1-1",
    "1",
    "",
    "garbage",
    "1-1-1",
    "0-1\x00",
    "٣-٣",
]


@pytest.mark.requirement("transport:http")
@pytest.mark.parametrize("forged", FORGED_EVENTS)
def test_a_forged_event_id_resumes_nothing(house: House, forged: str) -> None:
    session = house.open("alice")
    assert house.get("alice", Mcp_Session_Id=session, Last_Event_ID=forged).status == 400
    assert house.server.host.crashes == 0


@pytest.mark.requirement("transport:http")
def test_an_event_id_is_of_use_in_its_own_session_alone(house: House) -> None:
    mine, others = house.open("alice"), house.open("bob")
    talking = house.post("alice", call(1, "say", count=3, size=1), Mcp_Session_Id=mine)
    last = next(event.id for event in [talking.event(), talking.event()] if event.data)
    talking.close()
    assert last
    # The same id in another session, of the same principal or of another, and in this one by another.
    assert house.get("bob", Mcp_Session_Id=others, Last_Event_ID=last).status == 400
    assert house.get("alice", Mcp_Session_Id=house.open("alice"), Last_Event_ID=last).status == 400
    assert house.get("bob", Mcp_Session_Id=mine, Last_Event_ID=last).status == 404
    resumed = house.get("alice", Mcp_Session_Id=mine, Last_Event_ID=last)
    assert resumed.status == 200
    resumed.close()


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/update"])
def test_the_task_of_another_does_not_exist(house: House, method: str) -> None:
    task_id = house.task("alice", 60.0)
    more: dict[str, Any] = {"inputResponses": {}} if method == "tasks/update" else {}
    theirs = house.ask("bob", method, task_id, taskId=task_id, **more).json()["error"]
    forged = house.ask("bob", method, "forged", taskId="forged", **more).json()["error"]
    assert theirs == forged
    assert house.ask("alice", "tasks/get", task_id, taskId=task_id).json()["result"]["status"] == "working"


@pytest.mark.requirement("security:resource-server")
def test_nobody_hears_of_the_tasks_of_another_though_he_knows_their_ids(house: House) -> None:
    task_id = house.task("alice", 0.3)
    wanted = {"taskIds": [task_id]}
    spying = house.ask("bob", "subscriptions/listen", notifications=wanted)
    watching = house.ask("alice", "subscriptions/listen", notifications=wanted)
    for stream in (spying, watching):
        assert stream.message()["method"] == "notifications/subscriptions/acknowledged"
    told = Elsewhere(watching.message).result()
    assert (told["params"]["taskId"], told["params"]["status"]) == (task_id, "completed")
    # What is told to everybody comes after it: had the other been told, it would have come before.
    house.server.add_tool(lambda: "new", name="new")
    house.server.close()
    heard = [event.data for event in spying.rest() if event.data]
    assert not any(b"notifications/tasks" in data for data in heard), heard
    watching.close()


def _started(house: House, who: str = "alice") -> str:
    result = house.tool(who, "agree", arguments={"what": "sell"})["result"]
    assert result["resultType"] == "input_required"
    state: str = result["requestState"]
    return state


def _continued(house: House, who: str, state: Any, *, tool: str = "agree", what: str = "sell") -> Any:
    answers = {"elicit-1": {"action": "accept", "content": {}}}
    return house.tool(who, tool, arguments={"what": what}, requestState=state, inputResponses=answers)


@pytest.mark.requirement("security:request-state")
def test_a_state_serves_the_request_that_it_was_made_for(house: House) -> None:
    answer = _continued(house, "alice", _started(house))
    assert answer["result"]["content"][0]["text"] == "sell: accept"


def _flipped(state: str) -> str:
    prefix, _, body = state.partition(".")
    data = bytearray(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    data[40] ^= 1
    return f"{prefix}.{base64.urlsafe_b64encode(data).rstrip(b'=').decode()}"


FORGERIES: dict[str, Callable[[str], Any]] = {
    "changed": _flipped,
    "cut": lambda state: state[:-4],
    "longer": lambda state: state + "AAAA",
    "padded": lambda state: state + "==",
    "another version": lambda state: "v2" + state[2:],
    "empty": lambda _state: "",
    "no text": lambda _state: {"round": 1, "answers": {}},
    "a number": lambda _state: 1,
    "huge": lambda state: state + "A" * 1_000_000,
    "not ASCII": lambda _state: "v1.ü\ud800",
}


@pytest.mark.requirement("security:request-state")
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_state_is_refused_without_a_reason(house: House, forgery: str) -> None:
    answer = _continued(house, "alice", FORGERIES[forgery](_started(house)))
    assert answer["error"]["code"] == -32602
    assert answer["error"]["message"] == _continued(house, "alice", "v1.AAAA")["error"]["message"]


@pytest.mark.requirement("security:request-state")
def test_a_state_is_of_no_use_to_another_nor_for_anything_else(house: House, make_target: MakeTarget) -> None:
    state = _started(house)
    assert _continued(house, "bob", state)["error"]["code"] == -32602
    assert _continued(house, "alice", state, what="buy")["error"]["code"] == -32602
    # Another process that was not given the same key.
    assert _continued(House(make_target()), "alice", state)["error"]["code"] == -32602
    assert "result" in _continued(house, "alice", state)


@pytest.mark.requirement("security:request-state")
def test_a_state_of_one_tool_is_of_no_use_with_another(house: House) -> None:
    state = _started(house)
    house.server.add_tool(
        next(entry.function for entry in house.server.registry.tools.entries if entry.key == "agree"),
        name="agree_too",
        structured_output=False,
    )
    assert _continued(house, "alice", state, tool="agree_too")["error"]["code"] == -32602


@pytest.mark.requirement("security:request-state")
def test_a_state_expires(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    state = _started(house)
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert _continued(house, "alice", state)["error"]["code"] == -32602


@pytest.mark.requirement("security:resource-server")
@pytest.mark.parametrize("params", [b"9" * 100_000, b'"\xff"', b"[" * 100_000 + b"]" * 100_000])
def test_arguments_that_cannot_be_read_are_the_callers_fault_also_behind_a_guard(
    house: House, params: bytes
) -> None:
    session = house.open("alice")
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"administer","arguments":'
    answer = house.post("alice", head + params + b"}}", Mcp_Session_Id=session)
    assert answer.code in (-32602, -32700)


@pytest.mark.requirement("security:resource-server")
def test_scopes_hold_however_the_name_of_the_tool_is_written(house: House) -> None:
    session = house.open("alice")
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
    spellings = (
        b'{"name":"administer"}',
        b'{"name":"\\u0061dminister"}',
        b'{"name":"add","name":"administer"}',
        b'{"n\\u0061me":"administer"}',
    )
    for spelling in spellings:
        assert house.post("alice", head + spelling + b"}", Mcp_Session_Id=session).status == 403
    # The last of two names is the one that counts, here and there.
    answer = house.post("alice", head + b'{"name":"administer","name":"add"}}', Mcp_Session_Id=session).json()
    assert "administered" not in str(answer)
    assert answer["result"]["isError"]


@pytest.mark.requirement("transport:sse")
def test_the_messages_of_an_older_session_are_taken_from_its_owner_alone(house: House) -> None:
    stream = house.get("alice", path="/sse")
    address = stream.event().data.decode()
    query = address.partition("?")[2]
    strangers = [
        ("bob", query),
        ("alice", "session_id=" + "0" * 64),
        ("alice", f"{query}&{query}"),
        ("alice", ""),
    ]
    for who, asked in strangers:
        assert house.post(who, INITIALIZE, path="/messages", query=asked).status in (400, 404)
    for forged in (b"\xff", b"[" * 100_000, b"{}", b"null"):
        assert house.post("alice", forged, path="/messages", query=query).status == 400
    assert house.post("alice", INITIALIZE, path="/messages", query=query).status == 202
    assert stream.message()["id"] == "hello"
    stream.close()
    assert house.post("alice", INITIALIZE, path="/messages", query=query).status == 404
