"""What the server asked of us, and has no answer to yet."""

from __future__ import annotations

from collections import deque
from typing import Final

from mcp_actors.protocol import jsonrpc
from mcp_actors.protocol.actions import Action, Send, Serve, Violation
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.revisions import Era, Revision, client_capability_for
from mcp_actors.protocol.types.capabilities import declares

#: So many answered requests are remembered: the server may take one back before it has seen the answer.
_REMEMBERED: Final = 64


class Duties:
    """The server's requests of one wire: what we declared to serve is handed on, at most ``most`` at once."""

    def __init__(self, most: int, out: list[Action]) -> None:
        self._most = most
        self._out = out
        self._open: set[jsonrpc.Id] = set()
        self._answered: deque[jsonrpc.Id] = deque(maxlen=_REMEMBERED)
        self._served: frozenset[str] = frozenset()
        self._mute = False

    def __len__(self) -> int:
        return len(self._open)

    def agree(self, agreement: Agreement, identity: Identity) -> None:
        """From now on, this is what the server may ask for."""
        revision = agreement.revision
        # MCP 2026-07-28, basic: servers send no requests and clients write no responses.
        self._mute = revision.era is Era.STATELESS
        self._served = frozenset(
            method for method in revision.server_requests if _declared(method, revision, identity)
        )

    def ask(self, request: jsonrpc.Request, waiting: int = 0) -> None:
        """The server wants something: hand it on, or refuse it. ``waiting`` are answers not written yet."""
        if request.method == "initialize":
            self._out.append(Violation("server-initialize", "the server sent initialize"))
        if self._mute:
            self._out.append(Violation("server-request", f"the server sent {request.method[:80]}"))
        elif request.method == "ping":
            self._answer(request.id, jsonrpc.result_frame(request.id))
        elif request.method not in self._served:
            self._refuse(
                request, jsonrpc.METHOD_NOT_FOUND, f"this client does not serve {request.method[:80]}"
            )
        elif request.id in self._open:
            self._out.append(Violation("request-id", f"the server used id {request.id!r:.80} twice"))
            self._refuse(request, jsonrpc.INVALID_REQUEST, "this id belongs to a request that is still open")
        elif len(self._open) + waiting >= self._most:
            self._refuse(request, jsonrpc.INTERNAL_ERROR, f"{self._most} requests are open; ask again later")
        else:
            self._open.add(request.id)
            self._out.append(Serve(request))

    def finish(self, id_: jsonrpc.Id) -> bool:
        """An answer is there; whether anybody still wants it."""
        if id_ not in self._open:
            return False
        self._open.discard(id_)
        self._answered.append(id_)
        return True

    def cancel(self, id_: object) -> bool:
        """The server gave a request up; whether it was one of its own."""
        # True equals 1, and is no id.
        if not isinstance(id_, int | str) or isinstance(id_, bool):
            return False
        if id_ in self._open:
            self._open.discard(id_)
            return True
        if id_ in self._answered:
            self._answered.remove(id_)
            return True
        return False

    def forget(self) -> None:
        """The wire is gone, and whoever asked with it."""
        self._open.clear()
        self._answered.clear()
        self._served = frozenset()
        self._mute = False

    def _refuse(self, request: jsonrpc.Request, code: int, reason: str) -> None:
        self._answer(request.id, jsonrpc.error_frame(request.id, code, reason))

    def _answer(self, id_: jsonrpc.Id, frame: bytes) -> None:
        self._out.append(Send(frame, None))
        self._answered.append(id_)


def _declared(method: str, revision: Revision, identity: Identity) -> bool:
    path = client_capability_for(method, revision)
    return path is not None and declares(identity.capabilities(revision), path)
