"""The runner is strict: what the suite lets pass without having looked is not passed here."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conformance.runner import Verdict, judge, table


def check(status: str, id_: str = "one", **more: Any) -> dict[str, Any]:
    return {"id": id_, "status": status, "description": "it is checked", **more}


def test_a_scenario_with_a_success_and_no_failure_is_passed() -> None:
    assert judge([check("SUCCESS"), check("INFO"), check("SKIPPED")], 0) == ""


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_check_that_failed_or_warned_fails_its_scenario_and_says_why(status: str) -> None:
    assert judge([check("SUCCESS"), check(status, "two")], 1) == "two: it is checked"
    assert judge([check("SUCCESS"), check(status, "two", errorMessage="no header")], 1) == "two: no header"


@pytest.mark.parametrize(
    "checks", [[], [check("SKIPPED")], [check("INFO")], [check("SUCCESS", "wire-schema-valid")]]
)
def test_a_scenario_in_which_nothing_was_checked_is_not_passed(checks: list[dict[str, Any]]) -> None:
    assert judge(checks, 0) == "nothing was checked"


def test_a_client_that_ended_with_an_error_did_not_pass() -> None:
    assert judge([check("SUCCESS")], 1) == "no check failed, but the client did not end well"


def test_a_scenario_without_an_end_is_not_passed() -> None:
    assert judge(None, 1) == "the scenario did not come to an end"
    assert judge([check("SUCCESS")], None) == "the suite did not come to an end"


def test_the_table_counts_what_was_passed_and_says_what_was_not() -> None:
    verdicts = [
        Verdict("tools_call", "", Counter(SUCCESS=2), 0.61),
        Verdict("auth/dpop", "two: no proof", Counter(SUCCESS=1, FAILURE=3), 1.25),
    ]
    assert table(verdicts).splitlines() == [
        "result  scenario     ok fail warn skip    secs",
        "PASS    tools_call    2    0    0    0     0.6",
        "FAIL    auth/dpop     1    3    0    0     1.2",
        "        two: no proof",
        "conformance: client 1/2 scenarios",
    ]


def test_the_table_of_a_server_has_no_times() -> None:
    lines = table([Verdict("ping", "", Counter(SUCCESS=2))], "server").splitlines()
    assert lines[1:] == [
        "PASS    ping    2    0    0    0       -",
        "conformance: server 1/1 scenarios",
    ]
