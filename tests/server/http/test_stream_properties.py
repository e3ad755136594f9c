"""However often a connection breaks, its client gets every message of its stream once and in order."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.server.http.event_store import MemoryEventStore
from mcp_actors.server.http.inbox import Closed, Event, Inbox
from mcp_actors.server.http.streams import Connection, Streams
from mcp_actors.server.outlet import Outgoing
from tests.conftest import BOUND
from tests.server.http.driver import Elsewhere

pytestmark = pytest.mark.requirement("transport:http")


def streams_of(max_queued: int = 1000) -> Streams:
    return Streams("s", MemoryEventStore(10_000, 10**7), lambda: Inbox(max_queued, 10**7))


class Client:
    """Reads one stream over as many connections as it takes."""

    def __init__(self, streams: Streams, connection: Connection) -> None:
        self._streams = streams
        self._connection = connection
        self.last = f"{connection.stream.key}-0"
        self.seen: list[bytes] = []
        self.done = False

    def read(self, most: int, seconds: float = 0.0) -> bool:
        """Read up to so many items; False when nothing is there, or the connection is over."""
        for _ in range(most):
            item = self._connection.inbox.take(seconds)
            if item is None or isinstance(item, Closed):
                return False
            self._take(item)
        return True

    def _take(self, event: Event) -> None:
        assert event.id is not None
        self.seen.append(event.frame)
        self.last = event.id
        self.done = event.last

    def hang_up(self) -> None:
        self._streams.leave(self._connection)

    def resume(self) -> None:
        self._connection = self._streams.resume(self.last, primes=True)

    def listen_again(self) -> None:
        self.hang_up()
        self._connection = self._streams.listen(primes=True)


STEPS = st.lists(
    st.sampled_from(["tell", "tell", "read one", "read", "break", "resume", "close"]), max_size=40
)


@given(STEPS, st.integers(1, 5))
def test_the_stream_of_a_call_loses_and_repeats_nothing(steps: list[str], max_queued: int) -> None:
    streams = streams_of(max_queued)
    client = Client(streams, streams.open([1], primes=True))
    told = [b"first"]
    streams.send(Outgoing(b"first", 1))
    for number, step in enumerate(steps):
        match step:
            case "tell":
                told.append(b"%d" % number)
                streams.send(Outgoing(told[-1], 1))
            case "read one":
                client.read(1)
            case "read":
                client.read(100)
            case "break":
                client.hang_up()
            case "resume":
                client.resume()
            case _:
                streams.close_connection(1)
        assert client.seen == told[: len(client.seen)]
    streams.send(Outgoing(b"answer", 1, final=True))
    client.resume()
    client.read(1000)
    assert client.seen == [*told, b"answer"]
    assert client.done


@given(st.lists(st.sampled_from(["tell", "tell", "read one", "read", "again", "resume"]), max_size=40))
def test_the_stream_of_the_get_loses_and_repeats_nothing(steps: list[str]) -> None:
    streams = streams_of()
    client = Client(streams, streams.listen(primes=True))
    told: list[bytes] = []
    for number, step in enumerate(steps):
        match step:
            case "tell":
                told.append(b"%d" % number)
                streams.send(Outgoing(told[-1], None))
            case "read one":
                client.read(1)
            case "read":
                client.read(100)
            case "again":
                client.listen_again()
            case _:
                client.resume()
        assert client.seen == told[: len(client.seen)]
    client.read(1000)
    assert client.seen == told


@pytest.fixture
def hectic() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.stress
@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_or_repeated_while_messages_come_and_connections_break(seed: int) -> None:
    streams = streams_of()
    chance = random.Random(seed)
    client = Client(streams, streams.open([1], primes=True))
    told = [b"%d" % number for number in range(300)]

    def tell() -> None:
        for frame in told:
            streams.send(Outgoing(frame, 1))
        streams.send(Outgoing(b"answer", 1, final=True))

    telling = Elsewhere(tell)
    client.read(1, BOUND)
    while not client.done:
        # Back as fast as can be: the moments between keeping a message and handing it out are short.
        if chance.random() < 0.2:
            client.hang_up()
        client.resume()
        client.read(chance.randrange(1, 3), BOUND)
    telling.result()
    assert client.seen == [*told, b"answer"]
