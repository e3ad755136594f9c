"""The token endpoint of an authorization server: a form in, tokens or a reason out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_actors.auth.credentials import Credentials
from mcp_actors.auth.errand import Errand
from mcp_actors.auth.fetching import Reply
from mcp_actors.auth.scopes import valid
from mcp_actors.auth.tokens import Tokens, renewal
from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.telemetry.redaction import presentable

__all__ = ["TokenRefused", "answer_of", "refresh_parameters", "request_tokens"]

WHAT: Final = "the token endpoint"
_HEADER_SAFE: Final = re.compile(r"[\x21-\x7E]{1,16384}")
#: Not about what was shown, which is as good as before.
_PASSING: Final = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
_CODE: Final = re.compile(r"[\x20-\x7E]{1,64}")


class TokenRefused(AuthorizationFailed):
    """The endpoint answered with an OAuth error; ``details["error"]`` is its code."""

    @property
    def error(self) -> str:
        """The code, as RFC 6749 5.2 has it."""
        return str(self.details.get("error"))


def request_tokens(
    errand: Errand, url: str, issuer: str, form: Mapping[str, str], credentials: Credentials
) -> Tokens:
    """Ask for tokens.

    Raises:
        TokenRefused: the server says no, and why.
        AuthorizationFailed, RequestTimeout: no usable answer.
    """
    members = answer_of(errand, url, issuer, form, credentials)
    tokens = _tokens(members, errand.binding.token_type, errand.binding.thumbprint, url)
    errand.confidences.add(tokens.access_token, tokens.refresh_token)
    return tokens


def answer_of(
    errand: Errand, url: str, issuer: str, form: Mapping[str, str], credentials: Credentials
) -> dict[str, Any]:
    """The members of the endpoint's answer. Raises as ``request_tokens``."""
    nonce = errand.binding.nonce(url)
    reply = _ask(errand, url, issuer, form, credentials)
    if _error(reply) == "use_dpop_nonce" and errand.binding.outdated(url, nonce):
        reply = _ask(errand, url, issuer, form, credentials)
    members = reply.members
    if reply.status == 200 and members is not None and "error" not in members:
        return members
    raise _refusal(reply, errand.confidences.values)


def refresh_parameters(tokens: Tokens) -> dict[str, str]:
    """The form of a refresh; the scope stays what it is."""
    assert tokens.refresh_token is not None
    return {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}


def _ask(errand: Errand, url: str, issuer: str, form: Mapping[str, str], credentials: Credentials) -> Reply:
    # All of it anew for each attempt: neither an assertion nor a proof may be seen twice.
    identity = credentials.parameters(issuer)
    proof = credentials.headers()
    shown_there = proof.get("authorization", "").rpartition(" ")[2]
    errand.confidences.add(identity.get("client_assertion"), credentials.client_secret, shown_there)
    headers = {**proof, **errand.binding.proof("POST", url, errand.binding.nonce(url))}
    reply = errand.fetcher.post_form(url, WHAT, {**form, **identity}, headers)
    errand.binding.learn(url, reply.headers)
    return reply


def _error(reply: Reply) -> str | None:
    code = (reply.members or {}).get("error")
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


def _refusal(reply: Reply, secrets: tuple[str, ...]) -> AuthorizationFailed:
    where, code = f"{WHAT} {shown(reply.url)}", _error(reply)
    if code is None or reply.passing:
        why = reply.summary if reply.status != 200 else "its answer is no token"
        return AuthorizationFailed(
            f"{where} gave no token: {presentable(why, 300, secrets)}", retryable=reply.passing
        )
    # A server may repeat what it was told, in any place.
    code = presentable(code, 64, secrets)
    said = (reply.members or {}).get("error_description")
    said = f" ({presentable(said, 200, secrets)})" if isinstance(said, str) and said else ""
    if code in _PASSING:
        return AuthorizationFailed(f"{where} gave no token: {code}{said}", retryable=True)
    return TokenRefused(f"{where} refused: {code}{said}", details={"error": code})


def _tokens(members: Mapping[str, Any], wanted: str, thumbprint: str | None, url: str) -> Tokens:
    token, kind = members.get("access_token"), members.get("token_type", "Bearer")
    if not isinstance(token, str) or not _HEADER_SAFE.fullmatch(token):
        raise AuthorizationFailed(f"{WHAT} {shown(url)} gave no token that fits into a header")
    if not isinstance(kind, str) or kind.lower() != wanted.lower():
        # A bearer token where a bound one was asked for is the weaker thing: better none.
        raise AuthorizationFailed(
            f"{WHAT} {shown(url)} gave a token of another type than {wanted}; "
            + ("pass dpop=False if that is right" if thumbprint else "it cannot be used")
        )
    scope, refresh = members.get("scope"), members.get("refresh_token")
    return Tokens(
        token,
        wanted,
        _renewal(members.get("expires_in")),
        refresh if isinstance(refresh, str) and refresh else None,
        valid(scope.split()) if isinstance(scope, str) else (),
        thumbprint=thumbprint,
    )


def _renewal(value: Any) -> float | None:
    """When to renew; None where the server says nothing that makes sense."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and value is not True else math.nan
    except (ValueError, OverflowError):
        return None
    return renewal(seconds) if math.isfinite(seconds) and seconds > 0 else None
