"""A copy of a server's resources that stays true: through updates, and through the death of the server."""

from __future__ import annotations

import threading
from typing import Any

from mcp_actors import Client, Gap
from mcp_actors.testing import ScriptedPeer

BOUND = 10.0


class Mirror:
    """What the resources held when they were last heard of. The handlers run one after the other."""

    def __init__(self, client: Client, *uris: str) -> None:
        self._client = client
        self._uris = uris
        self._changed = threading.Condition()
        self.texts: dict[str, str] = {}
        # First the handlers, then the subscriptions, then the first look: nothing falls between them.
        client.on_resource_updated(self._read)
        client.on_gap(self._look_again)
        for uri in uris:
            client.subscribe_resource(uri)
            self._read(uri)

    def wait_for(self, uri: str, text: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self.texts[uri] == text, BOUND):
                raise TimeoutError(f"{uri} is still {self.texts[uri]!r}")

    def _read(self, uri: str) -> None:
        text = self._client.read_resource(uri, fresh=True, wait=True).text
        with self._changed:
            self.texts[uri] = text
            self._changed.notify_all()

    def _look_again(self, gap: Gap) -> None:
        print(f"news may be missing: {gap.reason}")
        for uri in self._uris:
            self._read(uri)


class Notes(ScriptedPeer):
    """A server whose notes change; yours would be another program."""

    def __init__(self) -> None:
        self.notes = {"notes://monday": "buy milk", "notes://tuesday": "call Ada"}
        super().__init__(
            handlers={
                "resources/read": self._read,
                "resources/subscribe": lambda _params: {},
            }
        )
        self.capabilities = {"resources": {"subscribe": True}}

    def write(self, uri: str, text: str, *, tell: bool) -> None:
        self.notes[uri] = text
        if tell:
            self.notify("notifications/resources/updated", {"uri": uri})

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"contents": [{"uri": params["uri"], "text": self.notes[params["uri"]]}]}


def main() -> None:
    server = Notes()
    with Client.memory(server, backoff_min=0.1) as client:
        mirror = Mirror(client, "notes://monday", "notes://tuesday")
        print(f"at first: {mirror.texts}")

        server.write("notes://monday", "buy bread", tell=True)
        mirror.wait_for("notes://monday", "buy bread")
        print(f"after an update: {mirror.texts}")

        server.write("notes://tuesday", "visit Ada", tell=False)
        server.die()
        mirror.wait_for("notes://tuesday", "visit Ada")
        print(f"after the server died: {mirror.texts}")

        server.write("notes://monday", "bake bread", tell=True)
        mirror.wait_for("notes://monday", "bake bread")
        print("the subscriptions are still there")
    server.close()


if __name__ == "__main__":
    main()
