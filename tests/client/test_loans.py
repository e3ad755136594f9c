"""Answers that callers fetch themselves: they are told what the machine would have told them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.client.loans import Fetching
from mcp_actors.protocol import events as E
from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.outcomes import CallOutcome, Stopped
from mcp_actors.protocol.states import State
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import WorkSlot
from tests.client.waiting import BOUND
from tests.protocol import toy_server as toy
from tests.protocol.driver import Driver

pytestmark = pytest.mark.requirement("request:one-outcome")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


class Fetched:
    """A loan that brings a frame, and an actor that hears of it."""

    def __init__(self, frame: bytes | None) -> None:
        self.frame = frame
        self.told: list[E.AnswerFetched] = []
        self.stopped = 0

    def run(self, _deadline: Deadline) -> bytes | None:
        return self.frame

    def stop(self) -> None:
        self.stopped += 1

    def tell(self, message: E.AnswerFetched) -> bool:
        self.told.append(message)
        return True


def fetching(fetched: Fetched, slot: WorkSlot[CallOutcome], id_: int) -> Fetching:
    return Fetching(fetched, slot, fetched, 1, id_)  # type: ignore[arg-type]  # it only tells


def frames(id_: int, payload: object) -> dict[str, bytes]:
    return {
        "answer": toy.result(id_, payload),
        "error": toy.frame(id=id_, error=payload),
        "both": toy.frame(id=id_, error=payload, result=payload),
        "neither": toy.frame(id=id_),
        "another's": toy.result(id_ + 1, payload),
        "nobody's": toy.frame(id=None, error=payload),
        "text": toy.result(str(id_), payload),
        "rubbish": b"{",
        "array": b"[%s]" % toy.result(id_, payload),
    }


@given(what=st.sampled_from(sorted(frames(1, {}))), payload=JSON)
def test_a_caller_takes_what_the_machine_would_have_told_it(what: str, payload: object) -> None:
    driver = Driver().to(State.READY)
    id_ = driver.call("ann")
    frame = frames(id_, payload)[what]
    fetched, slot = Fetched(frame), WorkSlot[CallOutcome]()
    fetching(fetched, slot, id_).run(Deadline.after(BOUND))
    (event,) = fetched.told
    assert event == E.AnswerFetched(1, frame, jsonrpc.scan(frame))
    driver.do(event)
    assert slot.is_set == (what in ("answer", "error"))
    if slot.is_set:
        assert driver.outcomes() == {"ann": slot.wait(Deadline.after(0.0))}


def test_who_brings_nothing_tells_nothing() -> None:
    fetched, slot = Fetched(None), WorkSlot[CallOutcome]()
    fetching(fetched, slot, 1).run(Deadline.after(BOUND))
    assert not slot.is_set
    assert fetched.told == []


def test_an_answer_that_comes_after_the_machines_is_still_told_to_it() -> None:
    fetched, slot = Fetched(toy.result(1, {})), WorkSlot[CallOutcome]()
    work = fetching(fetched, slot, 1)
    slot.give(work)
    assert slot.set(Stopped())
    assert fetched.stopped == 1
    work.run(Deadline.after(BOUND))
    assert slot.wait(Deadline.after(0.0)) == Stopped()
    assert len(fetched.told) == 1
