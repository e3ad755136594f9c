"""A program that forks while a client over HTTP has connections. Not a test."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from mcp_actors import Client
from tests.servers.http_peer import HttpPeer

BOUND = 5.0


def in_child(client: Client, peer: HttpPeer, pipe: int) -> None:
    """What the child finds: none of the parent's connections, and one of its own when it wants it."""
    found: dict[str, Any] = {"sockets": _client_sockets(peer)}
    found["answer"] = client.call_tool("echo", {"who": "child"}).text
    client.close()
    os.write(pipe, json.dumps(found).encode())


def _client_sockets(peer: HttpPeer) -> int:
    """How many connections to the peer this process holds the client's end of."""
    import psutil

    return sum(one.raddr[1:] == (peer.port,) for one in psutil.Process().net_connections("tcp") if one.raddr)


def main(version: str) -> dict[str, Any]:
    peer = HttpPeer(version)
    with Client.http(peer.url, proxies={}) as client:
        client.call_tool("echo", {})
        if not peer.modern:
            peer.await_listener()
        before = _client_sockets(peer)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            in_child(client, peer, writer)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            child = json.loads(pipe.read())
        os.waitpid(pid, 0)
        answer = client.call_tool("echo", {"who": "parent"}).text
    end = time.monotonic() + BOUND
    while peer._socks and time.monotonic() < end:
        time.sleep(0.01)
    introductions = len(peer.turns("server/discover" if peer.modern else "initialize"))
    left = len(peer._socks)
    peer.stop()
    return {"child": child, "before": before, "answer": answer, "introductions": introductions, "left": left}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])))
