"""ForkBorder: a child that is forked inside never gets out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from mcp_actors.runtime.fork_border import ForkBorder

pytestmark = pytest.mark.requirement("runtime:fork")


def leave(code: object = None) -> None:
    sys.exit(code)  # type: ignore[arg-type]  # it takes anything


def fail() -> None:
    raise ValueError("a child's own")


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda: None, 0),
        (lambda: leave(3), 3),
        (leave, 0),
        (lambda: leave("words"), 1),
        (fail, 1),
    ],
)
def test_the_child_ends_with_a_status_of_its_own(end: Callable[[], None], status: int) -> None:
    reading, writing = os.pipe()
    with ForkBorder():
        child = os.fork()
        if child == 0:
            end()
    # Only one process gets here: a second one would write, too.
    os.write(writing, b"x")
    os.close(writing)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status
    assert os.read(reading, 10) == b"x"
    os.close(reading)


def test_nothing_but_the_end_of_the_process_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a child, whose doings nobody sees."""
    statuses: list[int] = []
    monkeypatch.setattr(os, "_exit", statuses.append)
    for error in (None, SystemExit(), SystemExit(3), SystemExit("words"), ValueError()):
        border = ForkBorder()
        border.__enter__()
        border._pid -= 1
        border.__exit__(None if error is None else type(error), error, None)
    assert statuses == [0, 0, 3, 1, 1]


def test_without_a_fork_nothing_is_changed() -> None:
    with pytest.raises(ValueError, match="own"), ForkBorder():
        fail()
    with ForkBorder():
        pass
