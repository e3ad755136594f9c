"""The least that can answer: lines in, lines out, no library."""

from __future__ import annotations

import sys
from typing import Any, Final

import orjson

_INFO: Final[dict[str, Any]] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}


def main() -> None:
    """Answer until stdin ends."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = orjson.loads(line)
        if "id" not in message:
            continue
        params = message["params"]
        if message["method"] == "initialize":
            result = _INFO
        else:
            result = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
        out.write(orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
