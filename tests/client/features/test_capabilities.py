"""Capabilities and revisions: what a server does not offer, or has never heard of, is not asked of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_actors import Client, errors
from tests.client.relay import over_both_wires
from tests.client.toy_host import STATELESS, VERSIONS, ToyHost
from tests.client.waiting import BOUND

MakeClient = Callable[..., Client]
MakeHost = Callable[..., ToyHost]
Ask = Callable[[Client], Any]

TASKS = "io.modelcontextprotocol/tasks"
#: Each request of the face, and the capability it needs.
CALLS: dict[str, tuple[Ask, str]] = {
    "tools/list": (lambda client: client.list_tools(), "tools"),
    "tools/call": (lambda client: client.call_tool("echo"), "tools"),
    "resources/list": (lambda client: client.list_resources(), "resources"),
    "resources/templates/list": (lambda client: client.list_resource_templates(), "resources"),
    "resources/read": (lambda client: client.read_resource("toy:a"), "resources"),
    "resources/subscribe": (lambda client: client.subscribe_resource("toy:a"), "resources.subscribe"),
    "resources/unsubscribe": (lambda client: client.unsubscribe_resource("toy:a"), "resources.subscribe"),
    "prompts/list": (lambda client: client.list_prompts(), "prompts"),
    "prompts/get": (lambda client: client.get_prompt("greet"), "prompts"),
    "completion/complete": (lambda client: client.complete("greet", "who", ""), "completions"),
}
#: Completion had no capability in the first revision.
GATED = [
    (method, version)
    for method in CALLS
    for version in VERSIONS
    if (method, version) != ("completion/complete", "2024-11-05")
]
#: What each revision does not have, of what some revision has.
MISSING = {
    "2024-11-05": ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"],
    "2025-03-26": ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"],
    "2025-06-18": ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"],
    "2025-11-25": ["tasks/update"],
    STATELESS: ["initialize", "ping", "logging/setLevel", "tasks/result", "tasks/list"],
}
for _version in MISSING:
    if _version != STATELESS:
        MISSING[_version] += ["server/discover", "subscriptions/listen"]
LACKING = [(version, method) for version, methods in MISSING.items() for method in methods]


def quiet(host: ToyHost) -> list[str]:
    """What the server heard beyond the opening."""
    opening = ("server/discover", "initialize", "notifications/initialized")
    return [one["method"] for one in list(host.heard) if one["method"] not in opening]


@pytest.mark.requirement("negotiation:capabilities")
@over_both_wires
@pytest.mark.parametrize(("method", "version"), GATED)
def test_what_the_server_does_not_offer_is_not_asked_of_it(
    method: str, version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    ask, capability = CALLS[method]
    # Half of it is not enough.
    host = make_host(version=version, capabilities={"resources": {}} if "." in capability else {})
    client = make_client(host).wait_ready()
    with pytest.raises(errors.CapabilityMissing) as caught:
        ask(client)
    assert caught.value.details == {"capability": capability}
    assert str(caught.value).endswith(f"was not sent: {client.name} does not offer {capability}")
    assert (caught.value.type, caught.value.retryable) == ("capability", False)
    client.ping()
    assert [one for one in quiet(host) if one != "ping"] == []


@pytest.mark.requirement("negotiation:capabilities")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_other_ways_to_ask_make_no_difference(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version, capabilities={})
    client = make_client(host).wait_ready()
    with pytest.raises(errors.CapabilityMissing):
        client.request("tools/list")
    assert isinstance(client.submit_tool("echo").exception(BOUND), errors.CapabilityMissing)
    with client.batch() as batch:
        one, other = batch.call_tool("echo"), batch.request("prompts/list")
    for call in (one, other):
        assert isinstance(call.future.exception(BOUND), errors.CapabilityMissing)
    assert quiet(host) == []


@pytest.mark.requirement("negotiation:capabilities")
@over_both_wires
@pytest.mark.parametrize("offered", [{"tools": None}, {"tools": False}, {"resources": {"subscribe": False}}])
def test_what_is_said_to_be_missing_is_missing(
    offered: dict[str, Any], make_host: MakeHost, make_client: MakeClient
) -> None:
    client = make_client(make_host(capabilities=offered)).wait_ready()
    for call in (client.list_tools, lambda: client.subscribe_resource("toy:a")):
        with pytest.raises(errors.CapabilityMissing):
            call()


@pytest.mark.requirement("negotiation:capabilities")
@pytest.mark.requirement("connection:recover")
@over_both_wires
def test_a_server_that_comes_back_with_less_is_asked_for_less(
    make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(capabilities={"tools": {}, "prompts": {}})
    client = make_client(host)
    client.list_prompts()
    host.capabilities = {"tools": {}}
    host.drop()
    host.await_wires(2)
    client.ping(wait=True)
    with pytest.raises(errors.CapabilityMissing, match="does not offer prompts"):
        client.list_prompts()
    assert len(host.all_heard("prompts/list")) == 1
    host.capabilities = {"prompts": {}}
    host.drop()
    host.await_wires(3)
    client.ping(wait=True)
    assert [one.name for one in client.list_prompts()] == ["greet"]


@pytest.mark.requirement("negotiation:degrade")
@over_both_wires
@pytest.mark.parametrize(("version", "method"), LACKING)
def test_what_the_revision_does_not_have_is_not_sent(
    version: str, method: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    everything: dict[str, Any] = {"tools": {}, "logging": {}, "tasks": {"list": {}, "cancel": {}}}
    host = make_host(version=version, capabilities=everything)
    client = make_client(host).wait_ready()
    with pytest.raises(errors.CapabilityMissing) as caught:
        client.request(method)
    assert f"{method} does not exist in revision {version}" in str(caught.value)
    assert caught.value.details == {"method": method, "revision": version}
    assert quiet(host) == []


@pytest.mark.requirement("negotiation:degrade")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_revision_has_is_sent(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    everything = {
        "tools": {},
        "resources": {"subscribe": True},
        "prompts": {},
        "completions": {},
        "logging": {},
        "tasks": {"list": {}, "cancel": {}},
        "extensions": {TASKS: {}},
    }
    host = make_host(version=version, capabilities=everything)
    client = make_client(host, extensions={TASKS: {}}).wait_ready()
    absent = {*MISSING[version], "subscriptions/listen", "resources/subscribe", "resources/unsubscribe"}
    methods = {one for missing in MISSING.values() for one in missing} | CALLS.keys()
    for method in sorted(methods - absent):
        # Whatever the server says to it, it was asked.
        try:
            client.request(method, {"uri": "toy:a"})
        except errors.RemoteError as error:
            assert error.code == -32601  # noqa: PT017 - both are fine
        host.await_heard(method)


@pytest.mark.requirement("negotiation:degrade")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_tasks_exist_where_they_exist(version: str, make_host: MakeHost, make_client: MakeClient) -> None:
    host = make_host(version=version)
    client = make_client(host).wait_ready()
    for ask in (
        lambda: client.start_task("echo"),
        lambda: client.get_task("t"),
        lambda: client.list_tasks(),
    ):
        with pytest.raises(errors.CapabilityMissing):
            ask()
    assert quiet(host) == []


@pytest.mark.requirement("negotiation:degrade")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_what_changed_its_name_goes_by_the_name_of_the_revision(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    capabilities = {"resources": {"subscribe": True}, "logging": {}}
    host = make_host(version=version, capabilities=capabilities)
    host.answers |= {"resources/subscribe": lambda _: {}, "logging/setLevel": lambda _: {}}
    client = make_client(host).wait_ready()
    client.ping()
    client.set_logging_level("info")
    if version == STATELESS:
        with pytest.raises(errors.RemoteError):
            client.subscribe_resource("toy:a")
        assert quiet(host) == ["subscriptions/listen"]
    else:
        client.subscribe_resource("toy:a")
        assert quiet(host) == ["ping", "logging/setLevel", "resources/subscribe"]


@pytest.mark.requirement("negotiation:degrade")
@over_both_wires
@pytest.mark.parametrize("version", VERSIONS)
def test_what_no_revision_knows_is_the_callers_business(
    version: str, make_host: MakeHost, make_client: MakeClient
) -> None:
    host = make_host(version=version, capabilities={})
    host.answers["custom/thing"] = lambda request: {"got": request["params"].get("x")}
    assert make_client(host).request("custom/thing", {"x": 5}) == {"got": 5}
