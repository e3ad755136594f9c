"""Shelf: skills that a toy host serves, and the ways in which it may lie about them."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from mcp_actors.client.skills import EXTENSION
from tests.client.toy_host import Refusal, ToyHost
from tests.skills.entries import URI, file

FORMS: Final = "skill://pdf-processing/references/FORMS.md"
NAME: Final = "pdf-processing"
DESCRIPTION: Final = "Extract, fill, and assemble PDF documents"
HEAD: Final = f"name: {NAME}\ndescription: {DESCRIPTION}\n"
SKILL_MD: Final = f"---\n{HEAD}---\n\nSkill body.\n"
CAPABILITIES: Final[dict[str, Any]] = {"resources": {}, "extensions": {EXTENSION: {"directoryRead": True}}}


class Shelf:
    """One skill with a supporting file; tests change the bytes or the entries behind each other's back."""

    def __init__(self, skill_md: str = SKILL_MD, front_matter: dict[str, Any] | None = None) -> None:
        self.files = {URI: skill_md.encode(), FORMS: b"Supporting content.\n"}
        self.entry: dict[str, Any] = {
            "uri": URI,
            "frontmatter": front_matter or {"name": NAME, "description": DESCRIPTION},
            "resources": [file(uri, data) for uri, data in self.files.items()],
        }
        self.blobs = False

    def stock(self, host: ToyHost) -> ToyHost:
        """Let ``host`` serve this."""
        host.answers["skills/list"] = lambda _: {"skills": [self.entry], "ttlMs": 0, "cacheScope": "private"}
        host.answers["skills/get"] = self._get
        host.answers["resources/read"] = self._read
        return host

    def _get(self, request: dict[str, Any]) -> Any:
        if request["params"]["uri"] != self.entry["uri"]:
            raise Refusal(-32602, f"No skill is served at {request['params']['uri']}")
        return {"skill": self.entry, "ttlMs": 0, "cacheScope": "private"}

    def _read(self, request: dict[str, Any]) -> Any:
        uri = request["params"]["uri"]
        if uri not in self.files:
            raise Refusal(-32602, f"Resource not found: {uri}")
        data = self.files[uri]
        content = {"blob": base64.b64encode(data).decode()} if self.blobs else {"text": data.decode()}
        part = {"uri": uri, "mimeType": "text/markdown", **content}
        return {"contents": [part], "ttlMs": 60_000, "cacheScope": "public"}


def reads(host: ToyHost) -> list[str]:
    """The URIs that were read so far."""
    return [one["params"]["uri"] for one in host.all_heard("resources/read")]


def head_of(front_matter: dict[str, Any]) -> str:
    """A file whose head says what the entry says: JSON is YAML."""
    return f"---\n{json.dumps(front_matter)}\n---\nbody\n"
