"""Ref: how everybody else holds an actor."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.runtime.ref import ActorDead, AskTimeout, waits_for_an_end
from tests.runtime.probes import BOUND, at_once, block_until, soon, start_probe, stop


def test_tell_says_whether_the_message_was_taken() -> None:
    _probe, ref = start_probe()
    assert ref.tell("hello")
    stop(ref)
    assert not ref.tell("hello?")


def test_ask_returns_what_handle_returns() -> None:
    _probe, ref = start_probe()
    assert ref.ask(lambda _probe: 6 * 7, soon()) == 42
    stop(ref)


def test_asking_a_dead_actor_fails_at_once() -> None:
    _probe, ref = start_probe(name="gone")
    stop(ref)
    with pytest.raises(ActorDead, match="gone is dead"):
        ref.ask("hello?", soon())


def test_an_ask_gives_up_at_its_deadline() -> None:
    gate = threading.Event()
    _probe, ref = start_probe(name="slow")
    ref.tell(block_until(gate))
    with pytest.raises(AskTimeout, match="slow did not answer str in time"):
        ref.ask("hello?", at_once())
    gate.set()
    stop(ref)


def test_join_gives_up_at_its_deadline() -> None:
    _probe, ref = start_probe()
    assert not ref.join(at_once())
    stop(ref)
    assert ref.join(at_once())


def test_an_actor_that_joins_itself_is_not_kept_waiting() -> None:
    _probe, ref = start_probe()
    assert ref.ask(lambda probe: probe.ref.join(soon()), soon()) is False
    stop(ref)


def test_who_waits_for_an_end_is_known() -> None:
    _probe, ref = start_probe()
    joiner = threading.Thread(target=ref.join, args=(soon(),))
    assert not waits_for_an_end(joiner)
    joiner.start()
    while not waits_for_an_end(joiner):
        assert joiner.is_alive()
    stop(ref)
    joiner.join(BOUND)
    assert not waits_for_an_end(joiner)


def test_a_ref_knows_its_actors_state() -> None:
    gate = threading.Event()
    _probe, ref = start_probe(name="bee")
    assert (ref.name, ref.is_alive, ref.reason, repr(ref)) == ("bee", True, None, "<Ref bee (alive)>")
    ref.tell(block_until(gate))
    ref.tell("waits")
    assert ref.mailbox_depth >= 1
    gate.set()
    stop(ref)
    assert (ref.is_alive, ref.mailbox_depth, repr(ref)) == (False, 0, "<Ref bee (dead)>")
    assert ref.greatest_mailbox_depth >= 1


def test_refs_are_keys() -> None:
    _probe, ref = start_probe()
    assert {ref: "mine"}[ref] == "mine"
    stop(ref)
