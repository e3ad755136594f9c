"""Bundles: the answers to an array of requests, sent as an array when the last one is there (2025-03-26)."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_actors.protocol.jsonrpc import Id


class Bundle:
    """One array under way. Its answers travel under the id of its first request, and ``frames`` with them."""

    def __init__(self, ids: Iterable[Id], frames: Iterable[bytes] = ()) -> None:
        # A dictionary used as a set that keeps the order: an array may hold very many requests.
        self.waiting = dict.fromkeys(ids)
        self.first = next(iter(self.waiting))
        self._frames = list(frames)

    def add(self, id_: Id, frame: bytes) -> bytes | None:
        """One request is answered, or (an empty frame) will not be; the array if it was the last."""
        del self.waiting[id_]
        if frame:
            self._frames.append(frame)
        if self.waiting:
            return None
        return array(self._frames) if self._frames else b""


class Bundles:
    """The arrays of one session, by the ids of their requests."""

    def __init__(self) -> None:
        self._by_id: dict[Id, Bundle] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._by_id

    def open(self, bundle: Bundle) -> None:
        """Gather the answers to all of its requests."""
        for id_ in bundle.waiting:
            self._by_id[id_] = bundle

    def take(self, id_: Id) -> Bundle | None:
        """The array that the request came in, if it came in one."""
        return self._by_id.pop(id_, None)

    def clear(self) -> None:
        """Nobody is left to be answered."""
        self._by_id.clear()


def array(frames: Iterable[bytes]) -> bytes:
    """Several messages as one."""
    return b"[%s]" % b",".join(frames)
