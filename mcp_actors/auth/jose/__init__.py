"""What a client signs: client assertions (RFC 7523) and DPoP proofs (RFC 9449). The one home of joserfc."""

from __future__ import annotations

from mcp_actors.auth.jose.assertion import client_assertion
from mcp_actors.auth.jose.dpop import DpopKey
from mcp_actors.auth.jose.nonces import Nonces
from mcp_actors.auth.jose.signing import SigningKey

__all__ = ["DpopKey", "Nonces", "SigningKey", "client_assertion"]
