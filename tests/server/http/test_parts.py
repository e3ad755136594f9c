"""The small parts: inboxes, watches, presence, stores."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.server.http.event_body import EventBody
from mcp_actors.server.http.event_store import MemoryEventStore, StoredEvent
from mcp_actors.server.http.inbox import ClientGone, Closed, Event, Inbox, Item, Watch
from mcp_actors.server.http.presence import presence_in
from tests.server.http.driver import Elsewhere

pytestmark = pytest.mark.requirement("transport:wsgi")


# Inboxes.


def test_an_inbox_gives_in_order_what_it_took() -> None:
    inbox = Inbox(10, 1000)
    items: list[Item] = [Event(b"a"), Closed(), Event(b"b", True)]
    assert all(inbox.put(item) for item in items)
    assert [inbox.take(0) for _ in range(4)] == [*items, None]


def test_an_inbox_takes_no_more_than_its_bounds_unless_it_must() -> None:
    inbox = Inbox(2, 1000)
    assert [inbox.put(Event(b"x")) for _ in range(3)] == [True, True, False]
    assert inbox.put(Event(b"x"), force=True)
    inbox = Inbox(10, 10)
    assert inbox.put(Event(b"x" * 100)), "one message alone may be of any size"
    assert not inbox.put(Event(b"x"))
    inbox.take(0)
    assert inbox.put(Event(b"x" * 10))
    assert not inbox.put(Event(b"x"))


def test_a_taker_is_woken_by_what_comes() -> None:
    inbox = Inbox(10, 1000)
    taken = Elsewhere(lambda: inbox.take(60))
    inbox.put(Closed(5))
    assert taken.result() == Closed(5)


def test_a_watch_sees_that_the_client_is_gone_but_gives_first_what_is_there() -> None:
    inbox = Inbox(10, 1000)
    watch = Watch(inbox, lambda: True, 0.001)
    inbox.put(Closed())
    assert watch.next(watch.clock() + 60) == Closed()
    with pytest.raises(ClientGone):
        watch.next(watch.clock() + 60)


def test_a_watch_without_a_way_to_look_waits_until_its_time() -> None:
    watch = Watch(Inbox(10, 1000), None, 60)
    assert watch.next(watch.clock() + 0.001) is None
    assert watch.next(watch.clock() - 1) is None


def test_a_body_puts_what_is_there_into_one_piece_of_bounded_size() -> None:
    inbox = Inbox(1000, 10**7)
    left: list[bool] = []
    for number in range(4):
        inbox.put(Event(b"x" * 40_000, number == 3))
    body = EventBody(Watch(inbox, None, 1), lambda: left.append(True), opening=b"o")
    assert [len(piece) // 40_000 for piece in body] == [0, 2, 2]
    body.close()
    body.close()
    assert left == [True]


# Presence.


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize("key", ["gunicorn.socket", "werkzeug.socket"])
def test_a_client_is_there_until_it_closes_its_end(
    line: tuple[socket.socket, socket.socket], key: str
) -> None:
    ours, theirs = line
    gone = presence_in({key: ours})
    assert gone is not None
    assert not gone()
    theirs.sendall(b"the next request")
    assert not gone()
    assert ours.recv(100) == b"the next request"
    theirs.close()
    assert gone()


def test_a_client_that_sent_more_before_it_left_is_gone_too(
    line: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = line
    gone = presence_in({"gunicorn.socket": ours})
    assert gone is not None
    theirs.sendall(b"x")
    theirs.shutdown(socket.SHUT_WR)
    # Where the system cannot tell (no POLLRDHUP), this is seen once the rest is read.
    assert gone() or ours.recv(1) == b"x"
    assert gone()


def test_a_socket_that_was_closed_here_has_nobody_at_its_end(
    line: tuple[socket.socket, socket.socket],
) -> None:
    ours, _ = line
    gone = presence_in({"gunicorn.socket": ours})
    assert gone is not None
    ours.close()
    assert gone()


def test_a_socket_with_tls_is_looked_at_below_it(line: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = line
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with context.wrap_socket(ours, do_handshake_on_connect=False) as wrapped:
        gone = presence_in({"gunicorn.socket": wrapped})
        assert gone is not None
        assert not gone()
        theirs.sendall(b"x")
        assert not gone()
        theirs.close()
        assert gone()


def test_a_look_that_comes_too_late_to_see_anything_sees_nobody_leave(
    line: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = line
    theirs.sendall(b"x")

    class Emptied(socket.socket):
        """Somebody else reads between the two looks."""

        def recv(self, *given: Any) -> bytes:
            raise BlockingIOError(given)

    monkeypatch.setattr("mcp_actors.server.http.presence.socket.socket", Emptied)
    with Emptied(fileno=ours.detach()) as emptied:
        gone = presence_in({"gunicorn.socket": emptied})
        assert gone is not None
        assert not gone()


def test_some_servers_tell_and_some_give_no_way_to_see() -> None:
    assert presence_in({}) is None
    assert presence_in({"gunicorn.socket": object()}) is None
    told = threading.Event().is_set
    assert presence_in({"waitress.client_disconnected": told}) == told


# Stores.


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 12)), max_size=40),
    st.integers(1, 6),
    st.integers(1, 40),
)
def test_a_store_keeps_the_newest_events_within_both_bounds(
    written: list[tuple[str, int]], most: int, most_bytes: int
) -> None:
    store = MemoryEventStore(most, most_bytes)
    model: list[tuple[str, StoredEvent]] = []
    counts = {"a": 0, "b": 0}
    for stream, size in written:
        counts[stream] += 1
        event = StoredEvent(counts[stream], b"x" * size)
        store.append("s", stream, event)
        store.append("other", stream, event)
        model.append((stream, event))
        while len(model) > most or sum(len(one.frame) for _, one in model) > most_bytes:
            model.pop(0)
        for key in "ab":
            kept = [one for name, one in model if name == key]
            assert store.after("s", key, 0) == kept
            assert store.after("s", key, counts[key] - 1) == [
                one for one in kept if one.number == counts[key]
            ]
    store.forget("s")
    store.forget("s")
    assert store.after("s", "a", 0) == []


@pytest.mark.requirement("security:limits")
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 900)), max_size=40), st.integers(600, 6000))
def test_all_sessions_together_keep_the_newest_events_within_one_bound(
    written: list[tuple[str, int]], most: int
) -> None:
    """Whatever is left is the newest of all, and what it costs is never above the bound."""
    store = MemoryEventStore(max_total_bytes=most)
    model: list[tuple[str, StoredEvent]] = []
    for number, (session, size) in enumerate(written, 1):
        event = StoredEvent(number, b"x" * size)
        store.append(session, "s", event)
        model.append((session, event))
        kept = [(one, each) for one, each in model if each in store.after(one, "s", 0)]
        assert kept == model[len(model) - len(kept) :]
        assert sum(len(each.frame) for _, each in kept) <= store.size <= most
        assert len(kept) == len(model) or store.size + len(model[-len(kept) - 1][1].frame) + 512 > most
        model = kept
    for session in "abc":
        store.forget(session)
    assert (store.size, store._order, store._kept) == (0, {}, {})
