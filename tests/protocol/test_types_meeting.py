"""How two sides meet, and what happens between: capabilities, tasks, questions back, subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_actors.protocol import types
from mcp_actors.protocol.types.jsonrpc_error import INVALID_PARAMS

INFO = {"name": "s", "version": "1", "unknown": 1}


@pytest.mark.parametrize(
    ("capabilities", "path", "declared"),
    [
        ({"tools": {}}, "tools", True),
        ({"tools": {}}, "tools.listChanged", False),
        ({"tools": {"listChanged": True}}, "tools.listChanged", True),
        ({"tools": {"listChanged": False}}, "tools.listChanged", False),
        ({"tools": None}, "tools", False),
        ({"tools": True}, "tools.listChanged", False),
        ({}, "resources.subscribe", False),
        ({"novelty": {"a": {"b": {}}}}, "novelty.a.b", True),
        ({"elicitation": {}}, "elicitation", True),
        ({"elicitation": {}}, "elicitation.form", True),
        ({"elicitation": {}}, "elicitation.url", False),
        ({"elicitation": {"url": {}}}, "elicitation.form", False),
        ({"elicitation": {"form": {}}}, "elicitation.form", True),
        ({}, "elicitation.form", False),
    ],
)
def test_a_capability_is_declared_by_anything_but_false_and_null(
    capabilities: dict[str, Any], path: str, declared: bool
) -> None:
    assert types.declares(capabilities, path) is declared


def test_an_initialize_result_keeps_capabilities_that_nobody_knows() -> None:
    wire = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True, "deep": 1}, "novelty": {}},
        "serverInfo": INFO,
        "instructions": "be kind",
    }
    result = types.InitializeResult.from_wire(wire)
    assert result.capabilities.tools == {"listChanged": True, "deep": 1}
    assert result.capabilities.raw == wire["capabilities"]
    assert result.capabilities.declares("novelty")
    assert not result.capabilities.declares("prompts")
    assert result.server_info.raw == INFO


def test_capabilities_made_by_hand_declare_what_they_say() -> None:
    ours = types.ClientCapabilities(roots={"listChanged": True}, sampling={})
    assert ours.to_wire() == {"roots": {"listChanged": True}, "sampling": {}}
    assert ours.declares("roots.listChanged")
    params = types.InitializeParams(
        protocol_version="2025-11-25",
        capabilities=types.ClientCapabilities(),
        client_info=types.Implementation(name="c", version="1"),
    )
    assert params.to_wire() == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }


def test_a_discovered_server_may_name_itself() -> None:
    wire: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"novelty": {}}}
    nameless = types.DiscoverResult.from_wire(wire)
    named = types.DiscoverResult.from_wire(
        wire | {"_meta": {"io.modelcontextprotocol/serverInfo": INFO}, "ttlMs": 5}
    )
    assert nameless.server_info is None
    assert named.server_info == types.Implementation(name="s", version="1")
    assert named.capabilities.declares("novelty")


def test_a_question_back_always_says_that_it_is_one() -> None:
    question = types.InputRequiredResult(
        input_requests={"k": types.InputRequest(method="roots/list")}, request_state="s"
    )
    wire = {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "roots/list"}},
        "requestState": "s",
    }
    assert question.to_wire() == wire
    assert types.InputRequiredResult.from_wire(wire) == question
    assert not question.complete
    assert not types.Result.from_wire(wire).complete


def test_a_task_sends_an_endless_life_as_null() -> None:
    task = types.Task(task_id="1", status="working", created_at="a", last_updated_at="b", ttl=None)
    assert task.to_wire()["ttl"] is None
    assert not task.ended
    assert types.CreateTaskResult(task=task).to_wire() == {"task": task.to_wire()}


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ("working", False),
        ("input_required", False),
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
    ],
)
def test_a_task_has_ended_in_three_of_its_states(status: str, ended: bool) -> None:
    times = {"createdAt": "a", "lastUpdatedAt": "b", "status": status, "taskId": "1"}
    assert types.Task.from_wire(times | {"ttl": 5}).ended is ended
    assert types.ExtensionTask.from_wire(times | {"ttlMs": None, "resultType": "task"}).ended is ended


def test_a_subscription_is_known_by_the_id_of_its_request() -> None:
    meta = {"io.modelcontextprotocol/subscriptionId": 1}
    granted = types.SubscriptionParams.from_wire({"_meta": meta, "notifications": {"toolsListChanged": True}})
    wanted = types.SubscriptionParams(
        notifications=types.SubscriptionFilter(resource_subscriptions=["file:///a"])
    )
    assert granted.subscription_id == types.SubscriptionEnded.from_wire({"_meta": meta}).subscription_id == 1
    assert granted.notifications.tools_list_changed
    assert wanted.subscription_id is None
    assert wanted.to_wire() == {"notifications": {"resourceSubscriptions": ["file:///a"]}}


def test_completion_refers_to_a_prompt_or_to_a_template() -> None:
    argument = {"name": "language", "value": "py"}
    for ref, type_ in (
        ({"type": "ref/prompt", "name": "p"}, types.PromptReference),
        ({"type": "ref/resource", "uri": "a:{b}"}, types.ResourceTemplateReference),
    ):
        params = types.CompleteParams.from_wire({"ref": ref, "argument": argument})
        assert type(params.ref) is type_
    result = types.CompleteResult.from_wire({"completion": {"values": ["python"], "total": 1}})
    assert result.values == ["python"]


def test_an_error_tells_no_data_from_null() -> None:
    assert types.ErrorObject(code=INVALID_PARAMS, message="m").to_wire() == {"code": -32602, "message": "m"}
    null = types.ErrorObject.from_wire({"code": 1, "message": "m", "data": None})
    assert null.data is None


def test_ids_keep_their_type() -> None:
    assert types.CancelledParams.parse(b'{"requestId":"5"}').request_id == "5"
    assert types.CancelledParams.parse(b'{"requestId":5}').request_id == 5
    assert types.ProgressParams.parse(b'{"progressToken":1,"progress":0.5}').progress == 0.5
