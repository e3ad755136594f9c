"""Registry: found by name while it lives."""

from __future__ import annotations

import gc
import threading

import pytest

from mcp_actors.runtime.registry import LocalRegistry, Registry, _unlock_all
from tests.runtime.probes import BOUND, run_script


class Thing:
    """Something that can be weakly referred to."""


@pytest.mark.requirement("runtime:registry")
def test_a_registered_item_is_found_by_its_name_until_it_is_unregistered() -> None:
    registry: Registry[Thing] = LocalRegistry()
    thing = Thing()
    registry.register("b", thing)
    registry.register("a", thing)
    assert registry.lookup("a") is thing
    assert registry.names() == ("a", "b")
    registry.unregister("a", thing)
    registry.unregister("a", thing)
    assert registry.lookup("a") is None
    assert registry.names() == ("b",)


@pytest.mark.requirement("runtime:registry")
def test_a_name_in_use_is_refused() -> None:
    registry: LocalRegistry[Thing] = LocalRegistry()
    first, second = Thing(), Thing()
    registry.register("name", first)
    registry.register("name", first)
    with pytest.raises(ValueError, match="the name 'name' is taken"):
        registry.register("name", second)
    assert registry.lookup("name") is first


def test_a_name_is_not_taken_away_by_somebody_else() -> None:
    registry: LocalRegistry[Thing] = LocalRegistry()
    first, second = Thing(), Thing()
    registry.register("name", first)
    registry.unregister("name", second)
    assert registry.lookup("name") is first


def test_the_registry_keeps_nothing_alive() -> None:
    registry: LocalRegistry[Thing] = LocalRegistry()
    thing = Thing()
    registry.register("name", thing)
    del thing
    gc.collect()
    assert registry.lookup("name") is None
    registry.register("name", successor := Thing())
    assert registry.lookup("name") is successor


@pytest.mark.stress
@pytest.mark.usefixtures("hasty_switching")
def test_of_many_who_want_a_name_one_gets_it() -> None:
    registry: LocalRegistry[Thing] = LocalRegistry()
    things = [Thing() for _ in range(20)]
    refused: list[Thing] = []

    def want(thing: Thing) -> None:
        try:
            registry.register("name", thing)
        except ValueError:
            refused.append(thing)

    threads = [threading.Thread(target=want, args=(thing,)) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert len(refused) == 19
    assert registry.lookup("name") not in refused


def test_a_lock_that_was_held_at_the_fork_holds_nobody_up() -> None:
    registry: LocalRegistry[Thing] = LocalRegistry()
    thing = Thing()
    registry.register("name", thing)
    registry._lock.acquire()
    _unlock_all()
    assert registry.names() == ("name",)


@pytest.mark.requirement("runtime:fork")
def test_a_forked_child_finds_the_same_names() -> None:
    script = """
import os, sys
from mcp_actors.runtime.registry import LocalRegistry
class Thing: pass
registry, thing = LocalRegistry(), Thing()
registry.register("name", thing)
child = os.fork()
if child:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print("parent", registry.names(), flush=True)
    sys.exit(status)
print("child", registry.names(), flush=True)
"""
    assert run_script(script) == "child ('name',)\nparent ('name',)\n"
