"""What servers ask of the client: answered in the pool, for user code never runs on an actor's thread."""

from __future__ import annotations

import logging
from typing import Final

from mcp_actors.client.answering.desk import Desk, Unanswered
from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.events import Served
from mcp_actors.protocol.revisions import Revision
from mcp_actors.runtime.ref import Ref
from mcp_actors.runtime.tasks import Run

logger: Final = logging.getLogger("mcp_actors.answering")


class Serving:
    """Hands requests to the desk, each on a worker, and the answers back to the connection."""

    def __init__(self, desk: Desk, pool: Ref, connection: Ref) -> None:
        self._desk = desk
        self._pool = pool
        self._connection = connection

    def serve(self, wire: int, request: jsonrpc.Request, revision: Revision) -> None:
        """Have one request answered. On the connection's thread."""

        def job() -> None:
            frame = self._answer(request, revision)
            self._connection.tell(Served(wire, request.id, frame))

        # Vouched: the machine hands out a bounded number of them.
        self._pool.tell(Run(("serve", wire, request.id), job, vouched=True))

    def _answer(self, request: jsonrpc.Request, revision: Revision) -> bytes:
        try:
            params = None if request.params is None else codec.decode(request.params)
            result = self._desk.answer(request.method, params, revision)
            return jsonrpc.result_frame(request.id, codec.encode(result))
        except Unanswered as refusal:
            return jsonrpc.error_frame(request.id, refusal.code, refusal.message, refusal.data)
        except codec.DecodeFailed as error:
            return jsonrpc.error_frame(request.id, jsonrpc.INVALID_PARAMS, f"params: {error}")
        except Exception:
            logger.exception("%s of the server could not be answered", request.method)
            return jsonrpc.error_frame(request.id, jsonrpc.INTERNAL_ERROR, "the client could not answer")
