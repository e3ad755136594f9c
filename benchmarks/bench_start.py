"""F: what does the import cost, and how long is it from nothing to the first result?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.case import Case, Column, Job, Outcome
from benchmarks.contestants.roster import OURS, ROSTER, server_command
from benchmarks.placement import place_client

_ROOT: Final = Path(__file__).resolve().parent.parent
_LIMIT_SECONDS: Final = 60.0

#: Nobody who only wants to talk to a child process should have to load one of these.
HEAVY: Final = (
    "asyncio", "http.client", "httpx", "jsonschema", "jsonschema_rs", "pydantic", "requests", "rich",
    "ssl", "typer", "urllib3", "websockets",
)  # fmt: skip

_IMPORT: Final = """
import sys, time
began = time.perf_counter()
{statement}
took = time.perf_counter() - began
heavy = [name for name in {heavy!r} if name in sys.modules]
import os, resource
try:
    rss = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
except OSError:
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(took, rss, ",".join(heavy))
"""


def run_import(job: Job) -> Outcome:
    """A fresh interpreter that imports and says what it took."""
    place_client(job.pin)
    script = _IMPORT.format(statement=ROSTER[job.contestant].imports, heavy=HEAVY)
    took, rss, *heavy = _output([sys.executable, "-c", script]).split()
    names = tuple(f"loads {name}" for name in (heavy[0].split(",") if heavy else ()))
    figures = {"import_ms": float(took) * 1e3, "rss_mb": int(rss) / 1e6, "heavy": float(len(names))}
    return Outcome(figures, names)


def run_first_result(job: Job) -> Outcome:
    """From just before a program is started until it has its first result. The clock is the system's."""
    server = server_command(job)
    place_client(job.pin)
    program = str(ROSTER[job.contestant].program_path)
    began = time.monotonic()
    return Outcome({"first_ms": (float(_output([sys.executable, program, *server])) - began) * 1e3})


def _output(command: list[str]) -> str:
    # Whether modules are compiled anew each time must not depend on who calls.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(_ROOT)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[1]} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


CASES: Final = (
    Case(
        id="F import",
        workload="F",
        bench=__name__,
        what="import of the library in a fresh interpreter",
        run=run_import,
        sizes={},
        quick={},
        smoke={},
        contestants=("raw", OURS, "official-async", "fastmcp-portal"),
        columns=(
            Column("import_ms", "import ms"),
            Column("rss_mb", "RSS MB"),
            Column("heavy", "heavy modules"),
        ),
        limit="raw",
        peer="official-async",
        rounds=15,
    ),
    Case(
        id="F first result",
        workload="F",
        bench=__name__,
        what="from the start of a process to its first tool result over stdio",
        run=run_first_result,
        sizes={},
        quick={},
        smoke={},
        contestants=("raw", OURS, "official-async", "official-portal", "fastmcp-portal"),
        columns=(Column("first_ms", "first result ms"),),
        limit="raw",
        peer="official-async",
        rounds=15,
    ),
)

if __name__ == "__main__":
    from benchmarks.command import main

    raise SystemExit(main(only="F"))
