"""The first result without any library."""

from __future__ import annotations

import subprocess
import sys
import time

import orjson


def main(server: list[str]) -> None:
    """Ask once."""
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        call = {"name": "echo", "arguments": {"text": "hello"}}
        process.stdin.write(
            orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + b"\n"
        )
        process.stdin.flush()
        assert "result" in orjson.loads(process.stdout.readline())
        sys.stdout.write(repr(time.monotonic()))
        process.stdin.close()


main(sys.argv[1:])
