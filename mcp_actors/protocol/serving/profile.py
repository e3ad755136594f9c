"""Profile: what a server says about itself, in the words of each revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.revisions import ALL, Revision, capability_for
from mcp_actors.protocol.serving.terms import has

TASKS: Final = "io.modelcontextprotocol/tasks"
#: The methods of the tasks extension, which no revision lists.
TASK_METHODS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})


class Profile:
    """Name, capabilities, instructions, and the methods that follow from them. Immutable: when the server's
    offer changes it gets another one.

    ``capabilities`` is written in the newest words and may hold ``tasks`` (2025-11-25) and ``extensions``
    (2026-07-28) side by side. ``extension_methods`` names the methods that extensions add to 2026-07-28.
    """

    def __init__(
        self,
        info: JsonObject,
        capabilities: JsonObject,
        *,
        instructions: str | None = None,
        revisions: tuple[Revision, ...] = ALL,
        extension_methods: Mapping[str, str] | None = None,
    ) -> None:
        self.info = info
        self.capabilities = capabilities
        self.instructions = instructions
        self.revisions = revisions
        self.extension_methods = dict(extension_methods or {})
        self._methods = {revision.version: self._offered(revision) for revision in revisions}

    @property
    def versions(self) -> list[str]:
        """All revisions it speaks, newest first."""
        return [revision.version for revision in self.revisions]

    def revision(self, version: str, *, stateless: bool) -> Revision | None:
        """The revision of that date if the server speaks it and it is of that era."""
        for revision in self.revisions:
            if revision.version == version and revision.stateless is stateless:
                return revision
        return None

    def newest_handshake(self) -> Revision | None:
        """What it offers to a client that names a revision it does not speak."""
        return next((one for one in self.revisions if not one.stateless), None)

    def offers(self, method: str, revision: Revision) -> bool:
        """Whether a client of that revision may call the method."""
        return method in self._methods.get(revision.version, ())

    def said(self, revision: Revision) -> JsonObject:
        """The capabilities as that revision names them."""
        known = revision.server_capability_keys
        return {key: value for key, value in self.capabilities.items() if key in known}

    def _offered(self, revision: Revision) -> frozenset[str]:
        said = self.said(revision)
        offered = {method for method in revision.requests if _open(capability_for(method, revision), said)}
        if revision.stateless:
            extensions = said.get("extensions", {})
            offered |= {method for method, name in self.extension_methods.items() if name in extensions}
        return frozenset(offered)


def _open(path: str | None, said: JsonObject) -> bool:
    return path is None or has(said, path)
