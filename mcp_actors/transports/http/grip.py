"""Grip: the hold on the socket that one HTTP request uses, so that somebody else can cut it."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Callable

from mcp_actors.protocol.endings import Ending
from mcp_actors.runtime.lock import Lock


class CutShort(OSError):
    """The request was given up before anything of it was written."""


class Grip:
    """Of one request, over all its rounds. One thread sends and reads; any other may `cut`.

    ``begun``: the server may have seen something of the present round; ``whole``: all of it was written;
    ``reused``: over a connection that an earlier request has used, too.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sock: socket.socket | None = None
        self._rest: threading.Event | None = None
        #: Told what the request waits for before it is sent, and None when that is over.
        self.on_held: Callable[[Ending | None], object] | None = None
        self.was_cut = self.begun = self.whole = self.reused = False

    # The thread of the request.

    def start_round(self) -> None:
        """The request is sent, or sent once more."""
        self.begun = self.whole = self.reused = False

    def hold(self, sock: socket.socket) -> None:
        """The request goes over this socket."""
        with self._lock:
            self._sock = sock
            # Whoever cut it before there was anything to cut meant this.
            if self.was_cut:
                shut(sock)

    def let_go(self) -> None:
        """The socket is free for others: from now on cutting must not touch it."""
        with self._lock:
            self._sock = None

    def close(self) -> None:
        """The request came to nothing, and nobody else sees to the socket. If it is free for others, it is
        left alone."""
        with self._lock:
            sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()

    def begin(self) -> None:
        """Something is going to be written. Raises CutShort: then nothing may be."""
        with self._lock:
            if self.was_cut:
                raise CutShort("the request was given up before it was sent")
            self.begun = True

    def hurry(self, seconds: float | None) -> None:
        """Have each further read from the socket fail after so long; None: never."""
        with self._lock, contextlib.suppress(OSError):
            if self._sock is not None:
                self._sock.settimeout(seconds)

    def rest(self, seconds: float) -> bool:
        """Let some time pass; True if the request was cut meanwhile."""
        with self._lock:
            if self.was_cut:
                return True
            rest = self._rest = threading.Event()
        return rest.wait(min(seconds, threading.TIMEOUT_MAX))

    def clock(self) -> float:
        """Monotonic time, until the request is cut: then every deadline has passed."""
        return math.inf if self.was_cut else time.monotonic()

    # Any thread.

    def cut(self) -> bool:
        """End the request, wherever it is; True if the server may have seen something of it."""
        with self._lock:
            self.was_cut = True
            if self._rest is not None:
                self._rest.set()
            if self._sock is not None:
                shut(self._sock)
            return self.begun


def shut(sock: socket.socket) -> None:
    """End a connection in both directions."""
    # Shutting wakes whoever reads from it, writes to it or connects it; only they may close it. Not by the
    # method of TLS sockets: that one makes them plain first, and a thread that writes would write plainly.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
