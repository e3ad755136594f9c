"""Any JSON value as the parameters of any method gets one answer with a code that means something."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_actors import Server
from mcp_actors.protocol.revisions import ALL
from mcp_actors.protocol.serving.profile import TASKS
from tests.server.conftest import MakeTalk
from tests.server.hostile.messages import described, judge, request, stateless_headers
from tests.server.http.driver import Answer, Driver
from tests.server.talk import HANDSHAKE, STATELESS, Talk

#: Streams last until their client goes; all other methods end by themselves.
ENDLESS: Final = frozenset({"subscriptions/listen"})
METHODS: Final = sorted(
    {method for revision in ALL for method in revision.requests}
    | {"tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list", "no/such/method", ""}
)
#: Words that mean something to the server, so that the cases come past the first checks.
MEMBERS: Final = (
    *("name", "arguments", "uri", "cursor", "level", "ref", "argument", "context", "task", "taskId"),
    *("protocolVersion", "capabilities", "clientInfo", "_meta", "requestState", "inputResponses"),
    *("notifications", "resourceSubscriptions", "taskIds", "type", "value", "a", "b", "progressToken"),
    *("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"),
    *("io.modelcontextprotocol/logLevel", "ttl", "seconds", "what", "to", "count", "size"),
)
WORDS: Final = (
    *("add", "echo", "work", "letter", "note:///x", "fixed:///text", "leak:///secret", "ref/prompt"),
    *("ref/resource", "note:///{name}", HANDSHAKE, STATELESS, "info", "\ud800", "v1.AAAA", "%", "{", ""),
)
SCALARS: Final = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(WORDS)
    | st.integers(min_value=10**300, max_value=10**301)
)
KEYS: Final = st.sampled_from(MEMBERS) | st.text(max_size=8)
VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=15,
)
OBJECTS: Final = st.dictionaries(KEYS, VALUES, max_size=8)
#: Handlers that fail, or return whatever they are given, NaN included.
FAULTY: Final = {("tools/call", "echo"), ("resources/read", "leak:///secret")}
CASES: Final = settings(
    max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

pytestmark = [pytest.mark.requirement("security:limits"), pytest.mark.requirement("error:translate")]


def _frame(id_: int, method: str, params: Any) -> bytes:
    # Not orjson: it would write NaN as null, and refuse surrogates.
    return json.dumps(request(id_, method) | {"params": params}).encode()


def _answered(client: Talk, id_: int, method: str, params: Any) -> None:
    client.write(_frame(id_, method, params))
    answer = client.answer_to(id_)
    judge(answer, id_)
    _judge_fault(answer, method, params)
    client.heard.clear()


def _judge_fault(answer: Any, method: str, params: Any) -> None:
    """The server is at fault only if a handler was reached that is: everything else is the client's."""
    if answer.get("error", {}).get("code") == -32603:
        reached = params.get("name", params.get("uri"))
        assert (method, reached) in FAULTY, answer


@CASES
@given(method=st.sampled_from(sorted(set(METHODS) - {"initialize"})), params=OBJECTS | VALUES)
def test_in_a_session(target: Server, talk: MakeTalk, method: str, params: Any) -> None:
    client = talk(target, HANDSHAKE)
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not (method in ENDLESS and isinstance(meta, dict)):
        _answered(client, 4711, method, params)
    # Nothing more came, and the next is served.
    assert client.call("ping")["result"] == {}
    assert client.heard == []
    client.close()
    assert target.host.crashes == 0


@CASES
@given(method=st.sampled_from(METHODS), params=OBJECTS)
def test_without_a_session(target: Server, talk: MakeTalk, method: str, params: Any) -> None:
    client = talk(target)
    whole = described(params, extensions={TASKS: {}}, elicitation={})
    if method in ENDLESS:
        client.write(_frame(4711, method, whole))
        first = client.read()
        if first.get("id") == 4711:
            judge(first, 4711)
        else:
            assert first["method"] == "notifications/subscriptions/acknowledged"
    else:
        _answered(client, 4711, method, whole)
    client.write(_frame(2, "tools/list", described({})))
    assert client.read()["id"] == 2
    client.close()
    assert target.host.crashes == 0


@CASES
@given(method=st.sampled_from(METHODS), params=OBJECTS | VALUES)
def test_before_any_handshake(target: Server, talk: MakeTalk, method: str, params: Any) -> None:
    client = talk(target)
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not (method in ENDLESS and isinstance(meta, dict)):
        _answered(client, 4711, method, params)
    client.write(_frame(2, "tools/list", described({})))
    assert client.answer_to(2)["result"]["tools"]
    client.close()
    assert target.host.crashes == 0


@pytest.mark.requirement("transport:http")
@CASES
@given(method=st.sampled_from(METHODS), params=OBJECTS | VALUES, modern=st.booleans())
def test_over_http(target: Server, method: str, params: Any, modern: bool) -> None:
    driver = Driver(target.wsgi())
    headers: dict[str, str | None] = {}
    if modern and isinstance(params, dict):
        params = described(params, extensions={TASKS: {}})
        headers = {**stateless_headers(method)}
    answer = driver.post(_frame(4711, method, params), headers=headers)
    _judge_response(answer, method, params)
    listing = driver.post(_frame(2, "tools/list", described({})), headers={**stateless_headers("tools/list")})
    assert listing.json()["result"]["tools"]
    assert target.host.crashes == 0


def _judge_response(answer: Answer, method: str, params: Any) -> None:
    assert answer.status in (200, 400, 404), answer.status
    if answer.streams:
        assert method in ENDLESS
        answer.close()
        return
    body = answer.json()
    judge(body, 4711)
    _judge_fault(body, method, params)
