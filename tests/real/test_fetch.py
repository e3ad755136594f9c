"""The fetch server, with a web site of one page on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mcp_actors import Client
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS

PAGES = {
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /private\n"),
    "/page": (
        "text/html",
        "<html><body><article><h1>Greetings</h1><p>A page of <b>words</b>.</p></article></body></html>",
    ),
    "/private": ("text/html", "<html><body><p>hidden</p></body></html>"),
}


class Site(BaseHTTPRequestHandler):
    """Serves the pages and logs nothing."""

    def do_GET(self) -> None:
        kind, text = PAGES.get(self.path, ("text/plain", "nothing here"))
        self.send_response(200 if self.path in PAGES else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """The base class would write to stderr."""


@pytest.fixture
def site() -> Iterator[str]:
    """The address of a web site, without a slash at the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def client(fetch_server: list[str], without_node: dict[str, str], make_stdio: MakeStdio) -> Client:
    # A proxy of the surroundings would not find the site.
    return make_stdio(fetch_server, env={**without_node, "no_proxy": "127.0.0.1"}, **PATIENCE)


def test_a_page_is_fetched_whole_raw_and_in_part(client: Client, site: str) -> None:
    text = client.call_tool("fetch", {"url": f"{site}/page"}).text
    assert "Greetings" in text
    assert "<p>" not in text
    raw = client.call_tool("fetch", {"url": f"{site}/page", "raw": True}).text
    assert "<p>A page of <b>words</b>.</p>" in raw
    part = client.call_tool("fetch", {"url": f"{site}/page", "raw": True, "max_length": 6}).text
    assert "<html>" in part
    assert "<body>" not in part
    assert [one.name for one in client.list_prompts()] == ["fetch"]
    assert "Greetings" in str(client.get_prompt("fetch", {"url": f"{site}/page"}).raw)


def test_what_must_not_be_fetched_and_what_is_not_there_are_errors_of_the_tool(
    client: Client, site: str
) -> None:
    forbidden = client.call_tool("fetch", {"url": f"{site}/private"})
    assert forbidden.is_error
    assert "robots.txt" in forbidden.text
    missing = client.call_tool("fetch", {"url": f"{site}/nothing"})
    assert missing.is_error
    assert "404" in missing.text


@pytest.mark.requirement("connection:recover")
def test_a_page_is_fetched_after_a_kill(client: Client, site: str) -> None:
    client.list_tools()
    kill_and_notice(client, "mcp_server_fetch")
    assert "Greetings" in client.call_tool("fetch", {"url": f"{site}/page"}, wait=True).text
