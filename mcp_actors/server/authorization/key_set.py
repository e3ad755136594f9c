"""KeySet: the public keys of an issuer, as it publishes them (RFC 7517 5) or as the operator gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from mcp_actors.auth.jose.signing import require_joserfc

if TYPE_CHECKING:
    from mcp_actors.server.authorization.public_key import PublicKey

__all__ = ["KeyMaterial", "KeySet", "given", "published"]

#: A JWK Set, some JWKs, or PEM documents.
KeyMaterial: TypeAlias = "str | bytes | Mapping[str, Any] | Sequence[str | bytes | Mapping[str, Any]]"

#: More than any issuer has at a time; each costs a check when a token does not name its key.
_MAX_KEYS: Final = 64


class KeySet(Struct, frozen=True):
    """Some public keys."""

    keys: tuple[PublicKey, ...]

    def knows(self, key_id: str | None) -> bool:
        """Whether a key has this name; a token without one is content with any key."""
        return key_id is None or any(key.key_id == key_id for key in self.keys)

    def fitting(self, key_id: str | None, algorithm: str) -> list[PublicKey]:
        """The keys that a token may be signed with that says this about itself."""
        # A key without a name, as from PEM, may be meant by every name.
        return [
            key
            for key in self.keys
            if algorithm in key.algorithms and (key_id is None or key.key_id in (None, key_id))
        ]


def given(material: KeyMaterial) -> KeySet:
    """The keys that an operator gave.

    Raises:
        ValueError: one of them is of no use.
        ModuleNotFoundError: the extra ``[auth]`` is not installed.
    """
    require_joserfc()
    from mcp_actors.server.authorization.public_key import from_jwk, from_pem

    found = []
    for source in _sources(material):
        if isinstance(source, Mapping):
            found.append(from_jwk(source))
        else:
            found.append(from_pem(source.encode() if isinstance(source, str) else source))
    if not found:
        raise ValueError("no key is given")
    return KeySet(tuple(found))


def published(document: Mapping[str, Any]) -> KeySet:
    """The keys of a JWK Set that are of use; others are passed over (RFC 7517 5)."""
    from mcp_actors.server.authorization.public_key import UnusableKey, from_jwk

    found = []
    entries = document.get("keys")
    for entry in entries[:_MAX_KEYS] if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            try:
                found.append(from_jwk(entry))
            except UnusableKey:
                continue
    return KeySet(tuple(found))


def _sources(material: KeyMaterial) -> Sequence[str | bytes | Mapping[str, Any]]:
    if isinstance(material, str | bytes):
        return [material]
    if not isinstance(material, Mapping):
        return material
    keys: Sequence[Mapping[str, Any]] = material.get("keys", [material])
    return keys
