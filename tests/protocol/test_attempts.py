"""How often a server is tried, and when it is parked."""

from __future__ import annotations

import pytest

from mcp_actors.protocol.attempts import Attempts
from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.outcomes import TimedOut
from mcp_actors.protocol.policy import Policy

REFUSED = Ending(EndKind.REFUSED, "refused")
IMPOSSIBLE = Ending(EndKind.IMPOSSIBLE, "no such command")


def attempts(*, ever_ready: bool = False) -> Attempts:
    return Attempts(Policy(identity=Identity({})), lambda: 0.5, ever_ready=ever_ready)


@pytest.mark.requirement("connection:park")
def test_a_server_that_was_never_ready_is_parked_after_three_failures() -> None:
    tries = attempts()
    parked = []
    for cause in (REFUSED, TimedOut(10.0), REFUSED):
        tries.failed(cause)
        parked.append(tries.parked)
    assert parked == [False, False, True]
    assert tries.failed_starts == 3


@pytest.mark.requirement("connection:park")
@pytest.mark.parametrize("kind", [EndKind.IMPOSSIBLE, EndKind.UNAUTHORIZED])
def test_a_hopeless_failure_parks_at_once(kind: EndKind) -> None:
    tries = attempts()
    tries.failed(Ending(kind, "no"))
    assert tries.parked


@pytest.mark.requirement("security:oauth")
def test_who_said_no_to_a_login_is_not_asked_again_unless_somebody_calls() -> None:
    denied = Ending(EndKind.UNAUTHORIZED, "ann said no", details={"error": "access_denied"})
    once_ready, never_ready = attempts(ever_ready=True), attempts()
    for tries in (once_ready, never_ready):
        tries.failed(denied)
        assert tries.parked
    assert (once_ready.resting, never_ready.resting) == (True, False)
    once_ready.unpark()
    once_ready.failed(Ending(EndKind.UNAUTHORIZED, "the token is over", details={"error": "invalid_grant"}))
    assert not once_ready.parked


@pytest.mark.requirement("connection:park")
@pytest.mark.parametrize("cause", [REFUSED, IMPOSSIBLE])
def test_a_server_that_was_ready_once_is_tried_for_ever(cause: Ending) -> None:
    before, now = attempts(ever_ready=True), attempts()
    now.succeeded()
    for tries in (before, now):
        for _ in range(50):
            tries.failed(cause)
        assert not tries.parked
        assert tries.failed_starts == 0


@pytest.mark.requirement("connection:backoff")
def test_delays_grow_through_short_successes_and_restart_after_a_long_one() -> None:
    tries = attempts()
    assert [tries.next_delay() for _ in range(3)] == [1.0, 2.0, 4.0]
    tries.succeeded()
    assert tries.next_delay() == 8.0
    tries.prospered()
    assert tries.next_delay() == 1.0


@pytest.mark.requirement("connection:park")
def test_unparking_starts_all_over() -> None:
    tries = attempts()
    tries.next_delay()
    tries.failed(IMPOSSIBLE)
    tries.unpark()
    assert (tries.parked, tries.failed_starts, tries.next_delay()) == (False, 0, 1.0)
