"""How the tests of the command line run it inside this process, where its branches can be counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mcp_actors.cli.app import app
from tests.cli.running import ODD, Done

Invoke = Callable[..., Done]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    """Run the command in this process, with the odd server unless another is given."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*words: str, server: list[str] | None = ODD, stdin: str | None = None) -> Done:
        command = [*words, *(["--", *server] if server else [])]
        done = CliRunner().invoke(app, command, input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr, done.stdout_bytes)

    return run
