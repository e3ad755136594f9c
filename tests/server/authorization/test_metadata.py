"""The protected resource metadata, and where they are."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mcp_actors.auth.protected_resource import well_known
from mcp_actors.server.authorization.metadata import ResourceMetadata, checked_servers, resource_name_of

ISSUER = "https://issuer.example"


@pytest.mark.requirement("security:resource-server")
def test_the_document_says_who_authorizes() -> None:
    metadata = ResourceMetadata("https://mcp.example/mcp", (ISSUER,), ("read",), "Demo", ("ES256",), True)
    assert metadata.document == {
        "resource": "https://mcp.example/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["read"],
        "resource_name": "Demo",
        "dpop_signing_alg_values_supported": ["ES256"],
        "dpop_bound_access_tokens_required": True,
    }


def test_the_document_names_nothing_that_there_is_not() -> None:
    document = ResourceMetadata("https://mcp.example", (ISSUER,)).document
    assert sorted(document) == ["authorization_servers", "bearer_methods_supported", "resource"]


@pytest.mark.parametrize(
    "url", ["https://mcp.example/mcp", "https://mcp.example", "https://mcp.example:8443/a/b/"]
)
def test_it_is_where_clients_look_for_it(url: str) -> None:
    metadata = ResourceMetadata(resource_name_of(url), (ISSUER,))
    places = well_known(url)
    origin = places[-1].removesuffix("/.well-known/oauth-protected-resource")
    assert [origin + path for path in metadata.paths] == places
    assert metadata.url == places[0]


def test_a_resource_has_one_name() -> None:
    assert resource_name_of("HTTPS://MCP.Example:443/mcp/") == "https://mcp.example/mcp"
    assert resource_name_of("http://127.0.0.1:8000/mcp") == "http://127.0.0.1:8000/mcp"


@pytest.mark.parametrize(
    "url",
    [
        "http://mcp.example/mcp",
        "https://user@mcp.example/",
        "https://mcp.example/#x",
        "/mcp",
        "ftp://a/",
        "https://a/?b",
    ],
)
def test_a_resource_that_tokens_must_not_be_sent_to_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="the resource is"):
        resource_name_of(url)


def test_authorization_servers_are_checked() -> None:
    assert checked_servers([ISSUER]) == (ISSUER,)
    with pytest.raises(ValueError, match="at least one"):
        checked_servers([])
    with pytest.raises(ValueError, match="https"):
        checked_servers(["http://issuer.example"])
    with pytest.raises(TypeError, match="not one URL"):
        checked_servers(cast(Any, ISSUER))
