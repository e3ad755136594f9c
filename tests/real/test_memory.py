"""The memory server: a graph of entities and relations that outlives its server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_actors import Client
from tests.real.hearing import Heard
from tests.real.programs import MARKS, PATIENCE, MakeStdio, kill_and_notice

pytestmark = MARKS

GRAPH = "memory://knowledge-graph"
ADA = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
ENGINE = {"name": "Engine", "entityType": "machine", "observations": []}
PROGRAMS = {"from": "Ada", "to": "Engine", "relationType": "programs"}


@pytest.fixture
def client(node_server: Callable[[str], list[str]], tmp_path: Path, make_stdio: MakeStdio) -> Client:
    """A client of a server whose memory is empty."""
    path = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    return make_stdio(node_server("memory"), env=path, **PATIENCE)


def test_entities_and_relations_are_remembered_found_and_forgotten(client: Client) -> None:
    made = client.call_tool("create_entities", {"entities": [ADA, ENGINE]})
    assert made.structured_content == {"entities": [ADA, ENGINE]}
    client.call_tool("create_relations", {"relations": [PROGRAMS]})
    more = [{"entityName": "Engine", "contents": ["was never built"]}]
    client.call_tool("add_observations", {"observations": more})
    found = client.call_tool("search_nodes", {"query": "never built"}).structured_content
    assert found == {
        "entities": [{**ENGINE, "observations": ["was never built"]}],
        "relations": [PROGRAMS],
    }
    client.call_tool("delete_entities", {"entityNames": ["Engine"]})
    assert client.call_tool("read_graph").structured_content == {"entities": [ADA], "relations": []}


def test_the_graph_is_a_resource_too(client: Client) -> None:
    client.call_tool("create_entities", {"entities": [ADA]})
    assert [one.uri for one in client.list_resources()] == [GRAPH]
    (content,) = client.read_resource(GRAPH).raw["contents"]
    assert json.loads(content["text"]) == {"entities": [ADA], "relations": []}


@pytest.mark.requirement("feature:resources")
def test_changes_of_the_graph_are_told_to_who_subscribed(client: Client) -> None:
    heard = Heard()
    client.on_resource_updated(heard, GRAPH)
    client.call_tool("create_entities", {"entities": [ADA]})
    client.subscribe_resource(GRAPH)
    client.call_tool("create_entities", {"entities": [ENGINE]})
    assert heard.wait() == [GRAPH]


@pytest.mark.requirement("connection:recover")
def test_the_memory_survives_a_kill(client: Client) -> None:
    client.call_tool("create_entities", {"entities": [ADA]})
    kill_and_notice(client, "server-memory")
    graph = client.call_tool("read_graph", wait=True).structured_content
    assert graph == {"entities": [ADA], "relations": []}
