"""Lifetime: real programs that exit and fork."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from mcp_actors.runtime import lifetime
from mcp_actors.runtime.deadline import Deadline
from tests.runtime.probes import Bang, run_script

ROOT = """
import os, sys, threading
from mcp_actors.runtime import Actor, Deadline, guard, release, start_actor
class Root:
    def __init__(self, name):
        self.name = name
    def stop(self, deadline):
        print("stop", self.name, flush=True)
    def forget(self):
        print("forget", self.name, flush=True)
"""


class Recorded:
    """A root that remembers, and may fail."""

    def __init__(self, log: list[tuple[Recorded, Deadline | None]], error: Exception | None = None) -> None:
        self._log = log
        self._error = error

    def stop(self, deadline: Deadline) -> None:
        self._log.append((self, deadline))
        if self._error is not None:
            raise self._error

    def forget(self) -> None:
        self._log.append((self, None))
        if self._error is not None:
            raise self._error


@pytest.mark.requirement("runtime:exit")
def test_guarded_roots_are_stopped_at_exit_the_youngest_first() -> None:
    script = (
        ROOT
        + """
a, b, c = Root("a"), Root("b"), Root("c")
guard(a); guard(b); guard(c); release(b); release(b)
"""
    )
    assert run_script(script) == "stop c\nstop a\n"


@pytest.mark.requirement("runtime:exit")
def test_a_program_that_forgets_its_actors_ends_all_the_same() -> None:
    script = (
        ROOT
        + """
class Echo(Actor):
    def handle(self, message):
        return message
print(start_actor(Echo, deadline=Deadline.after(5.0)).ask("works", Deadline.after(5.0)))
"""
    )
    assert run_script(script) == "works\n"


@pytest.mark.requirement("runtime:exit")
def test_actors_can_be_stopped_and_seen_to_end_at_exit() -> None:
    script = (
        ROOT
        + """
class Tree(Actor):
    def terminate(self, reason):
        print("terminated", reason, flush=True)
class TreeRoot(Root):
    def stop(self, deadline):
        self.ref.stop()
        print("ended", self.ref.join(deadline), flush=True)
root = TreeRoot("tree")
root.ref = start_actor(Tree, deadline=Deadline.after(5.0))
guard(root)
"""
    )
    assert run_script(script) == "terminated Normal()\nended True\n"


@pytest.mark.requirement("runtime:fork")
def test_a_forked_child_forgets_and_stops_nothing_of_its_parents() -> None:
    script = (
        ROOT
        + """
guard(Root("old"))
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
guard(Root("new"))
"""
    )
    assert run_script(script) == "forget old\nstop new\nstop old\n"


def test_one_deadline_covers_all_roots_and_one_that_fails_harms_no_other(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifetime, "_roots", {})
    log: list[tuple[Recorded, Deadline | None]] = []
    good, bad = Recorded(log), Recorded(log, Bang("no"))
    lifetime.guard(good)
    lifetime.guard(bad)
    lifetime._stop_all()
    lifetime._stop_all()
    assert [root for root, _deadline in log] == [bad, good]
    assert log[0][1] is log[1][1]
    assert "could not be stopped at exit" in caplog.text


def test_a_root_that_cannot_forget_harms_no_other(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifetime, "_roots", {})
    log: list[tuple[Recorded, Deadline | None]] = []
    bad, good = Recorded(log, Bang("no")), Recorded(log)
    lifetime.guard(bad)
    lifetime.guard(good)
    lifetime._forget_all()
    assert log == [(bad, None), (good, None)]
    assert lifetime._roots == {}
    assert "could not be forgotten after a fork" in caplog.text


def test_importing_installs_no_signal_handler_and_starts_no_thread() -> None:
    script = """
import signal, threading
before = {number: signal.getsignal(number) for number in signal.valid_signals()}
import mcp_actors.runtime
print(before == {number: signal.getsignal(number) for number in signal.valid_signals()})
print(threading.active_count())
"""
    assert run_script(script) == "True\n1\n"


def test_a_process_patched_by_gevent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    patched = SimpleNamespace(is_module_patched=lambda name: name == "threading")
    monkeypatch.setitem(sys.modules, "gevent.monkey", patched)
    with pytest.raises(RuntimeError, match="needs real threads"):
        lifetime.refuse_gevent()


def test_gevent_that_left_the_threads_alone_is_welcome(monkeypatch: pytest.MonkeyPatch) -> None:
    lifetime.refuse_gevent()
    unpatched = SimpleNamespace(is_module_patched=lambda _name: False)
    monkeypatch.setitem(sys.modules, "gevent.monkey", unpatched)
    lifetime.refuse_gevent()
