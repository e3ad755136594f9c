"""What the package gives, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mcp_actors.server import authorization


def test_every_public_name_is_there() -> None:
    assert set(authorization.__all__) <= set(dir(authorization))
    assert all(getattr(authorization, name).__name__ == name for name in authorization.__all__)


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        _ = authorization.Nobody


def loaded(statement: str, *modules: str) -> str:
    """Which of the modules a statement loads, in a process of its own."""
    look = f"import sys; {statement}; print(*(name for name in {modules} if name in sys.modules))"
    command = [sys.executable, "-c", look]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()


def test_a_principal_costs_no_authorization() -> None:
    statement = "from mcp_actors.server.authorization import Principal"
    assert loaded(statement, "mcp_actors.auth", "joserfc", "requests") == ""


def test_verifiers_load_no_library_before_they_are_made() -> None:
    statement = "from mcp_actors.server.authorization import *"
    assert loaded(statement, "joserfc", "requests", "cryptography") == ""
    assert loaded(statement, "mcp_actors.auth") == "mcp_actors.auth"
