"""What every test gets: bounded waits, Hypothesis settings, and the check that nothing is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import hypothesis
import psutil
import pykka
import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

pytest_plugins = ["tests.whole_run"]

#: Slow machines multiply every wait of the suite by this.
FACTOR: Final = float(os.environ.get("MCP_ACTORS_TEST_FACTOR", "1"))
#: The bound of all waits: whatever should happen happens within it.
BOUND: Final = 5.0 * FACTOR

# No deadline: a loaded machine is slow, not wrong. A verdict can be repeated: the same sources draw the same
# cases. HYPOTHESIS_PROFILE=explore draws new ones at each run; its blob lets a failure be repeated elsewhere.
hypothesis.settings.register_profile("repeatable", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True, derandomize=False)
_PROFILE: Final = os.environ.get("HYPOTHESIS_PROFILE", "repeatable")
hypothesis.settings.load_profile(_PROFILE)
# It also draws what stands in the modules loaded by then, and so would depend on the tests that ran before.
if _PROFILE == "repeatable" and hasattr(providers, "_get_local_constants"):
    vars(providers)["_get_local_constants"] = lambda nothing=Constants(): nothing  # noqa: B008


def pytest_configure() -> None:
    # Started in the background, or by nohup, we ignore these, and so would the programs that tests interrupt.
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture
def bound() -> float:
    """Seconds that a wait of a test may take at most."""
    return BOUND


# A directory's own conftest replaces this fixture by one of the same name.
@pytest.fixture(autouse=True)
def _nothing_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    if _shares_with_other_tests(request):
        yield
        return
    # What one test leaves behind is its own failure, and not that of all that follow.
    threads, children, actors = set(threading.enumerate()), _children(), _actors()
    yield
    left = [thread for thread in threading.enumerate() if thread not in threads]
    for thread in left:
        thread.join(BOUND)
    assert [thread.name for thread in left if thread.is_alive()] == [], "threads were left behind"
    assert _settled(lambda: sorted(_actors() - actors)) == [], "actors were left behind"
    assert _settled(lambda: sorted(_children() - children)) == [], "child processes were left behind"


def _shares_with_other_tests(request: pytest.FixtureRequest) -> bool:
    """A fixture of the module works for several tests, maybe in the background: no one test can judge it."""
    defined = request.node._fixtureinfo.name2fixturedefs.values()
    return any(fixture.scope in ("class", "module", "package") for found in defined for fixture in found)


def _settled(left: Callable[[], Sequence[object]]) -> list[object]:
    """What is left once everything had its time to go."""
    end = time.monotonic() + BOUND
    while (found := list(left())) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def _actors() -> set[str]:
    return {actor.actor_urn for actor in pykka.ActorRegistry.get_all()}


def _children() -> set[int]:
    """Our child processes, zombies included."""
    try:
        # A look at the process table costs milliseconds; the kernel knows at once whether there is any child.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    return {child.pid for child in psutil.Process().children() if "resource_tracker" not in _command(child)}


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
