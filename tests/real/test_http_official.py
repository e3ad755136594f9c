"""A server made with the official package, over HTTP: both eras, JSON and event streams, and HTTP+SSE."""

from __future__ import annotations

import pytest

from mcp_actors import Progress, errors
from tests.client.waiting import BOUND, in_thread
from tests.real.hearing import Heard
from tests.real.programs import ERAS, MARKS
from tests.real.test_official_features import ONE
from tests.real.web import Connect, Official, connect, forget_session, official, run

__all__ = ["connect", "official", "run"]

pytestmark = [*MARKS, pytest.mark.requirement("transport:http")]


@pytest.mark.parametrize("transport", ["json", "stream"])
@pytest.mark.parametrize("era", ERAS)
def test_the_official_package_is_spoken_to_over_http(
    era: str, transport: str, official: Official, connect: Connect
) -> None:
    client = connect(official(transport), protocol=era).wait_ready()
    assert (client.protocol_version, client.server_info.name) == (era, "official")
    assert {one.name for one in client.list_tools()} == {"add", "pid", "die", "count", "fail"}
    calls = [in_thread(lambda n=n: client.call_tool("add", {"a": n, "b": 1}).text) for n in range(20)]  # type: ignore[misc]
    assert [call.result(4 * BOUND) for call in calls] == [str(n + 1) for n in range(20)]
    assert client.read_resource("toy://greeting").raw["contents"][0]["text"] == "hello ü"
    assert client.call_tool("fail").is_error
    with pytest.raises(errors.RemoteError) as caught:
        client.request("no/such/method")
    assert caught.value.code == -32601
    client.ping()


@pytest.mark.parametrize("era", ERAS)
def test_the_official_package_reports_progress_over_http(
    era: str, official: Official, connect: Connect
) -> None:
    client = connect(official("stream"), protocol=era)
    heard: list[Progress] = []
    assert client.call_tool("count", {"to": 3}, on_progress=heard.append).text == "counted"
    assert [one.progress for one in heard] == [1, 2, 3]


@pytest.mark.parametrize("era", ERAS)
def test_the_official_package_dies_and_comes_back(era: str, official: Official, connect: Connect) -> None:
    program = official("stream")
    client = connect(program, protocol=era)
    before = client.call_tool("pid").text
    with pytest.raises(errors.ConnectionLost) as caught:
        client.call_tool("die", {"code": 9})
    assert caught.value.outcome == "unknown"
    program.restart()
    assert client.call_tool("pid", wait=True).text != before


@pytest.mark.requirement("connection:recover")
def test_a_session_that_the_server_forgot_is_replaced(official: Official, connect: Connect) -> None:
    program = official("stream", "official_features")
    client, heard = connect(program, protocol="2025-11-25").wait_ready(), Heard()
    client.on_resource_updated(heard, ONE)
    client.list_tools()
    client.subscribe_resource(ONE)
    forget_session(program, client)
    client.call_tool("write_note", {"name": "one", "text": "changed"}, wait=True)
    assert heard.wait() == [ONE]
    assert client.stats().reconnects == 1


@pytest.mark.requirement("transport:sse")
def test_the_older_transport_is_found_behind_its_url(official: Official, connect: Connect) -> None:
    client = connect(official("sse")).wait_ready()
    assert client.call_tool("add", {"a": 2, "b": 40}).text == "42"
    heard: list[Progress] = []
    assert client.call_tool("count", {"to": 2}, on_progress=heard.append).text == "counted"
    assert [one.progress for one in heard] == [1, 2]
