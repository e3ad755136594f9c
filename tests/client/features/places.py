"""Places: where the server with every feature runs, in this process or as another, and what it speaks."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mcp_actors import Client
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.memory import MemoryEnd
from tests.client.toy_host import STATELESS, VERSIONS, ToyHost
from tests.client.waiting import BOUND
from tests.servers import features_server
from tests.servers.features_server import FeaturesServer

PROGRAM: Final = Path(features_server.__file__)
#: Every revision in memory, and both eras over stdio.
ALL: Final = (*(("memory", version) for version in VERSIONS), ("stdio", STATELESS), ("stdio", "2025-11-25"))


class FeaturesHost(ToyHost):
    """The server with every feature, at the other end of a memory wire; a new one for each wire."""

    def _serve(self, end: MemoryEnd) -> None:
        def send(message: dict[str, Any]) -> None:
            end.write(json.dumps(message).encode(), Deadline.after(BOUND))

        server = FeaturesServer(self.version, send)
        while (frame := end.read(Deadline.after(math.inf))) is not None:
            message = json.loads(frame)
            self.note(message)
            server.hear(message)


class Place:
    """One of `ALL`."""

    def __init__(
        self,
        kind: str,
        version: str,
        make_client: Callable[..., Client],
        make_stdio: Callable[..., Client],
    ) -> None:
        self.kind = kind
        self.version = version
        self.stateless = version == STATELESS
        self._make_client = make_client
        self._make_stdio = make_stdio
        self.hosts: list[FeaturesHost] = []

    def connect(self, **options: Any) -> Client:
        """A client that is ready."""
        if self.kind == "memory":
            self.hosts.append(FeaturesHost(version=self.version))
            return self._make_client(self.hosts[-1], **options).wait_ready()
        return self._make_stdio(command(self.version), **options).wait_ready()


def command(version: str) -> list[str]:
    """The command that runs the server with every feature."""
    return [sys.executable, "-S", "-E", str(PROGRAM), version]
