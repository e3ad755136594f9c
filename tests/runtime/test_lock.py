"""A lock that nobody who is interrupted leaves locked."""

from __future__ import annotations

import threading
from _thread import RLock

import pytest

from mcp_actors.runtime.lock import Lock
from tests.runtime.probes import BOUND


class Interrupted(Lock):  # type: ignore[misc]  # final for type checkers alone
    """Ctrl-C before it was taken, or right after."""

    taken = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self.taken:
            super().acquire(blocking, timeout)
        raise KeyboardInterrupt


def is_free(lock: Lock) -> bool:
    """Whether another thread could take it: its owner can in any case."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(RLock.acquire(lock, False)))
    thread.start()
    thread.join(BOUND)
    return found == [True]


@pytest.mark.parametrize("taken", [False, True])
def test_an_interrupt_while_it_is_taken_leaves_it_free(taken: bool) -> None:
    lock = Interrupted()
    lock.taken = taken
    with pytest.raises(KeyboardInterrupt), lock:
        raise NotImplementedError
    assert is_free(lock)


def test_an_interrupt_of_the_block_leaves_it_free() -> None:
    lock = Lock()
    held: list[bool] = []

    def hold() -> None:
        with lock:
            held.append(not is_free(lock))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hold()
    assert held == [True]
    assert is_free(lock)


def test_its_condition_waits_without_it() -> None:
    lock = Lock()
    changed = threading.Condition(lock)
    said: list[str] = []

    def say() -> None:
        with lock:
            said.append("now")
            changed.notify_all()

    with lock:
        thread = threading.Thread(target=say)
        thread.start()
        assert changed.wait_for(lambda: said, BOUND)
    thread.join(BOUND)
    assert is_free(lock)
