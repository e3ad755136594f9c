"""The environment of a server process: a short allow-list, so that the host's secrets stay at home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAMES: Final = frozenset(
    {
        "HOME",
        "PATH",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
    }
)
_LOCALE_PREFIX: Final = "LC_"


def child_environment(
    host: Mapping[str, str], added: Mapping[str, str] | None, *, inherit: bool
) -> dict[str, str]:
    """The allowed part of the host's environment, or all of it if ``inherit``, with ``added`` on top."""
    passed = dict(host) if inherit else {name: value for name, value in host.items() if _allowed(name, value)}
    return {**passed, **(added or {})}


def _allowed(name: str, value: str) -> bool:
    # A value that starts with "()" is a function some shells export: code, not data.
    return (name in _NAMES or name.startswith(_LOCALE_PREFIX)) and not value.startswith("()")
