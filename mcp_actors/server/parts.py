"""Parts: what handlers need of the server they belong to."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

from mcp_actors.protocol.request_state import Binding, RequestStates
from mcp_actors.schemas import Schemas
from mcp_actors.server.asking import MAY_ASK, Asker, NoAsker, RoundAsker, SessionAsker
from mcp_actors.server.call import Call
from mcp_actors.server.context import Context
from mcp_actors.server.options import ServerOptions
from mcp_actors.server.registry.registry import Registry
from mcp_actors.server.tasks.board import TaskBoard

if TYPE_CHECKING:
    from mcp_actors.server.server import Server


class Parts:
    """Made once for each process that the server runs in."""

    def __init__(self, server: Server, registry: Registry, options: ServerOptions, tasks: TaskBoard) -> None:
        self.server = server
        self.registry = registry
        self.options = options
        self.tasks = tasks
        self.schemas = Schemas()
        self.states = RequestStates(options.request_state_keys or (secrets.token_bytes(32),))
        #: What the lifespan gave.
        self.lifespan: Any = None

    def asker(self, call: Call) -> Asker:
        """The way in which a call can ask its client."""
        job = call.job
        if not job.terms.revision.stateless:
            return SessionAsker(call)
        if job.method not in MAY_ASK:
            return NoAsker(job.method)
        binding = Binding.of(call.owner, job.method, job.params)
        return RoundAsker(call, self.states, binding, time.time())

    def context(self, call: Call, asker: Asker, prefix: str = "") -> Context:
        """What a handler gets that asks for a context."""
        return Context(self.server, call, asker, self.lifespan, prefix)
