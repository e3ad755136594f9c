"""Contestants over HTTP: each has the server for itself, as it has over stdio."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from benchmarks.case import Job
from benchmarks.contestants.contract import Contestant
from benchmarks.contestants.roster import ROSTER, Era, opener_at
from benchmarks.placement import place_client, server_arguments
from benchmarks.servers.http_echo_server import HOST
from benchmarks.servers.http_process import http_server

#: How the server answers a request: with JSON, or with an event stream of one event.
Form: TypeAlias = Literal["json", "sse"]


@contextmanager
def open_http_contestant(job: Job, form: Form, *, era: Era = "modern") -> Iterator[Contestant]:
    """Place this process, import the contestant's library, start the server, and connect."""
    # Whatever proxy the user has is not what is measured.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = HOST
    arguments = [era, *server_arguments(job.pin)]
    place_client(job.pin)
    opener = opener_at(ROSTER[job.contestant].http)
    with http_server(arguments) as address, opener(f"{address}/{form}") as contestant:
        yield contestant
