"""The store in memory: bounded, paged, and each change made once."""

from __future__ import annotations

import sys
import threading

import pytest
from msgspec import structs

from mcp_actors.server.tasks import life
from mcp_actors.server.tasks.life import TaskRecord
from mcp_actors.server.tasks.memory_store import MemoryTaskStore
from mcp_actors.server.tasks.store import RESERVE, BadCursor, TooManyTasks
from tests.server.tasks.test_life import record

BIG = b"x" * (4 * RESERVE)


def task(name: str, owner: str | None = "alice", expires_at: float = 60.0) -> TaskRecord:
    return structs.replace(record(), id=name, owner=owner, expires_at=expires_at)


def ended(one: TaskRecord, result: bytes = b"{}") -> TaskRecord:
    return life.completed(one, result, is_error=False, at="9")


def test_what_is_created_is_found_until_it_is_deleted() -> None:
    store = MemoryTaskStore()
    store.create(task("a"))
    assert store.get("a") == task("a")
    assert store.delete("a") == task("a")
    assert (store.get("a"), store.delete("a"), store.update("a", ended)) == (None, None, None)


def test_an_update_tells_what_was_and_what_is() -> None:
    store = MemoryTaskStore()
    store.create(task("a"))
    first, second = store.update("a", ended), store.update("a", ended)
    assert first is not None
    assert second is not None
    assert (first.before, first.after, first.ends) == (task("a"), store.get("a"), True)
    assert second.before is second.after
    assert not second.ends


def test_a_change_that_raises_changes_nothing() -> None:
    store = MemoryTaskStore()
    store.create(task("a"))
    with pytest.raises(ZeroDivisionError):
        store.update("a", lambda _: 1 / 0)  # type: ignore[arg-type, return-value]  # it never returns
    assert store.get("a") == task("a")
    assert store.update("a", ended) is not None  # the lock is free


def test_the_tasks_that_ended_first_make_room_for_new_ones() -> None:
    store = MemoryTaskStore(max_tasks=3)
    for name in "abc":
        store.create(task(name))
    store.update("c", ended)
    store.update("a", ended)
    store.create(task("d"))
    assert [name for name in "abcd" if store.get(name)] == ["a", "b", "d"]
    store.create(task("e"))
    assert [name for name in "abcde" if store.get(name)] == ["b", "d", "e"]


def test_a_store_full_of_running_tasks_takes_no_more() -> None:
    store = MemoryTaskStore(max_tasks=2)
    store.create(task("a"))
    store.create(task("b"))
    with pytest.raises(TooManyTasks, match="at most 2 tasks"):
        store.create(task("c"))
    store.delete("a")
    store.create(task("c"))


def test_bytes_are_bounded_too_and_nothing_is_given_up_in_vain() -> None:
    store = MemoryTaskStore(max_bytes=4 * RESERVE)
    store.create(task("a"))
    store.update("a", ended)
    store.create(task("b"))
    store.create(task("c"))
    with pytest.raises(TooManyTasks, match=f"{4 * RESERVE} bytes"):
        store.update("b", lambda one: ended(one, BIG))
    assert store.get("a") is not None
    assert store.get("b") == task("b")
    store.delete("c")
    store.update("b", lambda one: ended(one, BIG))
    assert store.get("a") is None  # it made room
    store.create(task("d"))
    with pytest.raises(TooManyTasks):
        store.update("d", lambda one: ended(one, BIG + b"x" * RESERVE * 9))


def test_a_small_end_always_fits() -> None:
    store = MemoryTaskStore(max_bytes=RESERVE)
    store.create(task("a"))
    change = store.update("a", lambda one: ended(one, b"x" * RESERVE))
    assert change is not None
    assert change.ends


@pytest.mark.requirement("security:limits")
def test_one_owner_cannot_fill_the_store() -> None:
    store = MemoryTaskStore(max_tasks=4, max_owner_tasks=2)
    store.create(task("a"))
    store.create(task("b"))
    with pytest.raises(TooManyTasks, match="2 tasks of .* of this owner .*one owner has at most 2 tasks"):
        store.create(task("c"))
    store.create(task("d", owner="bob"))
    store.create(task("e", owner="bob"))
    assert store.get("c") is None


@pytest.mark.requirement("security:limits")
def test_an_owner_at_its_bound_gives_up_its_own_tasks_and_nobody_elses() -> None:
    store = MemoryTaskStore(max_tasks=4, max_owner_tasks=2)
    store.create(task("bobs", owner="bob"))
    store.update("bobs", ended)
    store.create(task("a"))
    store.create(task("b"))
    store.update("b", ended)
    for name in "cdefg":
        store.create(task(name))
        store.update(name, ended)
    assert [name for name in ["a", *"bcdefg", "bobs"] if store.get(name)] == ["a", "g", "bobs"]


@pytest.mark.requirement("security:limits")
def test_the_bytes_of_an_owner_are_bounded_too() -> None:
    store = MemoryTaskStore(max_owner_bytes=2 * RESERVE)
    store.create(task("a"))
    with pytest.raises(TooManyTasks, match="of this owner"):
        store.update("a", lambda one: ended(one, BIG))
    store.create(task("b", owner="bob"))
    store.create(task("c", owner=None))
    store.update("c", lambda one: ended(one, BIG))
    assert store.get("a") == task("a")
    change = store.update("a", lambda one: ended(one, b"x" * RESERVE))
    assert change is not None, "a small end always fits"


def test_nothing_is_given_up_for_a_task_that_finds_no_room_in_the_end() -> None:
    store = MemoryTaskStore(max_tasks=2, max_bytes=2 * RESERVE, max_owner_tasks=1)
    store.create(task("old"))
    store.update("old", ended)
    store.create(task("b", owner="bob"))
    big = structs.replace(task("big"), input_requests={"k": BIG})
    with pytest.raises(TooManyTasks):
        store.create(big)
    assert store.get("old") is not None


def test_tasks_without_an_owner_are_bounded_by_the_store_alone() -> None:
    store = MemoryTaskStore(max_tasks=3, max_owner_tasks=1)
    for name in "abc":
        store.create(task(name, owner=None))
    with pytest.raises(TooManyTasks, match="at most 3 tasks"):
        store.create(task("d", owner=None))


def test_what_is_forgotten_no_longer_counts() -> None:
    store = MemoryTaskStore(max_bytes=4 * RESERVE)
    for _ in range(20):
        store.create(task("a"))
        store.update("a", lambda one: ended(one, BIG))
        store.delete("a")
    store.create(task("a", expires_at=1.0))
    store.expire(1.0)
    assert (store._taken.tasks, store._taken.size, store._taken_by) == (0, 0, {})
    for name in "abcd":
        store.create(task(name))


def test_a_list_shows_the_tasks_of_one_owner_page_by_page_while_others_come_and_go() -> None:
    store = MemoryTaskStore(page_size=2)
    for number in range(5):
        store.create(task(f"a{number}"))
        store.create(task(f"b{number}", owner="bob"))
    first = store.list("alice")
    assert [one.id for one in first.records] == ["a0", "a1"]
    store.delete("a1")
    store.create(task("a5"))
    second = store.list("alice", first.cursor)
    third = store.list("alice", second.cursor)
    assert [one.id for one in second.records] == ["a2", "a3"]
    assert ([one.id for one in third.records], third.cursor) == (["a4", "a5"], None)
    assert [one.owner for one in store.list("bob").records] == ["bob", "bob"]
    assert store.list("carol").records == []


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.0", "9" * 40, "١"])
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(BadCursor):
        MemoryTaskStore().list("alice", cursor)


def test_what_has_expired_is_told_once_and_gone() -> None:
    store = MemoryTaskStore()
    assert store.next_expiry() is None
    store.create(task("a", expires_at=20.0))
    store.create(task("b", expires_at=10.0))
    assert store.next_expiry() == 10.0
    assert [one.id for one in store.expire(10.0)] == ["b"]
    assert store.expire(10.0) == []
    assert (store.get("b"), store.next_expiry()) == (None, 20.0)


def test_no_change_of_many_threads_is_lost(bound: float) -> None:
    store = MemoryTaskStore()
    store.create(task("a"))

    def change() -> None:
        for _ in range(300):
            store.update("a", lambda one: life.described(one, "busy", at="2"))

    threads = [threading.Thread(target=change) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(bound)
    finally:
        sys.setswitchinterval(interval)
    found = store.get("a")
    assert found is not None
    assert found.revision == 1200
