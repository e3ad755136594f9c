"""What was seen a short while ago."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.server.authorization.recent import Recent


def test_an_entry_is_forgotten_in_time() -> None:
    recent = Recent[str](10.0, 100)
    assert recent.first("a", "one", 0.0)
    assert not recent.first("a", "two", 9.9)
    assert recent.get("a") == "one"
    assert recent.first("b", "x", 10.0)
    assert recent.get("a") is None
    assert recent.first("a", "three", 10.0)


def test_the_oldest_go_first_when_there_are_too_many() -> None:
    recent = Recent[int](10.0, 2)
    for number in range(5):
        recent.put(number, number, 0.0)
    assert [recent.get(number) for number in range(5)] == [None, None, None, 3, 4]
    assert len(recent) == 2


def test_what_is_put_replaces_what_was_there() -> None:
    recent = Recent[str](10.0, 100)
    recent.put("a", "one", 0.0)
    recent.put("a", "two", 1.0)
    assert recent.get("a") == "two"


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 20)), max_size=60), st.integers(1, 4))
def test_it_never_holds_too_many_nor_one_too_long(steps: list[tuple[int, float]], most: int) -> None:
    recent, now, seen = Recent[object](10.0, most), 0.0, dict[int, float]()
    for key, delay in steps:
        now += delay
        if recent.first(key, object(), now):
            seen[key] = now
            assert all(now - seen[number] < 10.0 for number in seen if recent.get(number) is not None)
        assert len(recent) <= most
        assert recent.get(key) is not None


def test_what_is_kept_for_no_time_is_gone_at_once() -> None:
    recent = Recent[str](0.0, 100)
    recent.put("a", "one", 0.0)
    assert recent.get("a") is None


def test_of_many_threads_one_is_the_first() -> None:
    recent, winners, barrier = Recent[object](1000.0, 10_000), list[int](), threading.Barrier(8)

    def run() -> None:
        barrier.wait(5.0)
        winners.extend(key for key in range(500) if recent.first(key, object(), 0.0))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5.0)
    assert sorted(winners) == list(range(500))
    assert len(recent) == 500


def test_threads_that_forget_at_once_do_not_trip() -> None:
    recent, barrier, failures = Recent[object](1.0, 4), threading.Barrier(4), list[BaseException]()

    def run(offset: int) -> None:
        barrier.wait(5.0)
        try:
            for step in range(2000):
                recent.put((offset, step), object(), step * 0.5)
        except BaseException as error:  # noqa: BLE001 - the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5.0)
    assert failures == []
    assert len(recent) <= 8
