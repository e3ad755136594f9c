"""The server passes every scenario of the official suite, under run_http and under another WSGI server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.runner import UNCHECKED, Verdict, environment, run_server, table
from tests.conformance.suite import Suite
from tests.servers.serving import Served, free_port, gunicorn, serving

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

#: What each revision has, so that a suite that lost scenarios is not passed too easily.
SCENARIOS = {None: 65, "2025-11-25": 33, "2026-07-28": 40}
SERVERS = {
    "run_http": ["tests.conformance.server", "--port", "{port}"],
    "gunicorn": gunicorn("tests.conformance.server:app()"),
}


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server under test."""
    log = tmp_path_factory.mktemp("conformance") / "log"
    with serving(SERVERS[request.param], log, environment()) as served:
        yield served


def unpassed(verdicts: list[Verdict]) -> list[Verdict]:
    return [one for one in verdicts if not one.passed and one.scenario not in UNCHECKED]


@pytest.mark.requirement("quality:conformance")
@pytest.mark.requirement("transport:wsgi")
@pytest.mark.parametrize("revision", SCENARIOS, ids=str)
def test_every_scenario_for_servers_is_passed(suite: Suite, server: Served, revision: str | None) -> None:
    names = suite.scenarios(revision, "server")
    assert len(names) == SCENARIOS[revision]
    verdicts = run_server(suite, names, server.url(), revision)
    assert unpassed(verdicts) == [], f"\n{table(verdicts, 'server')}"
    # If the suite begins to look at them, they count.
    idle = [one for one in verdicts if one.scenario in UNCHECKED]
    assert all(one.why == "nothing was checked" and not one.counts["FAILURE"] for one in idle)


def test_a_server_that_answers_nothing_but_errors_passes_only_where_errors_are_wanted(
    suite: Suite, server: Served
) -> None:
    names = suite.scenarios("2026-07-28", "server")
    verdicts = run_server(suite, names, server.url("/nowhere"), "2026-07-28")
    assert {one.scenario for one in verdicts if one.passed} == {
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
    }


def test_a_server_that_is_not_there_passes_nowhere(suite: Suite) -> None:
    names = suite.scenarios("2025-11-25", "server")
    verdicts = run_server(suite, names, f"http://127.0.0.1:{free_port()}/mcp", "2025-11-25")
    assert [one.scenario for one in verdicts if one.passed] == []
