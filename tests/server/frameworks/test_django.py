"""Tools beside the pages of a Django project: its settings, its database, its threads."""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator

import pytest

from mcp_actors import Client
from tests.client.waiting import BOUND, in_thread
from tests.server.frameworks.conftest import Connect
from tests.server.talk import ERAS
from tests.servers.serving import Served, gunicorn, serving

pytest.importorskip("django")

pytestmark = [
    pytest.mark.real,
    pytest.mark.requirement("transport:wsgi"),
    pytest.mark.requirement("quality:integrations"),
]

APP = "tests.server.frameworks.django_site:application"
SERVERS = {
    "waitress": ["waitress", "--host=127.0.0.1", "--port={port}", "--threads=8", APP],
    "gunicorn": gunicorn(APP, threads=8),
}


@pytest.fixture(scope="module", params=SERVERS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("django")
    with serving(
        SERVERS[request.param], folder / "log", os.environ | {"DATABASE": str(folder / "db")}
    ) as one:
        yield one


def page(served: Served, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=BOUND)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_uses_the_settings_and_the_database_of_the_project(
    served: Served, connect: Connect, era: str
) -> None:
    client = connect(protocol=era)
    assert client.call_tool("currency").text == "EUR"
    client.call_tool("open_shop", {"domain": f"{era}.example", "name": era})
    assert client.call_tool("shop", {"domain": f"{era}.example"}).text == era
    assert era in page(served, "/shops")
    missing = client.call_tool("shop", {"domain": "none.example"})
    assert (missing.is_error, missing.text) == (True, "there is no shop at none.example")


def test_a_tool_that_fails_leaves_nothing_in_the_database(connect: Connect) -> None:
    client = connect()
    assert client.call_tool("broken").text == "nothing was opened"
    assert client.call_tool("shop", {"domain": "half.example"}).is_error


def test_tools_and_pages_work_at_the_same_time(served: Served, connect: Connect) -> None:
    client = connect()
    client.call_tool("open_shop", {"domain": "busy.example", "name": "busy"})

    def visit(_: Client) -> bool:
        return "busy" in page(served, "/shops")

    def call(one: Client) -> bool:
        return one.call_tool("shop", {"domain": "busy.example"}).text == "busy"

    done = [in_thread(lambda work=work: work(client)) for work in (visit, call) * 8]  # type: ignore[misc]
    assert all(one.result(4 * BOUND) for one in done)


def test_the_project_answers_for_all_other_addresses(served: Served) -> None:
    assert "Not Found" in page(served, "/nothing")
