"""Places: who gets a thread to wait on, who waits for one, and who is told to come again."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.protocol.http.rejections import Rejected
from mcp_actors.server.http.places import Place, Places
from tests.client.waiting import BOUND, until
from tests.server.http.driver import Elsewhere

pytestmark = [pytest.mark.requirement("transport:wsgi"), pytest.mark.requirement("security:limits")]

#: Longer than any test takes.
PATIENT = 10 * BOUND


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(places: Places, client: str | None = None, *, lasts: bool = False) -> Rejected:
    with pytest.raises(Rejected) as caught:
        places.take(client, "x", lasts=lasts)
    assert (caught.value.status, caught.value.id) == (503, "x")
    return caught.value


def stuck(most: int | None, streams: int, share: int | None) -> tuple[Places, Clock]:
    """Places whose time stands still, so that nobody waits in vain but where the test lets it pass."""
    clock = Clock()
    return Places(most, streams, share, patience=1.0, clock=clock), clock


def test_a_place_is_given_back_once() -> None:
    places = Places(2, 2, None, patience=0.0)
    first, second = places.take(), places.take()
    refused(places)
    first.leave()
    first.leave()
    assert places.calls == 1
    places.take().leave()
    second.leave()
    assert places.calls == 0


def test_streams_have_a_bound_of_their_own_and_are_refused_at_once() -> None:
    places = Places(10, 2, None, patience=PATIENT)
    first, _ = places.take(lasts=True), places.take(lasts=True)
    assert dict(refused(places, lasts=True).fields) == {"Retry-After": "5"}
    places.take()
    assert (places.streams, places.calls) == (2, 1)
    first.leave()
    places.take(lasts=True)


def test_however_many_streams_there_are_one_call_is_served() -> None:
    places = Places(2, 2, None, patience=0.0)
    places.take(lasts=True)
    places.take(lasts=True)
    places.take()
    assert "2 requests are under way" in refused(places).message


def test_one_client_has_no_more_than_its_share() -> None:
    places = Places(5, 5, 2, patience=0.0)
    places.take("a")
    places.take("a", lasts=True)
    assert "2 requests of this client are under way" in refused(places, "a").message
    places.take("b").leave()
    for _ in range(3):
        places.take(None)


def test_where_the_number_of_threads_is_not_known_nobody_is_refused() -> None:
    places = Places(None, 1, None, patience=0.0)
    taken = [places.take("a") for _ in range(100)]
    for place in taken:
        place.leave()
    assert places.calls == 0


def test_who_waits_gets_the_place_that_is_left() -> None:
    places = Places(1, 1, None, patience=PATIENT)
    holder = places.take()
    waiter = Elsewhere(lambda: places.take())
    until(lambda: places.waiting == 1)
    holder.leave()
    waiter.result().leave()
    assert (places.calls, places.waiting) == (0, 0)


def test_a_place_goes_to_the_first_who_may_have_it() -> None:
    """The one at the head of the line has its share: it must not stand in the way of others."""
    places = Places(2, 2, 1, patience=PATIENT)
    greedy, other = places.take("greedy"), places.take("other")
    second = Elsewhere(lambda: places.take("greedy"))
    until(lambda: places.waiting == 1)
    third = Elsewhere(lambda: places.take("third"))
    until(lambda: places.waiting == 2)
    other.leave()
    third.result()
    assert not second.done
    greedy.leave()
    second.result()


def test_nobody_waits_for_what_has_not_moved_for_long() -> None:
    places, clock = stuck(1, 1, None)
    holder = places.take()
    clock.now += 1.0
    refused(places)
    holder.leave()
    places.take()


def test_a_client_does_not_wait_for_its_own_long_calls_though_others_come_and_go() -> None:
    places, clock = stuck(10, 10, 1)
    places.take("a")
    clock.now += 1.0
    places.take("b").leave()
    refused(places, "a")


def test_who_waits_in_vain_leaves_the_line() -> None:
    places = Places(1, 1, None, patience=0.01)
    places.take()
    assert dict(refused(places).fields) == {"Retry-After": "1"}
    assert places.waiting == 0


def test_many_threads_never_have_more_than_there_is() -> None:
    places, most, worst, lock = Places(3, 3, 2, patience=PATIENT), 3, [0], threading.Lock()
    held: set[Place] = set()

    def work(client: str) -> None:
        for _ in range(50):
            place = places.take(client)
            with lock:
                held.add(place)
                mine = sum(one.client == client for one in held)
                worst[0] = max(worst[0], len(held), most + 1 if mine > 2 else 0)
            with lock:
                held.discard(place)
            place.leave()

    for one in [Elsewhere(lambda client=client: work(client)) for client in "aaaabbbcc"]:  # type: ignore[misc]
        one.result()
    assert worst[0] <= most
    assert (places.calls, places.waiting, places._holdings) == (0, 0, {})
