"""Presence: whether a client is still there while its answer is being worked on."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

#: Tells whether the client has gone. Never blocks.
Presence: TypeAlias = Callable[[], bool]

_RDHUP: Final = getattr(select, "POLLRDHUP", 0)  # Linux only
_ENDED: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL | _RDHUP


# Any: a WSGI environment holds whatever servers put into it.
def presence_in(environ: Mapping[str, Any]) -> Presence | None:
    """How to see that the client of this request has gone; None where its server gives no way to.

    A break is then noticed at the next write.
    """
    told: Presence | None = environ.get("waitress.client_disconnected")
    if told is not None:
        return told
    line = environ.get("gunicorn.socket", environ.get("werkzeug.socket"))
    return (lambda: _is_over(line)) if isinstance(line, socket.socket) else None


def _is_over(line: socket.socket) -> bool:
    poll = select.poll()
    try:
        poll.register(line, select.POLLIN | _RDHUP)
        events = poll.poll(0)
        if not events or events[0][1] & _ENDED:
            return bool(events)
        # What is there may be the next request. Not line.recv: a TLS socket refuses to look without taking.
        return not socket.socket.recv(line, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        # Closed on our side, or reset.
        return True
