"""The law suite finds what is wrong with a transport, and names the law."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from mcp_actors.protocol.endings import Ending, EndKind
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.testing import LAWS, LawBroken, Peer, check_transport
from mcp_actors.transports.contract import READ_BYTES, SendVerdict, Transport, WireEnded
from mcp_actors.transports.memory import MemoryTransport, MemoryWire
from tests.transports.peers import HIGH_WATER, LIMIT, MemoryPeer, memory_maker

pytestmark = pytest.mark.requirement("transport:contract")


class Reordering(MemoryWire):
    def read(self, limit: int | None) -> list[bytes]:
        return super().read(limit)[::-1]


class Splitting(MemoryWire):
    def read(self, limit: int | None) -> list[bytes]:
        return [
            part for frame in super().read(limit) for part in frame.decode("latin-1").encode().splitlines()
        ]


class Losing(MemoryWire):
    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        return SendVerdict.SENT if len(frame) > READ_BYTES else super().send(frame, token)


class Greedy(MemoryWire):
    """Gives two deliveries' worth of frames where one was asked for."""

    def read(self, limit: int | None) -> list[bytes]:
        del limit
        return super().read(None)


class Unbounded(MemoryWire):
    def send(self, frame: bytes, token: int | None) -> SendVerdict:
        verdict = super().send(frame, token)
        return SendVerdict.SENT if verdict is SendVerdict.BUSY else verdict


class Misnaming(MemoryWire):
    def wait(self) -> None:
        try:
            super().wait()
        except WireEnded as ended:
            if ended.ending.kind is EndKind.OVERSIZED:
                raise WireEnded(Ending(EndKind.EOF, "hm")) from None
            raise


class Waiting(MemoryWire):
    """Tells its end only to a reader that has a permit."""

    def wait(self) -> None:
        with contextlib.suppress(WireEnded):
            super().wait()


class Leaking(MemoryWire):
    def close(self, deadline: Deadline) -> Ending:
        _LEAKED.append(open("/dev/null"))  # noqa: SIM115 - the leak is the point
        return super().close(deadline)


_LEAKED: list[object] = []


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Reordering, "in the order"),
        (Splitting, "intact"),
        (Losing, "intact"),
        (Greedy, "one delivery"),
        (Unbounded, "never blocks"),
        (Misnaming, "above the limit"),
        (Waiting, "no permit"),
        (Leaking, "no descriptor is left"),
    ],
)
def test_a_transport_that_breaks_a_law_is_told_which(
    broken: type[MemoryWire], law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a broken transport never does need not be waited for so long.
    monkeypatch.setattr("mcp_actors.testing.bench.BOUND", 1.0)
    monkeypatch.setattr("mcp_actors.testing.laws.BOUND", 1.0)

    class Broken(MemoryTransport):
        def open(self, deadline: Deadline) -> MemoryWire:
            wire = super().open(deadline)
            return broken(wire._incoming, wire._outgoing)

    @contextlib.contextmanager
    def maker() -> Iterator[tuple[Transport, Peer]]:
        peer = MemoryPeer()
        yield Broken(peer, max_frame_bytes=LIMIT, high_water=HIGH_WATER, name="broken"), peer

    with pytest.raises(LawBroken, match=f"broken: broken law: .*{law}"):
        check_transport(maker, limit=LIMIT)
    while _LEAKED:
        leak = _LEAKED.pop()
        assert hasattr(leak, "close")
        leak.close()


def test_a_transport_that_keeps_every_law_passes() -> None:
    check_transport(memory_maker, limit=LIMIT)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_every_law_is_a_sentence(law: Callable[..., None]) -> None:
    assert law.__doc__ is not None
    assert law.__doc__.endswith(".")
