"""The answer to an authorization request, as it stands in the URL that the browser was sent to. Pure."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from mcp_actors.auth.urls import shown
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.telemetry.redaction import presentable

__all__ = ["Expected", "code_from", "state_of"]


class Expected(Struct, frozen=True):
    """What was recorded before the browser was sent away. ``repr`` does not show the state."""

    state: str
    issuer: str
    issuer_promised: bool
    """The server says that it always names itself (RFC 9207)."""

    def __repr__(self) -> str:
        return f"<Expected from {self.issuer}>"


def state_of(url: str) -> str | None:
    """Which authorization request the URL claims to answer."""
    return _parameters(url).get("state")


def code_from(url: str, expected: Expected, secrets: tuple[str, ...] = ()) -> str:
    """The authorization code; ``secrets`` are hidden where the answer is quoted.

    Raises:
        AuthorizationFailed: the answer is not to our request, not from our server, or says no.
    """
    answer = _parameters(url)
    where = shown(expected.issuer)
    if not hmac.compare_digest(answer.get("state", "").encode(), expected.state.encode()):
        raise AuthorizationFailed(f"the answer of {where} belongs to another login (state); log in again")
    _check_issuer(answer.get("iss"), expected)
    if "error" in answer:
        said = (
            f" ({presentable(answer['error_description'], 200, secrets)})"
            if "error_description" in answer
            else ""
        )
        code = presentable(answer["error"], 64, secrets)
        raise AuthorizationFailed(f"{where} refused the login: {code}{said}", details={"error": code})
    if not answer.get("code"):
        raise AuthorizationFailed(f"the answer of {where} holds no authorization code; log in again")
    return answer["code"]


def _check_issuer(named: str | None, expected: Expected) -> None:
    # RFC 9207 2.4: plain comparison; and before anything else of the answer is believed, its error included.
    if named is None and not expected.issuer_promised:
        return
    if named != expected.issuer:
        who = "nobody" if named is None else shown(named)
        raise AuthorizationFailed(
            f"the login was begun at {shown(expected.issuer)} but answered by {who} (iss): the code is not "
            "used; somebody may be mixing up authorization servers"
        )


def _parameters(url: str) -> dict[str, str]:
    """The parameters of the query; none at all if one occurs twice, for nobody knows which is meant."""
    try:
        found = parse_qs(urlsplit(url.strip()).query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return {}
    if any(len(values) > 1 for values in found.values()):
        return {}
    return {name: values[0] for name, values in found.items()}
