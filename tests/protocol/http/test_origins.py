"""Whose requests are served: those that name this machine, or what is listed."""

from __future__ import annotations

import pytest

from mcp_actors.protocol.http.origins import Origins
from mcp_actors.protocol.http.rejections import Rejected

pytestmark = pytest.mark.requirement("security:origin")

LOCAL = ["localhost", "LOCALHOST:8000", "localhost.:1", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:8000"]
FOREIGN = [
    "",
    "evil.example.com",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "127.0.0.2",
    "localhost@evil.example",
    "evil.example/localhost",
    "localhost:8000:9000",
    "localhost:x",
    "localhost:",
    "[::2]",
    "::1",
    "localhost\n",
    " localhost",
]


def status(origins: Origins, **headers: str) -> int | None:
    refusal: Rejected | None = None
    try:
        origins.check(headers)
    except Rejected as rejected:
        refusal = rejected
    assert refusal is None or refusal.id is None
    return None if refusal is None else refusal.status


@pytest.mark.parametrize("host", LOCAL)
def test_the_names_of_the_loopback_interface_are_served_at_any_port(host: str) -> None:
    assert status(Origins(), host=host) is None
    assert status(Origins(), host=host, origin=f"http://{host}") is None
    assert status(Origins(), host=host, origin=f"https://{host}") is None


@pytest.mark.parametrize("host", FOREIGN)
def test_any_other_host_is_misdirected(host: str) -> None:
    assert status(Origins(), host=host) == 421
    assert status(Origins(), host=host, origin="http://localhost") == 421


@pytest.mark.parametrize("host", FOREIGN)
def test_any_other_origin_is_forbidden(host: str) -> None:
    assert status(Origins(), host="localhost", origin=f"http://{host}") == 403


@pytest.mark.parametrize(
    "origin", ["null", "", "file://", "ftp://localhost", "localhost", "http://localhost/"]
)
def test_what_is_no_origin_of_the_web_is_forbidden(origin: str) -> None:
    assert status(Origins(), host="localhost", origin=origin) == 403


def test_a_request_without_a_host_is_misdirected_and_without_an_origin_is_served() -> None:
    assert status(Origins()) == 421
    assert status(Origins(), host="localhost") is None


def test_listed_hosts_replace_those_of_the_loopback_interface() -> None:
    listed = Origins(("Tools.example", "other.example:8443"))
    assert status(listed, host="tools.example") is None
    assert status(listed, host="TOOLS.example:99") is None
    assert status(listed, host="other.example:8443") is None
    assert status(listed, host="other.example") == 421
    assert status(listed, host="localhost") == 421


def test_pages_of_a_listed_host_may_call_it() -> None:
    listed = Origins(("tools.example", "other.example:443"))
    assert status(listed, host="tools.example", origin="https://tools.example") is None
    assert status(listed, host="tools.example", origin="https://other.example") is None
    assert status(listed, host="tools.example", origin="http://other.example") == 403
    assert status(listed, host="tools.example", origin="http://localhost") == 403


def test_listed_origins_may_call_beside_the_local_ones() -> None:
    listed = Origins(origins=("https://app.example",))
    assert status(listed, host="localhost", origin="https://APP.example") is None
    assert status(listed, host="localhost", origin="http://localhost:6274") is None
    assert status(listed, host="localhost", origin="http://app.example") == 403
    assert status(listed, host="localhost", origin="https://app.example:8443") == 403


def test_any_host_does_not_mean_any_page() -> None:
    assert status(Origins(("*",)), host="whatever") is None
    assert status(Origins(("*",))) is None
    assert status(Origins(("*",)), host="evil.example", origin="http://evil.example") == 403


def test_any_origin_can_be_allowed_in_so_many_words() -> None:
    assert status(Origins(origins=("*",)), host="localhost", origin="null") is None
