"""All revisions, newest first, and the choice of one that both sides speak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mcp_actors.protocol.revisions import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_actors.protocol.revisions.revision import Era, Revision

ALL: Final[tuple[Revision, ...]] = (
    v2026_07_28.REVISION,
    v2025_11_25.REVISION,
    v2025_06_18.REVISION,
    v2025_03_26.REVISION,
    v2024_11_05.REVISION,
)
HANDSHAKE: Final = tuple(revision for revision in ALL if revision.era is Era.HANDSHAKE)
STATELESS: Final = tuple(revision for revision in ALL if revision.era is Era.STATELESS)
NEWEST: Final = ALL[0]
NEWEST_HANDSHAKE: Final = HANDSHAKE[0]

_BY_VERSION: Final = {revision.version: revision for revision in ALL}


def by_version(version: str) -> Revision | None:
    """The revision of that date, or None if this package does not speak it."""
    return _BY_VERSION.get(version)


def negotiate(offered: Iterable[str], *, preferred: Sequence[Revision] = ALL) -> Revision | None:
    """The first of ``preferred`` that is also offered, None if none is. Unknown offers are passed over."""
    versions = frozenset(offered)
    return next((revision for revision in preferred if revision.version in versions), None)


def capability_for(method: str, revision: Revision) -> str | None:
    """What the server must have declared before ``method`` may be sent, as a dotted path; None: nothing."""
    return revision.capabilities.get(method)


def client_capability_for(method: str, revision: Revision) -> str | None:
    """What the client must have declared before a server may ask ``method`` of it, as a dotted path."""
    return revision.server_request_capabilities.get(method)
