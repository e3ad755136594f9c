"""The client passes every scenario of the official suite, at both eras and with all extensions."""

from __future__ import annotations

import pytest

from tests.conformance import suite as suite_module
from tests.conformance.runner import CLIENT, Verdict, run_all, run_one, table
from tests.conformance.suite import Suite

# Some forty programs, as many at once as there are cores.
pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


def all_passed(verdicts: list[Verdict]) -> None:
    assert [one.scenario for one in verdicts if not one.passed] == [], f"\n{table(verdicts)}"


@pytest.mark.requirement("quality:conformance")
@pytest.mark.parametrize(
    ("revision", "scenarios"),
    [(None, 48), ("2025-11-25", 19), ("2026-07-28", 33)],
    ids=["bare", "2025-11-25", "2026-07-28"],
)
def test_every_scenario_for_clients_is_passed(suite: Suite, revision: str | None, scenarios: int) -> None:
    names = suite.scenarios(revision)
    # A suite that lost scenarios would be passed too easily.
    assert len(names) == scenarios
    all_passed(run_all(suite, names, revision))


def test_a_client_that_is_told_no_revision_finds_out_which_to_speak(suite: Suite) -> None:
    names = [name for name in suite.scenarios(None) if not name.startswith("auth/")]
    all_passed(run_all(suite, names, command=f"{CLIENT} auto"))


@pytest.mark.parametrize("scenario", ["initialize", "http-standard-headers", "sep-2640-client-no-prefetch"])
def test_a_client_that_does_nothing_passes_nowhere(suite: Suite, scenario: str) -> None:
    # The suite itself finds no fault with it in these.
    assert run_one(suite, scenario, None, "true").why == "nothing was checked"


def test_a_client_that_does_all_and_then_fails_did_not_pass(suite: Suite) -> None:
    verdict = run_one(suite, "tools_call", None, f"f() {{ ({CLIENT} $1); exit 3; }}; f")
    assert verdict.counts["FAILURE"] == 0
    assert verdict.why.startswith("no check failed, but the client did not end well")


def test_a_client_that_cannot_be_ended_did_not_pass(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_module, "PATIENCE", 0.5)
    monkeypatch.setattr(suite_module, "MARGIN", 1.0)
    # The suite kills the shell alone, and waits for whoever else has its pipes.
    verdict = run_one(suite, "tools_call", None, "sleep 60 & wait #")
    assert verdict.why.startswith("the suite did not come to an end")
