"""How a connection finds out which era and revision its server speaks.

``server/discover`` is the probe: only a server of the stateless era answers it in kind. Any other error, or
silence, means the handshake era and ``initialize`` on the same wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Raw, Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.envelope import META_PREFIX, Envelopes, Identity
from mcp_actors.protocol.outcomes import BadAnswer, Cause, NoCommonVersion, Rejected
from mcp_actors.protocol.revisions import ALL, NEWEST_HANDSHAKE, Era, Revision, by_version

UNSUPPORTED_VERSION: Final = -32022
#: Errors that only a server of the stateless era may send.
MODERN_ERRORS: Final = frozenset({-32020, -32021, UNSUPPORTED_VERSION})


class Ask(Struct, frozen=True):
    """Send this request. ``probing``: silence is an answer, so arm the probe's timer."""

    id: int
    frame: bytes
    probing: bool


class Settled(Struct, frozen=True):
    """Both sides agree; ``closing_words`` go out before anything else."""

    agreement: Agreement
    closing_words: tuple[bytes, ...] = ()


class Failed(Struct, frozen=True):
    """No agreement is possible with this server as it is."""

    cause: Cause


Step: TypeAlias = Ask | Settled | Failed


class Handshake:
    """One conversation over one wire. Feed it answers; it says what to do next."""

    def __init__(self, candidates: Sequence[Revision], identity: Identity, ids: Iterator[int]) -> None:
        self._modern = [revision for revision in candidates if revision.era is Era.STATELESS]
        self._legacy = [revision for revision in candidates if revision.era is Era.HANDSHAKE]
        self._identity = identity
        self._ids = ids
        self._probes = 0
        self._asked: Revision | None = None
        self.id: int | None = None

    @property
    def probing(self) -> bool:
        """The open question is ``server/discover``, and a server of the other era may choke on it."""
        return self._asked is not None and self._asked.era is Era.STATELESS

    def begin(self, *, probe: bool) -> Step:
        """Ask the first question. Without ``probe`` a server that knows only ``initialize`` is assumed."""
        if self._modern and (probe or not self._legacy):
            return self._probe(self._modern[0])
        return self._initialize()

    def silent(self) -> Step:
        """The probe got no answer in time."""
        return self._fall_back(Failed(BadAnswer("no answer to server/discover")))

    def answered(self, result: Raw) -> Step:
        """The open question got a result."""
        try:
            value = codec.decode(result)
        except codec.DecodeFailed as error:
            return self._nonsense(f"the handshake's answer is not JSON: {error}")
        if not isinstance(value, dict):
            return self._nonsense("the handshake's answer is not an object")
        return self._discovered(value) if self.probing else self._initialized(value)

    def refused(self, error: Raw) -> Step:
        """The open question got an error."""
        code, supported = _reading(error)
        rejected = Failed(Rejected(error))
        if code == UNSUPPORTED_VERSION:
            return self._choose(supported, rejected)
        if not self.probing and supported:
            return self._offer_another(supported, rejected)
        if self.probing and code not in MODERN_ERRORS:
            return self._fall_back(rejected)
        return rejected

    # The two questions.

    def _probe(self, revision: Revision) -> Step:
        self._probes += 1
        return self._ask(revision, "server/discover", b"{}", probing=bool(self._legacy))

    def _initialize(self, revision: Revision | None = None) -> Step:
        # MCP, lifecycle: offer the newest revision we speak; of those that have the handshake.
        revision = revision or self._legacy[0]
        params = {
            "protocolVersion": revision.version,
            "capabilities": self._identity.capabilities(revision),
            "clientInfo": self._identity.client_info,
        }
        return self._ask(revision, "initialize", codec.encode(params), probing=False)

    def _ask(self, revision: Revision, method: str, params: bytes, *, probing: bool) -> Ask:
        self._asked = revision
        self.id = next(self._ids)
        frame = Envelopes(revision, self._identity).request(self.id, method, params)
        return Ask(self.id, frame, probing)

    # Their answers.

    def _discovered(self, value: dict[str, Any]) -> Step:
        if not isinstance(value.get("supportedVersions"), list):
            return self._nonsense("the answer to server/discover names no versions")
        supported = _versions(value["supportedVersions"])
        revision = _first_common(self._modern, supported)
        if revision is None:
            return self._choose(supported, Failed(self._no_common(supported)))
        meta = value.get("_meta")
        info = meta.get(META_PREFIX + "serverInfo") if isinstance(meta, dict) else None
        return Settled(_agreement(revision, info, value))

    def _initialized(self, value: dict[str, Any]) -> Step:
        version = value.get("protocolVersion")
        revision = _first_common(self._legacy, [version] if isinstance(version, str) else [])
        if revision is None:
            return Failed(self._no_common([str(version)]))
        initialized = Envelopes(revision, self._identity).notification("notifications/initialized")
        return Settled(_agreement(revision, value.get("serverInfo"), value), (initialized,))

    def _choose(self, supported: Sequence[str], otherwise: Failed) -> Step:
        """The server named its versions: ask again in one of them, once per era."""
        modern = _first_common(self._modern, supported)
        if modern is not None and self._probes < 2:
            return self._probe(modern)
        if self.probing and _first_common(self._legacy, supported) is not None:
            return self._initialize()
        if modern is not None:
            return otherwise
        return self._offer_another(supported, Failed(self._no_common(supported)))

    def _offer_another(self, supported: Sequence[str], otherwise: Failed) -> Step:
        """``initialize`` was refused and other versions were named: offer one of those, once."""
        older = _first_common(self._legacy, supported)
        if older is None or self.probing or self._asked is not self._legacy[0] or older is self._asked:
            return otherwise
        return self._initialize(older)

    def _nonsense(self, reason: str) -> Step:
        """Some servers of the handshake era answer anything with something: then the probe has failed."""
        failed = Failed(BadAnswer(reason))
        return self._fall_back(failed) if self.probing else failed

    def _fall_back(self, otherwise: Failed) -> Step:
        return self._initialize() if self._legacy else otherwise

    def _no_common(self, theirs: Sequence[str]) -> NoCommonVersion:
        return NoCommonVersion(tuple(r.version for r in self._modern + self._legacy), tuple(theirs))


def candidates(protocol: str) -> tuple[Revision, ...]:
    """The revisions a client may speak: all of them for "auto", otherwise the one named."""
    if protocol == "auto":
        return (*(r for r in ALL if r.era is Era.STATELESS), NEWEST_HANDSHAKE, *_older_handshakes())
    revision = by_version(protocol)
    if revision is None:
        known = ", ".join(r.version for r in ALL)
        raise ValueError(f'protocol must be "auto" or one of {known}, not {protocol!r}')
    return (revision,)


def _older_handshakes() -> list[Revision]:
    return [r for r in ALL if r.era is Era.HANDSHAKE and r is not NEWEST_HANDSHAKE]


def _agreement(revision: Revision, info: Any, value: dict[str, Any]) -> Agreement:
    capabilities = value.get("capabilities")
    instructions = value.get("instructions")
    return Agreement(
        revision,
        info if isinstance(info, dict) else {},
        capabilities if isinstance(capabilities, dict) else {},
        instructions if isinstance(instructions, str) else None,
    )


def _first_common(ours: Sequence[Revision], theirs: Sequence[str]) -> Revision | None:
    return next((revision for revision in ours if revision.version in theirs), None)


def _versions(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _reading(error: Raw) -> tuple[int | None, list[str]]:
    try:
        value = codec.decode(error)
    except codec.DecodeFailed:
        return None, []
    if not isinstance(value, dict):
        return None, []
    code, data = value.get("code"), value.get("data")
    supported = _versions(data.get("supported")) if isinstance(data, dict) else []
    return (code if type(code) is int else None), supported
