"""Frames spliced from encoded parts equal frames encoded as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import codec
from mcp_actors.protocol.envelope import META_PREFIX, Envelopes, Identity
from mcp_actors.protocol.events import Called
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.revisions import ALL, NEWEST, NEWEST_HANDSHAKE, Revision

IDENTITY = Identity({"name": "client", "version": "1"}, Offer(roots=True))
OBJECTS = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda name: name not in ("_meta", "progressToken")),
    st.recursive(st.none() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=2)),
    max_size=3,
)


def described(revision: Revision) -> dict[str, Any]:
    if not revision.stateless:
        return {}
    return {
        META_PREFIX + "protocolVersion": revision.version,
        META_PREFIX + "clientCapabilities": IDENTITY.capabilities(revision),
        META_PREFIX + "clientInfo": IDENTITY.client_info,
    }


@given(st.sampled_from(ALL), st.integers(0), st.text(max_size=12), OBJECTS, OBJECTS, st.booleans())
def test_a_spliced_request_equals_one_encoded_as_a_whole(
    revision: Revision,
    id_: int,
    method: str,
    params: dict[str, Any],
    meta: dict[str, Any],
    progress: bool,
) -> None:
    whole = described(revision) | meta | ({"progressToken": id_} if progress else {})
    expected = ({"_meta": whole} if whole else {}) | params
    frame = Envelopes(revision, IDENTITY).request(
        id_, method, codec.encode(params), codec.encode(meta), progress=progress
    )
    assert json.loads(frame) == {"jsonrpc": "2.0", "id": id_, "method": method, "params": expected}
    assert b"\n" not in frame


def test_a_request_of_the_handshake_era_without_meta_has_none() -> None:
    frame = Envelopes(NEWEST_HANDSHAKE, IDENTITY).request(1, "tools/list")
    assert frame == b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


def test_a_request_of_the_stateless_era_describes_itself() -> None:
    meta = json.loads(Envelopes(NEWEST, IDENTITY).request(1, "tools/list"))["params"]["_meta"]
    assert meta == described(NEWEST)


def test_a_progress_token_is_the_requests_own_id() -> None:
    frame = Envelopes(NEWEST_HANDSHAKE, IDENTITY).request(9, "tools/call", b'{"name":"a"}', progress=True)
    assert json.loads(frame)["params"] == {"_meta": {"progressToken": 9}, "name": "a"}


@pytest.mark.parametrize("params", [None, {"a": 1}])
def test_a_notification_carries_its_params_or_none(params: dict[str, Any] | None) -> None:
    encoded = None if params is None else codec.encode(params)
    message = json.loads(Envelopes(NEWEST, IDENTITY).notification("notifications/x", encoded))
    assert message == {"jsonrpc": "2.0", "method": "notifications/x"} | ({"params": params} if params else {})


def test_a_cancellation_names_the_request_and_the_reason() -> None:
    message = json.loads(Envelopes(NEWEST, IDENTITY).cancellation(4, 'say "why"\n'))
    assert message["method"] == "notifications/cancelled"
    assert message["params"] == {"requestId": 4, "reason": 'say "why"\n'}


@pytest.mark.requirement("request:modes")
@pytest.mark.parametrize("meta", [{}, {"a": 1}])
def test_the_session_is_named_beside_what_else_is_said(meta: dict[str, Any]) -> None:
    envelopes = Envelopes(NEWEST, IDENTITY, session=7)
    called = Called("ann", "ping", b"{}", codec.encode(meta), 9.0, session=True)
    sent = json.loads(envelopes.call(3, called, None))["params"]["_meta"]
    assert {name: sent[name] for name in sent if not name.startswith(META_PREFIX)} == meta | {"session_id": 7}


@pytest.mark.requirement("feature:logging")
def test_a_level_is_said_where_each_request_has_to_and_the_callers_own_wins() -> None:
    key = META_PREFIX + "logLevel"
    modern, older = Envelopes(NEWEST, IDENTITY), Envelopes(NEWEST_HANDSHAKE, IDENTITY)
    plain, own = (Called("ann", "ping", b"{}", meta, 9.0) for meta in (b"{}", codec.encode({key: "debug"})))
    said = [json.loads(modern.call(3, one, "info"))["params"]["_meta"][key] for one in (plain, own)]
    assert said == ["info", "debug"]
    assert key not in json.loads(modern.call(3, plain, None))["params"]["_meta"]
    assert json.loads(older.call(3, plain, "info"))["params"] == {}
