"""What clients tell: heard in order, within bounds, and what tells the state of something is not lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors import Context, Server
from mcp_actors.protocol.serving.unheard import Told, Unheard
from mcp_actors.server.faults import RequestCancelled
from mcp_actors.server.hearing import Hearing
from tests.client.features.ear import Ear
from tests.client.waiting import BOUND, opened_at_the_end, until
from tests.server.conftest import MakeServer, MakeTalk
from tests.server.talk import HANDSHAKE

pytestmark = pytest.mark.requirement("flow:slow-handler")

ROOTS = "notifications/roots/list_changed"
CANCELLED = "notifications/cancelled"


def note(number: int = 0, size: int = 0) -> Told:
    return Told("note", {"n": number, "text": "x" * size})


def cancelled(id_: Any) -> Told:
    return Told(CANCELLED, {"requestId": id_})


def everything(unheard: Unheard) -> list[Told]:
    return list(iter(unheard.pop, None))


# What waits.


def test_what_waits_comes_in_order() -> None:
    unheard = Unheard()
    unheard.push([note(1), cancelled(1), note(2)])
    assert everything(unheard) == [note(1), cancelled(1), note(2)]
    assert (len(unheard), unheard.bytes) == (0, 0)


def test_what_tells_a_state_takes_the_place_of_what_told_it_before() -> None:
    unheard = Unheard()
    roots = Told(ROOTS, {})
    watched, unwatched = (Told(f"resources/{word}subscribe", {"uri": "a:/"}) for word in ("", "un"))
    unheard.push([roots, watched, cancelled(1), cancelled("1"), roots, unwatched, cancelled(1), roots])
    assert everything(unheard) == [cancelled("1"), unwatched, cancelled(1), roots]
    assert (unheard.merged, unheard.dropped) == (4, 0)


def test_what_names_nothing_stands_for_itself() -> None:
    unheard = Unheard()
    odd = [Told(CANCELLED, {}), Told(CANCELLED, {}), cancelled([1]), cancelled([1])]
    unheard.push(odd)
    assert everything(unheard) == odd


def test_what_tells_of_no_state_goes_first_when_there_is_no_room() -> None:
    unheard = Unheard(most=3)
    unheard.push([cancelled(1), note(1), cancelled(2), note(2), note(3)])
    assert everything(unheard) == [cancelled(1), cancelled(2), note(3)]
    unheard.push([cancelled(number) for number in range(5)])
    assert everything(unheard) == [cancelled(2), cancelled(3), cancelled(4)]
    assert unheard.dropped == 4


def test_one_alone_may_be_of_any_size_and_depth() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    unheard = Unheard(most_bytes=1000)
    unheard.push([note(1), note(2, size=5000)])
    assert everything(unheard) == [note(2, size=5000)]
    unheard.push([note(1), Told("note", {"deep": deep})])
    assert len(unheard) == 1


@given(
    st.lists(
        st.one_of(
            st.builds(note, st.integers(0, 9), st.integers(0, 400)),
            st.builds(cancelled, st.integers(0, 5)),
            st.just(Told(ROOTS, {})),
            st.none(),
        ),
        max_size=60,
    )
)
def test_bounds_hold_and_every_state_is_heard_while_there_is_room_for_states(
    items: list[Told | None],
) -> None:
    """None takes one out. Seven states fit, so none of them may ever be missing."""
    unheard, taken, states, notes = Unheard(10, 8000), list[Told](), dict[Any, Told](), 0
    for item in items:
        if item is None:
            found = unheard.pop()
            taken += [] if found is None else [found]
            if found is not None:
                states.pop((found.method, found.params.get("requestId")), None)
            continue
        unheard.push([item])
        notes += item.method == "note"
        if item.method != "note":
            states[item.method, item.params.get("requestId")] = item
        assert len(unheard) <= 10
        assert unheard.bytes <= 8000
    rest = everything(unheard)
    assert {repr(one) for one in rest if one.method != "note"} == {repr(one) for one in states.values()}
    assert sum(one.method == "note" for one in taken + rest) + unheard.dropped == notes
    assert unheard.bytes == 0


# Who hears.


@pytest.fixture
def busy(make_server: MakeServer) -> Iterator[tuple[Server, ExitStack]]:
    """A server whose only worker is held until the stack is closed, and whose queue is full."""
    server, gate, begun = make_server(threads=1), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        gate.wait()

    with opened_at_the_end(gate), ExitStack() as stack:
        stack.callback(gate.set)
        server.start()
        server.host.employ([hold])
        assert begun.wait(BOUND)
        while server.host.employ([lambda: None]):
            pass
        yield server, stack


def test_what_finds_no_worker_is_heard_when_there_is_one(
    busy: tuple[Server, ExitStack], talk: MakeTalk
) -> None:
    server, stack = busy
    heard, roots = Ear(), Ear()
    server.on_notification("x")(heard)
    server.on_notification(ROOTS)(roots)
    client = talk(server, HANDSHAKE)
    for number in range(5):
        client.tell("x", n=number)
        client.tell(ROOTS)
    # Answered in turn: whatever came before was taken in.
    assert client.call("ping")["result"] == {}
    stack.close()
    assert heard.wait_for(5) == [{"n": number} for number in range(5)]
    assert roots.wait_for(1) == [{}]


def test_a_request_is_cancelled_and_that_is_heard_whatever_else_is_told(
    make_server: MakeServer, talk: MakeTalk
) -> None:
    server, gate, begun, stopped = make_server(threads=2), *(threading.Event() for _ in range(3))
    heard = Ear()

    @server.tool()
    def work(context: Context) -> None:
        begun.set()
        try:
            context.sleep(BOUND)
        except RequestCancelled:
            stopped.set()

    server.on_notification("x")(lambda _: gate.wait())
    server.on_notification(CANCELLED)(heard)
    with opened_at_the_end(gate):
        client = talk(server, HANDSHAKE)
        id_ = client.ask("tools/call", name="work", arguments={})
        assert begun.wait(BOUND)
        for number in range(500):
            client.tell("x", n=number)
        client.tell(CANCELLED, requestId=id_)
        for number in range(1500):
            client.tell("x", n=number)
        assert stopped.wait(BOUND)
        assert client.call("ping")["result"] == {}
    assert heard.wait_for(1) == [{"requestId": id_}]


def test_drops_are_counted_and_warned_of_once(
    busy: tuple[Server, ExitStack], caplog: pytest.LogCaptureFixture
) -> None:
    server, _ = busy
    hearing = Hearing({"x": [lambda _: None]})
    peer: Any = SimpleNamespace(host=server.host, client="one")
    for number in range(1500):
        hearing.hear(peer, "x", {"n": number})
    assert hearing.dropped == 500
    assert caplog.text.count("a client tells more than is listened to") == 1


def test_a_listener_that_fails_harms_no_other(
    make_server: MakeServer, talk: MakeTalk, caplog: pytest.LogCaptureFixture
) -> None:
    server, heard = make_server(), Ear()

    def leave(params: Any) -> None:
        raise SystemExit(params)

    server.on_notification("x")(leave)
    server.on_notification("x")(heard)
    client = talk(server, HANDSHAKE)
    client.tell("x", n=1)
    client.tell("x", n=2)
    assert heard.wait_for(2) == [{"n": 1}, {"n": 2}]
    assert caplog.text.count("a listener to x failed") == 2


def test_one_client_that_tells_much_leaves_workers_for_others(make_server: MakeServer) -> None:
    server, gate, heard = make_server(threads=2), threading.Event(), Ear()

    def listen(params: Any) -> None:
        if params["who"] == "talker":
            gate.wait()
        else:
            heard(params)

    server.on_notification("x")(listen)
    with opened_at_the_end(gate):
        host = server.host
        for who in ("talker", "other"):
            peer: Any = SimpleNamespace(host=host, client=who)
            for _ in range(50):
                host.heard(peer, "x", {"who": who})
        assert len(heard.wait_for(50)) == 50


def test_nothing_is_kept_of_a_client_that_was_heard(make_server: MakeServer) -> None:
    server, heard = make_server(), Ear()
    hearing = Hearing({"x": [heard]})
    for number in range(20):
        peer: Any = SimpleNamespace(host=server.host, client=f"client {number}")
        hearing.hear(peer, "x", {})
        hearing.hear(peer, "y", {})
    heard.wait_for(20)
    until(lambda: not hearing._lanes)
