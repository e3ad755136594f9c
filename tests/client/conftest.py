"""No test of the client may leave anything behind, and clients that a test makes are closed after it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pykka
import pytest

from mcp_actors import Client
from tests.client.faulty_client import MakeFaulty, faulty_maker
from tests.client.relay import Relay
from tests.client.toy_host import ToyHost
from tests.client.waiting import BOUND, until

# Opened once by a library and kept for the life of the process.
_LASTING_FILES = ("/dev/urandom", "/dev/null", "anon_inode:[eventpoll]")


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    threads, files = set(threading.enumerate()), _open_files()
    yield
    deadline = time.monotonic() + BOUND
    until(lambda: not _new_threads(threads), deadline, lambda: f"threads left: {_new_threads(threads)}")
    until(lambda: not pykka.ActorRegistry.get_all(), deadline, lambda: "an actor is left")
    until(lambda: not _children(), deadline, lambda: f"processes left: {_children()}")
    until(lambda: not _new_files(files), deadline, lambda: f"descriptors left: {_new_files(files)}")


def _new_threads(before: set[threading.Thread]) -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread not in before]


def _children() -> list[str]:
    return [str(child) for child in psutil.Process().children(recursive=True)]


def _open_files() -> dict[int, str]:
    root = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    files = {}
    for name in os.listdir(root):
        try:
            files[int(name)] = os.readlink(f"{root}/{name}")
        except OSError:
            continue  # the descriptor of this very listing, or one that cannot be named
    return files


def _new_files(before: dict[int, str]) -> dict[int, str]:
    return {
        fd: target
        for fd, target in _open_files().items()
        if before.get(fd) != target and target not in _LASTING_FILES
    }


@pytest.fixture
def host() -> Iterator[ToyHost]:
    """A server in this process that speaks 2026-07-28."""
    one = ToyHost()
    yield one
    one.shut_down()


@pytest.fixture
def make_host() -> Iterator[Callable[..., ToyHost]]:
    made: list[ToyHost] = []

    def make(**settings: Any) -> ToyHost:
        made.append(ToyHost(**settings))
        return made[-1]

    yield make
    for one in made:
        one.shut_down()


@pytest.fixture
def wire() -> str:
    """How clients reach a host of this process; tests that are `over_both_wires` choose."""
    return "memory"


@pytest.fixture
def make_client(wire: str) -> Iterator[Callable[..., Client]]:
    """Makes clients of a host in this process, with quick timings unless told otherwise."""
    made: list[Client] = []
    relays: list[Relay] = []

    def make(host: ToyHost, **options: Any) -> Client:
        if wire == "stdio":
            relays.append(Relay(host))
            made.append(Client.stdio(relays[-1].command, **quick(options)))
        else:
            made.append(Client.memory(host, **quick(options)))
        return made[-1]

    yield make
    for client in made:
        client.close()
    for relay in relays:
        relay.close()


@pytest.fixture
def make_stdio() -> Iterator[Callable[..., Client]]:
    """Makes clients of a command, with quick timings unless told otherwise."""
    made: list[Client] = []

    def make(command: list[str], **options: Any) -> Client:
        made.append(Client.stdio(command, **quick(options)))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def make_faulty(
    tmp_path: Path, make_stdio: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> MakeFaulty:
    """Makes clients of the faulty server; most of its modes do not end when they are asked to."""
    monkeypatch.setattr("mcp_actors.client.launch.LADDER_SECONDS", (0.2, 0.2, 2.0))
    return faulty_maker(tmp_path / "starts", make_stdio)


def quick(options: dict[str, Any]) -> dict[str, Any]:
    """Short delays between tries; every timeout is a bound that a healthy test never reaches."""
    return {
        "request_timeout": BOUND,
        "init_timeout": BOUND,
        "backoff_min": 0.01,
        "backoff_max": 0.05,
        **options,
    }


@pytest.fixture
def client(host: ToyHost, make_client: Callable[..., Client]) -> Client:
    """A ready client of ``host``."""
    return make_client(host).wait_ready()
