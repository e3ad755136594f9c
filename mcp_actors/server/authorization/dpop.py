"""DpopVerifier: proofs that a token is shown by the one it was issued to (RFC 9449)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.auth.jose.address import target
from mcp_actors.auth.jose.signing import require_joserfc
from mcp_actors.server.authorization.compact import Compact, parse
from mcp_actors.server.authorization.jwt import check_algorithms
from mcp_actors.server.authorization.recent import Recent
from mcp_actors.server.authorization.verifier import TokenRefused

if TYPE_CHECKING:
    from mcp_actors.server.authorization.public_key import PublicKey

__all__ = ["DpopVerifier", "ProofRefused"]

ALGORITHMS: Final = ("ES256", "EdDSA", "RS256", "PS256", "ES384", "ES512")
_MAX_ID: Final = 1024


class ProofRefused(Exception):
    """The proof proves nothing: HTTP 401 ``invalid_dpop_proof``. The text holds nothing of proof or token."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DpopVerifier:
    """Takes each proof once. Any thread.

    Args:
        algorithms: what proofs may be signed with; asymmetric ones alone.
        max_age: by how many seconds a proof may be off this server's clock, to either side.
        remembered: how many proofs are kept to know them again. When there are more within twice ``max_age``
            the oldest are forgotten, and could be shown again.
    """

    algorithms: Sequence[str] = ALGORITHMS
    max_age: float = 300.0
    remembered: int = 65_536
    now: Callable[[], float] = field(default=time.time, repr=False)
    _seen: Recent[object] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_joserfc()
        check_algorithms(self.algorithms)
        # A proof from the future is good until its own time has come and gone.
        object.__setattr__(self, "_seen", Recent[object](2 * self.max_age, self.remembered))

    def verify(self, proof: str, *, token: str, method: str, urls: Iterable[str]) -> str:
        """The thumbprint of the key that signed the proof, to be compared with the token's ``cnf.jkt``.

        Args:
            urls: the names of the address that the request came to; the proof must bear one of them.

        Raises:
            ProofRefused: it is none, for another request or token, out of time, or seen before.
        """
        try:
            compact = parse(proof)
            key = self._key(compact)
            self._check(compact.claims, method, {target(url) for url in urls})
        except TokenRefused:
            raise ProofRefused("the DPoP header holds no proof") from None
        if not _equal(compact.claims.get("ath"), _digest(token.encode("ascii"))):
            raise ProofRefused("the DPoP proof is for another token")
        self._check_unseen(key.thumbprint, compact.claims.get("jti"))
        return key.thumbprint

    def _key(self, compact: Compact) -> PublicKey:
        """The key that the proof brings, which has signed it."""
        from mcp_actors.server.authorization.public_key import UnusableKey, from_jwk

        if compact.type != "dpop+jwt":
            raise ProofRefused("the DPoP header holds no proof (typ)")
        if compact.algorithm not in self.algorithms:
            raise ProofRefused("the DPoP proof is not signed with an algorithm that is allowed here")
        jwk = compact.header.get("jwk")
        try:
            key = from_jwk(jwk if isinstance(jwk, dict) else {})
        except UnusableKey:
            raise ProofRefused("the DPoP proof brings no public key of use") from None
        if not key.verifies(compact):
            raise ProofRefused("the signature of the DPoP proof is wrong")
        return key

    # Any: claims are JSON.
    def _check(self, claims: dict[str, Any], method: str, targets: set[str]) -> None:
        if claims.get("htm") != method:
            raise ProofRefused("the DPoP proof is for another method")
        if _target(claims.get("htu")) not in targets:
            raise ProofRefused("the DPoP proof is for another address")
        issued, now = claims.get("iat"), self.now()
        if isinstance(issued, bool) or not isinstance(issued, int | float):
            raise ProofRefused("the DPoP proof does not say when it was made")
        if not now - self.max_age <= issued <= now + self.max_age:
            raise ProofRefused("the DPoP proof is too old, or from the future: compare the clocks")

    def _check_unseen(self, thumbprint: str, proof_id: Any) -> None:
        if not isinstance(proof_id, str) or not 0 < len(proof_id) <= _MAX_ID:
            raise ProofRefused("the DPoP proof has no jti, or one that is too long")
        # By key: who guesses another's jti must not be able to use it up.
        name = hashlib.sha256(f"{thumbprint} {proof_id}".encode("utf-8", "surrogatepass")).digest()
        if not self._seen.first(name, object(), self.now()):
            raise ProofRefused("the DPoP proof was used before")


def _target(url: Any) -> str | None:
    try:
        return target(url) if isinstance(url, str) else None
    except ValueError:
        return None


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")


def _equal(one: Any, other: str) -> bool:
    return isinstance(one, str) and hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())
