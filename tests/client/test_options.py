"""Options and constructors: what is wrong is said at once, by name."""

from __future__ import annotations

import math
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client, registry
from mcp_actors.auth import OAuth
from mcp_actors.client.options import ClientOptions
from mcp_actors.client.web import _plain
from tests.client.toy_host import ToyHost

MakeClient = Callable[..., Client]


@pytest.mark.parametrize(
    ("option", "value", "kind", "words"),
    [
        ("request_timeout", 0, ValueError, "request_timeout must be a positive number of seconds, not 0"),
        ("request_timeout", math.nan, ValueError, "request_timeout must be a positive number"),
        ("init_timeout", -1, ValueError, "init_timeout must be a positive number of seconds, not -1"),
        ("init_timeout", "10", TypeError, "init_timeout must be a number, not str"),
        ("backoff_min", None, TypeError, "backoff_min must be a number, not NoneType"),
        ("backoff_min", 31, ValueError, r"backoff_min \(31\) is above backoff_max \(30.0\)"),
        ("backoff_max", math.inf, ValueError, "backoff_max must be a positive number"),
        ("backoff_jitter", 1, ValueError, "backoff_jitter must be at least 0 and below 1, not 1"),
        ("backoff_jitter", "x", TypeError, "backoff_jitter must be a number, not str"),
        ("max_frame_bytes", 0, ValueError, "max_frame_bytes must be at least 1, not 0"),
        ("max_in_flight", 1.5, TypeError, "max_in_flight must be an integer, not float"),
        ("max_in_flight", True, TypeError, "max_in_flight must be an integer, not bool"),
        ("window", 0, ValueError, "window must be at least 1"),
        ("frames_per_permit", 0, ValueError, "frames_per_permit must be at least 1"),
        ("max_failed_starts", 0, ValueError, "max_failed_starts must be at least 1"),
        ("protocol", "2023-01-01", ValueError, "protocol must be .* not '2023-01-01'"),
        ("protocol", 5, TypeError, "protocol must be a string, not int"),
        ("client_info", 5, TypeError, "client_info must be a mapping of names to values, not int"),
        ("client_info", {"x": 1}, ValueError, "client_info must hold a name, which is a string"),
        ("client_info", {"name": "x"}, ValueError, "client_info must hold a version, which is a string"),
        ("keep_alive", 0, ValueError, "keep_alive must be a positive number of seconds"),
        ("log_handler", 5, TypeError, "log_handler must be callable, not int"),
        ("trace_context", "x", TypeError, "trace_context must be callable, not str"),
        ("request_timout", 5, TypeError, "no option 'request_timout'; did you mean 'request_timeout'"),
        ("xyzzy", 5, TypeError, "a client has no option 'xyzzy'$"),
        ("client_info", {"name": object()}, TypeError, "object"),
        ("notification_overflow", "lose", ValueError, "notification_overflow must be .* not 'lose'"),
        ("name", 5, TypeError, "name must be a string, not int"),
    ],
)
def test_a_wrong_option_is_named(
    option: str, value: Any, kind: type[Exception], words: str, host: ToyHost
) -> None:
    with pytest.raises(kind, match=words):
        Client.memory(host, **{option: value})
    assert registry.names() == ()


def test_an_unknown_option_is_refused(host: ToyHost) -> None:
    with pytest.raises(TypeError, match="max_inflight"):
        Client.memory(host, max_inflight=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("command", "kind", "words"),
    [
        ("python server.py", TypeError, "command must be a list of arguments, not one string"),
        ([], ValueError, "command must name a program"),
        (None, TypeError, "command must be a list of arguments, not NoneType"),
        (5, TypeError, "command must be a list of arguments, not int"),
        (["python", 5], TypeError, "command must hold strings, not int"),
        (["a\0b"], ValueError, "NUL"),
    ],
)
@pytest.mark.requirement("security:no-shell")
def test_a_wrong_command_is_refused_before_anything_is_started(
    command: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        Client.stdio(command)


def test_a_command_may_hold_paths() -> None:
    assert Client.stdio([Path("/bin/cat"), "x"]).name == "cat"  # type: ignore[list-item]


@pytest.mark.parametrize(("command", "seconds"), [("uvx", 60.0), ("/usr/bin/npx", 60.0), ("python", 10.0)])
def test_package_runners_get_more_patience(command: str, seconds: float) -> None:
    assert Client.stdio([command, "x"])._options.init_timeout == seconds
    assert Client.stdio([command, "x"], init_timeout=3)._options.init_timeout == 3


def test_the_defaults_are_those_of_the_documentation() -> None:
    options = ClientOptions()
    assert (options.request_timeout, options.init_timeout) == (30.0, 10.0)
    assert (options.backoff_min, options.backoff_max, options.backoff_jitter) == (1.0, 30.0, 0.2)
    assert (options.max_frame_bytes, options.max_in_flight, options.window) == (16 * 1024 * 1024, 1024, 1)
    policy = options.policy(options.desk().offer)
    assert policy.tombstone_ttl == 30 + 10 + 30 + 5
    assert (policy.sweep_every, policy.scan_above, policy.max_scanning) == (60.0, 128_000, 8)
    assert (policy.send_attempts, policy.send_delay, policy.send_jitter) == (3, 0.01, 0.5)


def test_client_info_is_what_the_server_hears(host: ToyHost, make_client: MakeClient) -> None:
    make_client(host, client_info={"name": "mine", "version": "2"}).wait_ready()
    meta = host.await_heard("server/discover")["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "mine", "version": "2"}


# Names.


@pytest.mark.requirement("runtime:registry")
def test_a_named_client_is_found_until_it_is_closed(host: ToyHost, make_client: MakeClient) -> None:
    client = make_client(host, name="weather")
    assert registry.lookup("weather") is client
    assert registry.names() == ("weather",)
    assert repr(client) == "<Client weather (starting)>"
    client.ping()
    client.close()
    assert registry.lookup("weather") is None
    make_client(host, name="weather").ping()


@pytest.mark.requirement("runtime:registry")
def test_a_name_that_is_taken_is_refused(host: ToyHost, make_client: MakeClient) -> None:
    first = make_client(host, name="weather")
    with pytest.raises(ValueError, match="the name 'weather' is taken"):
        make_client(host, name="weather")
    assert registry.lookup("weather") is first


@pytest.mark.requirement("runtime:registry")
def test_a_client_without_a_name_is_not_registered(client: Client) -> None:
    assert client.name == "memory"
    assert registry.names() == ()


def test_a_client_that_may_need_a_login_waits_as_long_as_one_may_take() -> None:
    login = OAuth(timeout=120.0, request_timeout=20.0)
    patient = Client.http("https://example.com/mcp", auth=login)
    decided = Client.http("https://example.com/mcp", auth=login, init_timeout=5.0)
    other = Client.http("https://example.com/mcp", auth="token")
    assert [client._options.init_timeout for client in (patient, decided, other)] == [140.0, 5.0, 10.0]


def test_a_path_of_authorities_counts_for_the_authorization_server_too(tmp_path: Path) -> None:
    assert _plain(tmp_path / "ca.pem") == str(tmp_path / "ca.pem")
    assert _plain(ssl.create_default_context()) is True
