"""Shares: no owner's jobs have all workers, and each has its turn."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.hands import Hands, Job
from mcp_actors.runtime.shares import Shares
from tests.conftest import BOUND

pytestmark = pytest.mark.requirement("runtime:pool:bounded")


class Workers:
    """Takes jobs and runs them when the test says so."""

    def __init__(self, room: int = 100) -> None:
        self.jobs: list[Job] = []
        self._room = room

    def employ(self, job: Job) -> bool:
        if len(self.jobs) >= self._room:
            return False
        self.jobs.append(job)
        return True

    def run(self, place: int = 0) -> None:
        self.jobs.pop(place)()


def test_what_is_above_an_owners_share_waits_and_is_done_in_order() -> None:
    workers, done = Workers(), list[int]()
    shares = Shares(workers.employ, 2)
    for number in range(5):
        assert shares.submit("a", lambda number=number: done.append(number))  # type: ignore[misc]
    assert (len(workers.jobs), shares.waiting) == (2, 3)
    workers.run()
    assert done == [0, 2, 3, 4]
    workers.run()
    assert done == [0, 2, 3, 4, 1]


def test_others_do_not_wait_behind_an_owner_with_many_jobs() -> None:
    workers, done = Workers(), list[str]()
    shares = Shares(workers.employ, 1)
    for _ in range(50):
        shares.submit("a", lambda: done.append("a"))
    shares.submit("b", lambda: done.append("b"))
    workers.run(1)
    assert done == ["b"]


def test_a_share_is_free_again_after_the_last_job() -> None:
    workers = Workers()
    shares = Shares(workers.employ, 1)
    for _ in range(3):
        shares.submit("a", lambda: None)
        workers.run()
    assert (shares.waiting, shares._owners) == (0, {})


def test_a_job_that_raises_does_not_hold_up_the_next(caplog: pytest.LogCaptureFixture) -> None:
    workers, done = Workers(), list[int]()
    shares = Shares(workers.employ, 1)

    def leave() -> None:
        raise SystemExit(3)

    shares.submit("a", leave)
    shares.submit("a", lambda: done.append(1))
    workers.run()
    assert done == [1]
    assert "SystemExit" in caplog.text


def test_what_the_workers_refuse_is_refused() -> None:
    workers = Workers(room=1)
    shares = Shares(workers.employ, 2)
    assert [shares.submit("a", lambda: None) for _ in range(2)] == [True, False]
    assert not shares.submit("b", lambda: None)
    workers.run()
    assert shares.submit("b", lambda: None)


def test_no_more_than_so_many_wait() -> None:
    workers = Workers()
    shares = Shares(workers.employ, 1, max_waiting=2)
    assert [shares.submit("a", lambda: None) for _ in range(4)] == [True, True, True, False]
    assert shares.submit("b", lambda: None), "who has a share left needs not wait"


def test_long_jobs_leave_half_of_a_share_to_the_others() -> None:
    workers, done = Workers(), list[str]()
    shares = Shares(workers.employ, 4)
    for number in range(5):
        assert shares.submit("a", lambda number=number: done.append(f"long {number}"), long=True)  # type: ignore[misc]
    shares.submit("a", lambda: done.append("short"))
    assert (len(workers.jobs), shares.waiting) == (3, 3)
    workers.run(2)
    # It must not go on with a long one: there are as many as may be.
    assert done == ["short"]
    workers.run()
    assert done == ["short", "long 0", "long 2", "long 3", "long 4"]
    workers.run()
    assert (shares.waiting, shares._owners) == (0, {})


def test_long_jobs_have_their_turn_after_others_that_took_the_whole_share() -> None:
    workers, done = Workers(), list[str]()
    shares = Shares(workers.employ, 2)
    for _ in range(3):
        shares.submit("a", lambda: done.append("short"))
    for _ in range(2):
        shares.submit("a", lambda: done.append("long"), long=True)
    workers.run()
    assert done == ["short", "short", "long", "long"]
    workers.run()
    assert (len(done), shares._owners) == (5, {})


def test_under_many_threads_every_job_runs_once_and_no_share_is_exceeded() -> None:
    hands, lock, all_done = Hands(8), threading.Lock(), threading.Event()
    shares = Shares(hands.submit, 3)
    running, worst, done = dict.fromkeys("ab", 0), [0], [0]

    def job(owner: str) -> None:
        with lock:
            running[owner] += 1
            worst[0] = max(worst[0], running[owner])
        with lock:
            running[owner] -= 1
            done[0] += 1
            if done[0] == 800:
                all_done.set()

    def submit(owner: str) -> None:
        for number in range(200):
            assert shares.submit(owner, lambda: job(owner), long=number % 3 == 0)

    threads = [threading.Thread(target=submit, args=(owner,)) for owner in "abab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert all_done.wait(BOUND)
    hands.close(Deadline.after(BOUND))
    assert worst[0] <= 3
    assert shares._owners == {}
