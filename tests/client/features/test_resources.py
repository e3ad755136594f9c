"""Resources: listed, read, and heard of when they change, over however many connections it takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcp_actors import Client, errors
from tests.client.features.ear import Ear
from tests.client.features.news_host import NewsHost
from tests.client.features.places import Place
from tests.client.toy_host import STATELESS, ToyHost
from tests.client.waiting import until

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
MakeNews = Callable[..., NewsHost]

both_eras = pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])


@pytest.mark.requirement("feature:resources")
def test_resources_and_templates_are_listed(place: Place) -> None:
    client = place.connect()
    assert [(one.uri, one.mime_type) for one in client.list_resources()] == [
        ("toy:text", "text/plain"),
        ("toy:blob", "application/octet-stream"),
    ]
    (template,) = client.list_resource_templates()
    assert (template.uri_template, template.name) == ("toy:{name}", "any")


@pytest.mark.requirement("feature:resources")
def test_text_and_bytes_are_read(place: Place) -> None:
    client = place.connect()
    (text,) = client.read_resource("toy:text").contents
    assert (text.uri, text.raw["text"], text.bytes) == ("toy:text", "grüße", "grüße".encode())
    (blob,) = client.read_resource("toy:blob").contents
    assert (blob.mime_type, blob.bytes) == ("application/octet-stream", b"\x00\x01\x02\xff")


@pytest.mark.requirement("feature:resources")
def test_a_missing_resource_is_the_servers_error(place: Place) -> None:
    with pytest.raises(errors.RemoteError) as caught:
        place.connect().read_resource("toy:nothing")
    assert caught.value.code == (-32602 if place.stateless else -32002)
    assert caught.value.data == {"uri": "toy:nothing"}


@pytest.mark.requirement("feature:resources")
@pytest.mark.requirement("feature:subscriptions")
def test_changes_are_heard_of_from_subscribing_until_unsubscribing(place: Place) -> None:
    client, ear = place.connect(), Ear()
    client.on_resource_updated(ear)
    client.call_tool("touch", {"uri": "toy:text"})
    client.subscribe_resource("toy:text")
    client.call_tool("touch", {"uri": "toy:blob"})
    client.call_tool("touch", {"uri": "toy:text"})
    client.call_tool("touch", {"uri": "toy:text/part"})
    assert ear.wait_for(2) == ["toy:text", "toy:text/part"]
    client.subscribe_resource("toy:blob")
    client.unsubscribe_resource("toy:text")
    client.call_tool("touch", {"uri": "toy:text"})
    client.call_tool("touch", {"uri": "toy:blob"})
    assert ear.wait_for(3) == ["toy:text", "toy:text/part", "toy:blob"]


@pytest.mark.requirement("feature:resources")
@both_eras
def test_a_handler_hears_of_its_resource_and_what_lies_below_it(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client = make_client(host).wait_ready()
    ears = {uri: Ear() for uri in ("file:///a", "file:///a/", "file:///a/b", "file:///ab")}
    for uri, ear in ears.items():
        client.on_resource_updated(ear, uri)
    everything = Ear()
    client.on_resource_updated(everything)
    client.subscribe_resource("file:///")
    told = ["file:///a", "file:///a/b", "file:///a/b#c", "file:///a?d", "file:///ab", "file:///"]
    for uri in told:
        host.touch(uri)
    assert everything.wait_for(len(told)) == told
    assert ears["file:///a"].heard == ["file:///a", "file:///a/b", "file:///a/b#c", "file:///a?d"]
    assert ears["file:///a/"].heard == ["file:///a/b", "file:///a/b#c"]
    assert ears["file:///a/b"].heard == ["file:///a/b", "file:///a/b#c"]
    assert ears["file:///ab"].heard == ["file:///ab"]


@pytest.mark.requirement("feature:resources")
@both_eras
def test_a_refused_subscription_is_the_callers_error_and_is_not_asked_for_again(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    host.refused = {"toy:secret"}
    client = make_client(host).wait_ready()
    client.subscribe_resource("toy:a")
    refused = errors.CapabilityMissing if version == STATELESS else errors.RemoteError
    with pytest.raises(refused, match="^resources/subscribe 'toy:secret' failed: "):
        client.subscribe_resource("toy:secret")
    client.subscribe_resource("toy:b")
    until(lambda: host.wanted_uris == {"toy:a", "toy:b"})
    host.drop()
    host.await_wires(2)
    client.ping(wait=True)
    assert host.wanted_uris == {"toy:a", "toy:b"}
    asked = str(host.heard[-3:])
    assert "toy:secret" not in asked


@pytest.mark.requirement("feature:resources")
@both_eras
def test_subscribing_twice_is_subscribing_once(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, ear = make_client(host).wait_ready(), Ear()
    client.on_resource_updated(ear)
    client.subscribe_resource("toy:a")
    client.subscribe_resource("toy:a")
    host.touch("toy:a")
    assert ear.wait_for(1) == ["toy:a"]
    client.unsubscribe_resource("toy:a")
    until(lambda: host.wanted_uris == set())
    client.unsubscribe_resource("toy:a")
    client.subscribe_resource("toy:z")
    host.touch("toy:a")
    host.touch("toy:z")
    assert ear.wait_for(2) == ["toy:a", "toy:z"]


@pytest.mark.requirement("feature:resources")
@both_eras
def test_a_subscription_outlives_the_connection_and_its_end_does_too(
    version: str, make_news: MakeNews, make_client: MakeClient
) -> None:
    host = make_news(version)
    client, ear = make_client(host).wait_ready(), Ear()
    client.on_resource_updated(ear)
    for uri in ("toy:a", "toy:b"):
        client.subscribe_resource(uri)
    client.unsubscribe_resource("toy:a")
    host.drop()
    host.await_wires(2)
    client.ping(wait=True)
    assert host.wanted_uris == {"toy:b"}
    host.touch("toy:a")
    host.touch("toy:b")
    assert ear.wait_for(1) == ["toy:b"]


@pytest.mark.requirement("feature:resources")
@pytest.mark.parametrize("call", ["read_resource", "subscribe_resource", "unsubscribe_resource"])
def test_a_uri_is_a_string(call: str, client: Client, host: ToyHost) -> None:
    with pytest.raises(TypeError, match="uri must be a string, not int"):
        getattr(client, call)(5)
    assert [one["method"] for one in host.heard] == ["server/discover"]
