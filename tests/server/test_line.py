"""Line: what it does with a wire that takes messages slowly, later, or not at all."""

from __future__ import annotations

import msgspec
import pytest

from mcp_actors import Server
from mcp_actors.server.agenda import Agenda
from mcp_actors.server.host import Host
from mcp_actors.server.line import Line
from mcp_actors.server.outlet import Outgoing
from mcp_actors.transports.actor import Link
from mcp_actors.transports.contract import SendVerdict
from tests.client.features.ear import Ear
from tests.client.waiting import until
from tests.server.conftest import MakeTalk
from tests.server.talk import HANDSHAKE


class Slow:
    """In the place of a link's ``send`` and ``flush``: answers as told, then takes everything."""

    def __init__(self, link: Link, *verdicts: SendVerdict) -> None:
        self.verdicts = list(verdicts)
        self.sent: list[bytes] = []
        self.flushed = Ear()
        self.link = msgspec.structs.replace(link, send=self.send, flush=lambda: self.flushed(1))

    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        del token
        verdict = self.verdicts.pop(0) if self.verdicts else SendVerdict.SENT
        if verdict in (SendVerdict.SENT, SendVerdict.QUEUED):
            self.sent.append(frame)
        return verdict


@pytest.fixture
def line(server: Server, talk: MakeTalk) -> Line:
    one = talk(server, HANDSHAKE)
    one.call("ping")
    return next(kept for kept in server.host.lines if isinstance(kept, Line))


def slowed(line: Line, *verdicts: SendVerdict) -> Slow:
    assert line._link is not None
    slow = Slow(line._link, *verdicts)
    line._link = slow.link
    return slow


def bring(line: Line, *messages: Outgoing) -> None:
    """On the turn of the peer, as all messages come."""

    def send() -> None:
        for one in messages:
            line.send(one)

    line.peer.receive_all((), send)


def test_what_was_queued_is_flushed(line: Line) -> None:
    slow = slowed(line, SendVerdict.QUEUED)
    bring(line, Outgoing(b"one", 1))
    slow.flushed.wait_for(1)
    assert (slow.sent, list(line._unsent)) == ([b"one"], [])


@pytest.mark.requirement("request:busy")
@pytest.mark.parametrize("busy", [1, 3])
def test_a_busy_wire_is_tried_again_in_order_and_news_are_left_out(line: Line, busy: int) -> None:
    slow = slowed(line, *[SendVerdict.BUSY] * busy)
    bring(
        line,
        Outgoing(b"one", 1),
        Outgoing(b"news", 1, news=True),
        Outgoing(b"two", 1, final=True),
        Outgoing(b"", 2, final=True),
    )
    until(lambda: len(slow.sent) == 2)
    assert slow.sent == [b"one", b"two"]
    assert line.dropped == 1


def test_a_wire_that_is_closed_takes_everything_and_gives_nothing(line: Line) -> None:
    slow = slowed(line, SendVerdict.CLOSED)
    bring(line, Outgoing(b"one", 1))
    assert (slow.sent, list(line._unsent)) == ([], [])
    line._link = None
    bring(line, Outgoing(b"two", 1))
    assert list(line._unsent) == []


def test_news_of_the_wire_that_nobody_knows_are_ignored(line: Line) -> None:
    assert line.tell(object())
    assert line.peer.state == "ready"


def test_in_a_forked_child_nothing_is_done_and_nobody_told(server: Server) -> None:
    told: list[str] = []

    class Fake:
        def __init__(self, name: str) -> None:
            self.name = name

        def forget(self) -> None:
            told.append(self.name)

    host = Host.__new__(Host)
    host._agenda = Agenda()
    host._hands = Fake("hands")  # type: ignore[assignment]
    host._audience = {Fake("peer"): None}  # type: ignore[dict-item]
    host._agenda = Agenda()
    host.forget()
    assert told == ["hands", "peer"]
    assert host.stopping
    host._hands, host._audience = None, {}
    host.forget()
    server._forget()
    assert server._hosts.value is None
