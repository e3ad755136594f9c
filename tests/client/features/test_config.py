"""A server from a configuration file: started, spoken to and ended as any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_actors import Client
from tests.client.features.places import command
from tests.client.toy_host import STATELESS
from tests.client.waiting import BOUND


def entry(version: str) -> dict[str, Any]:
    program, *arguments = command(version)
    return {"command": program, "args": arguments}


@pytest.mark.requirement("feature:tools")
@pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])
def test_a_server_of_a_file_is_as_good_as_any(version: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"toy": entry(version), "other": entry(STATELESS)}}))
    with Client.from_config(file, "toy", request_timeout=BOUND) as client:
        assert client.protocol_version == version
        assert client.call_tool("add", {"a": 1, "b": 2}).data == {"sum": 3}


@pytest.mark.requirement("feature:tools")
def test_the_only_server_needs_no_name() -> None:
    with Client.from_config({"servers": {"toy": entry(STATELESS)}}, init_timeout=BOUND) as client:
        assert client.server_info.name == "features"
