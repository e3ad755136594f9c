"""The process of the HTTP server, for as long as a contestant needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.servers.http_echo_server import HOST

_ROOT: Final = Path(__file__).resolve().parent.parent.parent
_STOP_SECONDS: Final = 10.0


@contextmanager
def http_server(arguments: Sequence[str]) -> Iterator[str]:
    """Start it, and give its address without a path. It ends with its input, so it outlives nobody."""
    command = [sys.executable, "-m", "benchmarks.servers.http_echo_server", *arguments]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://{HOST}:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            finally:
                process.kill()
