"""Tools beside the pages of a Flask application, under three WSGI servers."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest

from tests.client.waiting import BOUND, in_thread
from tests.server.frameworks.conftest import Connect
from tests.server.talk import ERAS
from tests.servers.serving import Served, gunicorn, serving

pytestmark = [
    pytest.mark.real,
    pytest.mark.requirement("transport:wsgi"),
    pytest.mark.requirement("quality:integrations"),
]

APP = "tests.server.frameworks.flask_site:mounted"
SERVERS = {
    "waitress": ["waitress", "--host=127.0.0.1", "--port={port}", "--threads=8", APP],
    "cheroot": ["cheroot", "--bind", "127.0.0.1:{port}", "--threads", "8", APP],
    "gunicorn": gunicorn(APP, threads=8),
}


@pytest.fixture(scope="module", params=SERVERS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(SERVERS[request.param], tmp_path_factory.mktemp("flask") / "log") as one:
        yield one


def test_the_pages_of_the_application_are_there_as_before(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=BOUND)
    try:
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"prices in EUR"
    finally:
        connection.close()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("path", ["/tools/mcp", "/view/mcp"])
def test_a_tool_uses_the_application_and_its_request(connect: Connect, path: str, era: str) -> None:
    client = connect(path, protocol=era, headers={"X-User": "ada"})
    assert client.call_tool("price", {"item": "cup"}).text == "3 EUR"
    steps: list[float] = []
    told = client.call_tool("who", on_progress=lambda one: steps.append(one.progress))
    assert told.structured_content == {"first": "ada", "later": "ada", "path": path}
    assert steps == [1]


def test_tools_of_many_requests_see_each_its_own(connect: Connect) -> None:
    clients = {name: connect("/tools/mcp", headers={"X-User": name}) for name in ("ada", "bob", "eve")}
    calls = [
        (name, in_thread(lambda one=client: one.call_tool("who").structured_content))  # type: ignore[misc]
        for _ in range(4)
        for name, client in clients.items()
    ]
    for name, call in calls:
        told = call.result(4 * BOUND)
        assert (told["first"], told["later"]) == (name, name)


def test_what_is_mounted_beside_the_application_knows_nothing_of_it(connect: Connect) -> None:
    client = connect("/bare/mcp")
    assert client.call_tool("plain").structured_content == {"result": False}
