"""Places are filled in any order and emptied in theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.arrivals import Arrivals
from mcp_actors.protocol.jsonrpc import Malformed, Message

pytestmark = pytest.mark.requirement("flow:decode-offload")


def message(n: int) -> Message:
    return Malformed(str(n))


def drain(arrivals: Arrivals) -> list[Message]:
    out = []
    while (item := arrivals.pop()) is not None:
        out.append(item)
    return out


def test_nothing_is_popped_from_nothing() -> None:
    assert Arrivals().pop() is None


def test_a_small_frame_waits_behind_a_large_one() -> None:
    arrivals = Arrivals()
    place = arrivals.reserve(1000)
    arrivals.append(message(2), 10)
    assert (arrivals.pop(), len(arrivals), arrivals.scanning, arrivals.held_bytes) == (None, 2, 1, 1010)
    arrivals.fill(place, message(1))
    assert drain(arrivals) == [message(1), message(2)]
    assert (len(arrivals), arrivals.scanning, arrivals.held_bytes) == (0, 0, 0)


@given(st.lists(st.booleans(), max_size=12), st.randoms(use_true_random=False))
def test_the_order_is_kept_whatever_order_the_places_are_filled_in(large: list[bool], random: object) -> None:
    arrivals = Arrivals()
    places: list[tuple[int, int]] = []
    for n, is_large in enumerate(large):
        if is_large:
            places.append((arrivals.reserve(100), n))
        else:
            arrivals.append(message(n), 1)
    random.shuffle(places)  # type: ignore[attr-defined]  # a random.Random, which Hypothesis wraps
    out = drain(arrivals)
    for place, n in places:
        arrivals.fill(place, message(n))
        out += drain(arrivals)
    assert out == [message(n) for n in range(len(large))]
    assert (arrivals.scanning, arrivals.held_bytes) == (0, 0)
