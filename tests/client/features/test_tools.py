"""Tools: listed by pages, called, and held to what they promised to answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.features.places import Place
from tests.client.toy_host import SILENCE, STATELESS, VERSIONS, ToyHost, text, tool
from tests.client.waiting import BOUND, in_thread

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]

SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


def promising(host: ToyHost, schema: dict[str, Any], answer: dict[str, Any]) -> None:
    """Let the host have one tool, ``add``, that promises ``schema`` and answers ``answer``."""
    host.answers["tools/list"] = lambda _: {"tools": [tool("add") | {"outputSchema": schema}]}
    host.answers["tools/call"] = lambda _: answer


def structured(value: Any) -> dict[str, Any]:
    return text("…") | {"structuredContent": value}


@pytest.fixture(params=[STATELESS, "2025-11-25"])
def adder(request: pytest.FixtureRequest, make_host: MakeHost) -> ToyHost:
    """A server whose tool ``add`` promises a sum."""
    host = make_host(version=request.param)
    promising(host, SUM, structured({"sum": 3}))
    return host


@pytest.mark.requirement("feature:tools")
def test_tools_are_listed_over_all_pages_with_everything_the_server_says(place: Place) -> None:
    client = place.connect()
    tools = client.list_tools()
    assert [one.name for one in tools] == ["add", "lie", "ask", "log", "change", "touch", "count", "meta"]
    hints = tools[0].annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.destructive_hint, hints.title) == (True, True, "Adding")
    assert (tools[0].description, tools[0].display_name) == ("adds", "Adding")
    assert (tools[0].output_schema is not None) == (place.version >= "2025-06-18")
    assert tools[2].annotations is None


@pytest.mark.requirement("feature:tools")
def test_a_tool_is_called_and_keeps_its_promise(place: Place) -> None:
    client = place.connect()
    client.list_tools()
    result = client.call_tool("add", {"a": 1, "b": 2})
    assert (result.text, result.structured_content, result.is_error) == ('{"sum": 3}', {"sum": 3}, False)
    assert client.submit_tool("add", {"a": 2, "b": 2}).result(BOUND).structured_content == {"sum": 4}


@pytest.mark.requirement("feature:tools")
def test_a_tool_that_breaks_its_promise_is_found_out(place: Place) -> None:
    client = place.connect()
    client.list_tools()
    if place.version < "2025-06-18":
        assert client.call_tool("lie").structured_content == {"sum": "many"}
        return
    with pytest.raises(errors.InvalidResponse, match="'lie' did not answer what its output schema promises"):
        client.call_tool("lie")


@pytest.mark.requirement("feature:tools")
def test_an_unknown_tool_is_the_servers_error(place: Place) -> None:
    with pytest.raises(errors.RemoteError) as caught:
        place.connect().call_tool("nothing")
    assert (caught.value.code, caught.value.type) == (-32602, "jsonrpc")


@pytest.mark.requirement("feature:tools")
def test_a_wrong_answer_is_kept_in_the_details(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, structured({"sum": "three"}))
    client = make_client(adder)
    client.list_tools()
    with pytest.raises(errors.InvalidResponse, match="/sum") as caught:
        client.call_tool("add")
    assert caught.value.details["result"]["structuredContent"] == {"sum": "three"}
    assert caught.value.details["result"]["content"] == [{"type": "text", "text": "…"}]
    assert client.state == "ready"


@pytest.mark.requirement("feature:tools")
def test_a_submitted_call_is_checked_as_well(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, structured({"sum": "three"}))
    client = make_client(adder)
    client.list_tools()
    error = client.submit_tool("add").exception(BOUND)
    assert isinstance(error, errors.InvalidResponse)
    assert error.details["result"]["structuredContent"] == {"sum": "three"}


@pytest.mark.requirement("feature:tools")
def test_a_call_of_a_batch_is_checked_as_well(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, structured({"sum": "three"}))
    client = make_client(adder)
    client.list_tools()
    with client.batch() as batch:
        call = batch.call_tool("add")
    assert isinstance(call.future.exception(BOUND), errors.InvalidResponse)


@pytest.mark.requirement("feature:tools")
def test_no_structured_content_breaks_the_promise(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, text('{"sum": 3}'))
    client = make_client(adder)
    client.list_tools()
    with pytest.raises(errors.InvalidResponse, match="there is no structured content"):
        client.call_tool("add")


@pytest.mark.requirement("feature:tools")
def test_a_tool_that_failed_owes_nothing(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, text("overflow") | {"isError": True})
    client = make_client(adder)
    client.list_tools()
    result = client.call_tool("add")
    assert (result.is_error, result.text, result.structured_content) == (True, "overflow", None)


@pytest.mark.requirement("feature:tools")
@pytest.mark.parametrize("value", [None, 0, False, "", [], {}])
def test_any_json_may_be_promised_and_null_is_a_value(
    value: Any, host: ToyHost, make_client: MakeClient
) -> None:
    promising(host, {"const": value}, structured(value))
    client = make_client(host)
    client.list_tools()
    result = client.call_tool("add")
    assert result.structured_content == value
    assert result.has_structured_content
    promising(host, {"not": {"const": value}}, structured(value))
    client.list_tools()
    with pytest.raises(errors.InvalidResponse):
        client.call_tool("add")


@pytest.mark.requirement("feature:tools")
def test_a_tool_that_was_never_listed_is_not_checked_and_none_is_listed_for_it(
    adder: ToyHost, make_client: MakeClient
) -> None:
    promising(adder, SUM, structured({"sum": "three"}))
    assert make_client(adder).call_tool("add").structured_content == {"sum": "three"}
    assert adder.all_heard("tools/list") == []


@pytest.mark.requirement("feature:tools")
def test_what_was_listed_page_by_page_counts_as_listed(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, structured({"sum": "three"}))
    client = make_client(adder)
    assert [one.name for page in client.tool_pages() for one in page.tools] == ["add"]
    with pytest.raises(errors.InvalidResponse):
        client.call_tool("add")


@pytest.mark.requirement("feature:tools")
def test_checking_can_be_switched_off(adder: ToyHost, make_client: MakeClient) -> None:
    promising(adder, SUM, structured({"sum": "three"}))
    client = make_client(adder, validate_output=False)
    client.list_tools()
    assert client.call_tool("add").structured_content == {"sum": "three"}
    assert client.submit_tool("add").result(BOUND).structured_content == {"sum": "three"}


@pytest.mark.requirement("feature:tools")
@pytest.mark.parametrize(
    "schema", [{"$ref": "https://schemas.example/sum.json"}, {"$ref": "file:///etc/passwd"}]
)
def test_a_schema_elsewhere_is_never_fetched_and_never_fulfilled(
    schema: dict[str, Any], adder: ToyHost, make_client: MakeClient
) -> None:
    promising(adder, schema, structured({"sum": 3}))
    client = make_client(adder)
    assert client.list_tools()[0].output_schema == schema
    with pytest.raises(errors.InvalidResponse, match="the schema cannot be used"):
        client.call_tool("add")
    assert client.state == "ready"


@pytest.mark.requirement("feature:tools")
def test_the_newest_listing_counts(adder: ToyHost, make_client: MakeClient) -> None:
    client = make_client(adder)
    client.list_tools()
    assert client.call_tool("add").structured_content == {"sum": 3}
    promising(adder, {"type": "array"}, structured({"sum": 3}))
    assert client.call_tool("add").structured_content == {"sum": 3}
    client.list_tools()
    with pytest.raises(errors.InvalidResponse):
        client.call_tool("add")


@pytest.mark.requirement("feature:tools")
@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_members_of_a_schema_survive(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    schema = {"type": "object", "$defs": {"a": {"$anchor": "x"}}, "if": True, "x-mine": [1, None]}
    host = make_host(version=version)
    host.answers["tools/list"] = lambda _: {"tools": [{"name": "odd", "inputSchema": schema}]}
    (found,) = make_client(host).list_tools()
    assert found.input_schema == schema


@pytest.mark.requirement("feature:tools")
@pytest.mark.parametrize("hint", ["readOnlyHint", "idempotentHint"])
def test_a_harmless_tool_is_called_again_after_a_loss_if_the_caller_agrees(
    hint: str, host: ToyHost, make_client: MakeClient
) -> None:
    host.answers["tools/list"] = lambda _: {"tools": [tool("look", **{hint: True}), tool("pay")]}
    host.answers["tools/call"] = lambda _: SILENCE if host.wires == 1 else text("seen")
    client = make_client(host)
    client.list_tools()
    looking = in_thread(lambda: client.call_tool("look", replay=True))
    paying = in_thread(lambda: client.call_tool("pay", replay=True))
    unwilling = in_thread(lambda: client.call_tool("look"))
    host.await_heard("tools/call", 3)
    host.drop()
    assert looking.result(BOUND).text == "seen"
    for refused in (paying, unwilling):
        error = refused.exception(BOUND)
        assert isinstance(error, errors.ConnectionLost)
        assert error.outcome == "unknown"
    assert len(host.all_heard("tools/call")) == 4


@pytest.mark.requirement("feature:tools")
def test_progress_reaches_the_caller(place: Place) -> None:
    client = place.connect()
    steps: list[tuple[float, float | None]] = []
    assert client.call_tool("count", on_progress=lambda one: steps.append((one.progress, one.total))).text
    assert steps == [(1, 2), (2, 2)]
