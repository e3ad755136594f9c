"""The ladder of checks: the first that fails decides, in both eras."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.serving.actions import Run, Send, Violation
from mcp_actors.protocol.serving.entry import shown
from mcp_actors.protocol.serving.events import Concluded, StopAsked
from mcp_actors.protocol.serving.policy import SessionPolicy
from tests.protocol.serving.talk import (
    CAPABILITIES,
    LEGACY,
    LOG_LEVEL,
    MODERN,
    VERSION,
    VERSIONS,
    Talk,
    frame,
    meta,
    only,
    profile,
    ready,
    sent,
    the_answer,
)

UNSUPPORTED = -32022
INFO_KEY = VERSION.replace("protocolVersion", "clientInfo")


@pytest.mark.requirement("negotiation:versions")
@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, jsonrpc.INVALID_PARAMS),
        ({"_meta": 7}, jsonrpc.INVALID_PARAMS),
        ({"_meta": {}}, jsonrpc.INVALID_PARAMS),
        ({"_meta": {CAPABILITIES: {}}}, jsonrpc.INVALID_PARAMS),
        ({"_meta": {VERSION: "1999-01-01"}}, jsonrpc.INVALID_PARAMS),
        ({"_meta": meta(7)}, jsonrpc.INVALID_PARAMS),
        ({"_meta": meta(None)}, jsonrpc.INVALID_PARAMS),
        ({"_meta": meta("1999-01-01", capabilities=[1])}, jsonrpc.INVALID_PARAMS),
        ({"_meta": meta(**{LOG_LEVEL: "loud"})}, jsonrpc.INVALID_PARAMS),
        ({"_meta": meta(**{LOG_LEVEL: [1]})}, jsonrpc.INVALID_PARAMS),
        ({"_meta": meta("1999-01-01")}, UNSUPPORTED),
        ({"_meta": meta("2025-11-25")}, UNSUPPORTED),
        ({"_meta": meta()}, jsonrpc.METHOD_NOT_FOUND),
    ],
)
def test_a_modern_request_fails_at_the_first_wrong_step(params: dict[str, Any], code: int) -> None:
    # The method is unknown, too: that step is the last.
    actions = Talk().hear(frame(id=1, method="no/such", params=params), modern=True)
    assert the_answer(actions, 1)["code"] == code


@pytest.mark.requirement("negotiation:versions")
def test_an_unsupported_revision_is_answered_with_what_is_spoken() -> None:
    talk = Talk()
    error = the_answer(talk.modern(1, "tools/list", _meta=meta("2031-01-01")), 1)
    assert error["data"] == {"supported": list(VERSIONS), "requested": "2031-01-01"}
    assert "2031-01-01" in error["message"]
    told = the_answer(talk.modern(2, "server/discover"), 2)
    assert error["data"]["supported"] == told["supportedVersions"]


@pytest.mark.requirement("negotiation:versions")
def test_params_without_a_version_on_a_wire_that_names_none_are_the_older_era() -> None:
    error = the_answer(Talk().request(1, "tools/list", _meta={CAPABILITIES: {}}), 1)
    assert error["code"] == jsonrpc.INVALID_REQUEST


def test_a_modern_request_that_passes_becomes_a_job_with_its_own_terms() -> None:
    described = meta(capabilities={"roots": {}}, **{LOG_LEVEL: "error", INFO_KEY: {"name": "ann"}, "x": 1})
    (run,) = only(Talk().modern("a", "tools/call", name="add", _meta=described), Run)
    job = run.job
    assert (job.id, job.method, job.params["name"]) == ("a", "tools/call", "add")
    assert job.terms.revision.version == MODERN
    assert job.terms.declares("roots")
    assert job.terms.client_info == {"name": "ann"}
    assert job.terms.log_level == "error"
    assert job.terms.meta == described


def test_nothing_of_one_modern_request_is_believed_of_the_next() -> None:
    talk = Talk()
    talk.modern(1, "tools/list", _meta=meta(capabilities={"roots": {}}, **{INFO_KEY: {"name": "ann"}}))
    (run,) = only(talk.modern(2, "tools/list", _meta=meta(**{INFO_KEY: 7, LOG_LEVEL: None})), Run)
    assert run.job.terms.capabilities == {}
    assert run.job.terms.client_info is None
    assert run.job.terms.log_level is None


GATED = {
    "tools/list": "tools",
    "prompts/get": "prompts",
    "resources/read": "resources",
    "completion/complete": "completions",
}


@pytest.mark.requirement("negotiation:capabilities")
@pytest.mark.parametrize(("method", "capability"), GATED.items())
def test_what_the_server_does_not_announce_does_not_exist(method: str, capability: str) -> None:
    silent = profile({key: {} for key in GATED.values() if key != capability})
    for actions in (Talk(silent).modern(1, method), ready(LEGACY[0], silent).request(1, method)):
        assert the_answer(actions, 1)["code"] == jsonrpc.METHOD_NOT_FOUND


@pytest.mark.requirement("negotiation:degrade")
def test_a_method_of_another_revision_does_not_exist() -> None:
    assert the_answer(ready().request(1, "server/discover"), 1)["code"] == jsonrpc.METHOD_NOT_FOUND
    old = ready("2025-06-18").request(1, "tasks/get", taskId="a")
    assert the_answer(old, 1)["code"] == jsonrpc.METHOD_NOT_FOUND
    assert len(only(ready("2025-11-25").request(1, "tasks/get", taskId="a"), Run)) == 1


@pytest.mark.parametrize("params", [[1], "a", 7, None])
def test_params_that_are_no_object_are_refused(params: Any) -> None:
    actions = ready().hear(frame(id=1, method="tools/list", params=params))
    assert the_answer(actions, 1)["code"] == jsonrpc.INVALID_PARAMS


@pytest.mark.parametrize("value", [b'"\xff"', b"1" * 5000])
def test_params_that_cannot_be_decoded_are_refused(value: bytes) -> None:
    actions = ready().hear(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":%s}}' % value)
    assert the_answer(actions, 1)["code"] == jsonrpc.INVALID_PARAMS


def test_no_params_are_an_empty_object() -> None:
    (run,) = only(ready().hear(frame(id=1, method="tools/list")), Run)
    assert run.job.params == {}


@pytest.mark.parametrize("id_", [0, -1, 7, 2**70, "", "7", "\ud800", 'a"b'])
def test_an_id_comes_back_as_it_was(id_: Any) -> None:
    talk = ready()
    assert len(only(talk.request(id_, "tools/list"), Run)) == 1
    assert the_answer(talk.conclude(id_, {"a": 1}), id_) == {"a": 1}


def test_a_number_and_its_digits_are_two_ids() -> None:
    talk = ready()
    talk.request(1, "tools/list")
    assert len(only(talk.request("1", "tools/list"), Run)) == 1
    the_answer(talk.conclude("1"), "1")
    the_answer(talk.conclude(1), 1)


@pytest.mark.parametrize("stopping", [False, True])
def test_a_second_request_under_the_same_id_is_refused_and_harms_not_the_first(stopping: bool) -> None:
    talk = ready()
    talk.request(1, "tools/list")
    if stopping:
        talk.feed(StopAsked(5.0))
    actions = talk.request(1, "tools/call")
    (said,) = sent(actions)
    assert "id" not in said
    assert said["error"]["code"] == jsonrpc.INVALID_REQUEST
    assert [(send.about, send.final) for send in only(actions, Send)] == [(None, False)]
    assert [violation.kind for violation in only(actions, Violation)] == ["duplicate"]
    assert the_answer(talk.conclude(1, {"a": 1}), 1) == {"a": 1}


def test_a_request_under_the_id_of_a_stream_is_refused_and_harms_not_the_stream() -> None:
    talk = Talk()
    talk.listen(1, toolsListChanged=True)
    (said,) = sent(talk.modern(1, "tools/list"))
    assert "id" not in said
    assert 1 in talk.machine.reception.listens


def test_an_id_is_free_again_after_its_answer() -> None:
    talk = ready()
    talk.request(1, "tools/list")
    talk.conclude(1)
    assert len(only(talk.request(1, "tools/list"), Run)) == 1


@pytest.mark.requirement("security:limits")
def test_a_client_has_only_so_many_requests_at_once() -> None:
    talk = Talk(policy=SessionPolicy(max_running=2))
    talk.modern(1, "tools/list")
    talk.modern(2, "tools/list")
    assert the_answer(talk.modern(3, "tools/list"), 3)["code"] == jsonrpc.INTERNAL_ERROR
    # What needs nobody's work is not counted.
    assert "capabilities" in the_answer(talk.modern(4, "server/discover"), 4)
    talk.conclude(1)
    assert len(only(talk.modern(5, "tools/list"), Run)) == 1


def test_a_result_and_an_error_are_answers() -> None:
    talk = ready()
    talk.request(1, "tools/list")
    talk.request(2, "tools/list")
    assert talk.machine.busy
    assert the_answer(talk.conclude(1, {"tools": []}), 1) == {"tools": []}
    error = the_answer(talk.feed(Concluded(2, b'{"code":-7,"message":"no"}', -7)), 2)
    assert error == {"code": -7, "message": "no"}
    assert not talk.machine.busy


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    talk = ready()
    assert talk.conclude(1) == []
    talk.request(1, "tools/list")
    talk.conclude(1)
    assert talk.conclude(1) == []


def test_what_a_client_wrote_is_quoted_escaped_and_short() -> None:
    assert shown("a\n") == "'a\\n'"
    assert shown("x" * 200) == "'" + "x" * 80 + "'..."
    assert shown(7) == "a int"
    error = the_answer(ready().request(1, "x" * 5000), 1)
    assert len(error["message"]) < 200
