"""The bus in a forked child."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable

from mcp_actors.telemetry.bus import Bus
from mcp_actors.telemetry.events import Event, NotificationReceived

WAIT = 5.0


def note(number: int) -> NotificationReceived:
    return NotificationReceived("demo", f"n/{number}")


def in_a_child(work: Callable[[], bytes]) -> bytes:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb", buffering=0) as pipe:
        ready, _, _ = select.select([pipe], [], [], 2 * WAIT)
        answer = pipe.read(1000) if ready else b"the child hangs"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return answer


def test_after_a_fork_handlers_stay_attached_and_the_thread_starts_lazily(bus: Bus) -> None:
    seen: list[str] = []
    detach = bus.attach(lambda event: seen.append(f"{event.method} in {os.getpid()}"))
    parent = os.getpid()

    def child() -> bytes:
        threads = threading.active_count()
        active = bus.active
        bus.emit(note(1))
        flushed = bus.flush(WAIT)
        own = seen == [f"n/1 in {os.getpid()}"] and os.getpid() != parent
        return repr((threads, active, flushed, own)).encode()

    assert in_a_child(child) == b"(1, True, True, True)"
    bus.emit(note(2))
    assert bus.flush(WAIT)
    detach()
    assert seen == [f"n/2 in {parent}"]


def test_a_fork_while_the_lock_is_held_leaves_a_working_bus_in_the_child(bus: Bus) -> None:
    seen: list[Event] = []
    detach = bus.attach(seen.append)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with bus._changed:
            held.set()
            release.wait(WAIT)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(WAIT)

    def child() -> bytes:
        bus.emit(note(1))
        return repr(bus.flush(WAIT) and len(seen) == 1).encode()

    answer = in_a_child(child)
    release.set()
    holder.join(WAIT)
    detach()
    assert answer == b"True"


def test_the_last_detach_in_a_child_ends_nothing_of_the_parent(bus: Bus) -> None:
    seen: list[Event] = []
    detach = bus.attach(seen.append)

    def child() -> bytes:
        detach()
        return repr(bus.active).encode()

    assert in_a_child(child) == b"False"
    bus.emit(note(1))
    assert bus.flush(WAIT)
    detach()
    assert len(seen) == 1
