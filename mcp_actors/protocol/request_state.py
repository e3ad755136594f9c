"""Request states: what a server must remember between two rounds of a request, kept by the client.

A sealed state is signed, not encrypted: the client can read it, and nobody can change it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from mcp_actors.protocol.codec import Json, JsonObject, decode, encode

__all__ = ["MAX_SEALED", "NONCE_BYTES", "Binding", "InvalidRequestState", "RequestStates", "StateTooLarge"]

#: The longest sealed state, in characters: it travels to the client and back in every round.
MAX_SEALED: Final = 64 * 1024
NONCE_BYTES: Final = 16
# RFC 7518, 3.2: a key of HMAC-SHA256 has at least the size of its output.
_MIN_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 4
_MOMENT_BYTES: Final = 8
_MAC_BYTES: Final = 32
_HEAD_BYTES: Final = _KEY_ID_BYTES + NONCE_BYTES + _MOMENT_BYTES

_SHAPE: Final = re.compile(r"v1\.([A-Za-z0-9_-]+)")
_PREFIX: Final = "v1."
# The same key may sign other things; none of them can be mistaken for a state.
_SEAL_DOMAIN: Final = b"mcp_actors/request-state/v1/seal\0"
_KEY_DOMAIN: Final = b"mcp_actors/request-state/v1/key\0"

# What changes from round to round, and so does not identify the request.
_CHANGING: Final = frozenset({"_meta", "inputResponses", "requestState"})


class InvalidRequestState(ValueError):
    """A state that is not to be used. ``reason`` is for the server's log, the client need not know it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the request state is not valid: {reason}")
        self.reason = reason


class StateTooLarge(ValueError):
    """There is more to remember than a client can be asked to keep."""


class Binding(Struct, frozen=True):
    """What a state belongs to: one request of one principal. It is of no use with any other."""

    principal: str | None
    method: str
    digest: bytes

    @classmethod
    def of(cls, principal: str | None, method: str, params: Mapping[str, Json]) -> Binding:
        """The binding of a request. Its rounds have the same one; they differ in the answers they bring.

        Raises:
            ValueError: the parameters are nested too deep.
        """
        lasting = {key: value for key, value in params.items() if key not in _CHANGING}
        return cls(principal, method, hashlib.sha256(_canonical(lasting)).digest())

    def signed(self) -> bytes:
        """The bytes that stand for this binding in a seal; no two bindings have the same."""
        return hashlib.sha256(_canonical([self.principal, self.method, self.digest.hex()])).digest()


class _Key(Struct, frozen=True):
    id: bytes
    secret: bytes

    @classmethod
    def of(cls, secret: bytes) -> _Key:
        if len(secret) < _MIN_KEY_BYTES:
            raise ValueError(f"a key for request states has {len(secret)} bytes, at least 32 are needed")
        return cls(hashlib.sha256(_KEY_DOMAIN + secret).digest()[:_KEY_ID_BYTES], secret)

    def mac(self, signed: bytes, binding: Binding) -> bytes:
        return hmac.digest(self.secret, _SEAL_DOMAIN + binding.signed() + signed, "sha256")


class RequestStates:
    """Seals and opens states. The first key seals, all open: a new key goes to the front, and the old one
    away once its states have expired. Immutable, so threads may share it.

    Several servers that answer the rounds of one request need the same keys, and clocks that agree.
    """

    def __init__(self, keys: Sequence[bytes], ttl: float = 600.0) -> None:
        if not keys:
            raise ValueError("no key to seal request states with")
        if not 0 < ttl < float("inf"):
            raise ValueError(f"a request state lives for a positive number of seconds, not {ttl}")
        self._keys = tuple(map(_Key.of, keys))
        self._ttl = ttl

    def __repr__(self) -> str:
        return f"<RequestStates with {len(self._keys)} keys, {self._ttl} s>"

    def seal(self, payload: JsonObject, *, binding: Binding, now: float, nonce: bytes) -> str:
        """The payload as text for the client; ``now`` is the wall clock's, ``nonce`` 16 random bytes.

        Raises:
            StateTooLarge: the text would be longer than ``MAX_SEALED``.
            TypeError, ValueError: the payload has no JSON form, or the nonce another size.
        """
        if len(nonce) != NONCE_BYTES:
            raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
        key = self._keys[0]
        expires = int((now + self._ttl) * 1000).to_bytes(_MOMENT_BYTES)
        signed = key.id + nonce + expires + encode(payload)
        text = _PREFIX + _armoured(signed + key.mac(signed, binding))
        if len(text) > MAX_SEALED:
            raise StateTooLarge(
                f"a request state of {len(text)} characters, at most {MAX_SEALED} are allowed"
            )
        return text

    def open(self, text: str, *, binding: Binding, now: float) -> JsonObject:
        """The payload of a sealed state.

        Raises:
            InvalidRequestState: not sealed by one of the keys, changed, expired, or of another request.
        """
        sealed = _bare(text)
        signed, mac = sealed[:-_MAC_BYTES], sealed[-_MAC_BYTES:]
        self._verify(signed, mac, binding)
        moment, body = signed[_HEAD_BYTES - _MOMENT_BYTES : _HEAD_BYTES], signed[_HEAD_BYTES:]
        # Only now: nothing in it is worth reading before the seal is known to be ours.
        if now * 1000 >= int.from_bytes(moment):
            raise InvalidRequestState("it has expired")
        payload: JsonObject = decode(body)
        return payload

    def _verify(self, signed: bytes, mac: bytes, binding: Binding) -> None:
        # Four bytes may name two keys.
        keys = [key for key in self._keys if key.id == signed[:_KEY_ID_BYTES]]
        if not keys:
            raise InvalidRequestState("no key of ours sealed it")
        # The binding is part of the seal: another request looks the same as a forgery.
        if not any([hmac.compare_digest(key.mac(signed, binding), mac) for key in keys]):
            raise InvalidRequestState("it was changed, or belongs to another request or principal")


def _armoured(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bare(text: str) -> bytes:
    """The bytes inside the text, of which there is one form only."""
    if len(text) > MAX_SEALED:
        raise InvalidRequestState(f"{len(text)} characters, more than {MAX_SEALED}")
    shape = _SHAPE.fullmatch(text)
    # A length of 4n + 1 is no base64.
    if shape is None or len(shape[1]) % 4 == 1:
        raise InvalidRequestState("it does not look like one of ours")
    data = base64.urlsafe_b64decode(shape[1] + "=" * (-len(shape[1]) % 4))
    # The last character may hold bits that say nothing; a change there is a change, too.
    if _armoured(data) != shape[1] or len(data) < _HEAD_BYTES + _MAC_BYTES:
        raise InvalidRequestState("it does not look like one of ours")
    return data


def _canonical(value: Json) -> bytes:
    """JSON in one form: sorted keys, no spaces, nothing but ASCII."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
    except RecursionError:
        raise ValueError("parameters that are nested too deep have no digest") from None
