"""A directory as resources: its files by a template, its contents as a list."""

from __future__ import annotations

import os
import stat
from binascii import b2a_base64
from itertools import islice
from typing import Final, TypeAlias, Unpack

from mcp_actors.protocol import codec, types
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.uri_template import percent
from mcp_actors.server.registry.entries import ResourceEntry, TemplateEntry
from mcp_actors.server.registry.media_types import BINARY, DIRECTORY, JSON, TEXT, as_text, media_type_of
from mcp_actors.server.registry.opening import MAX_BYTES, Root, read_regular
from mcp_actors.server.registry.options import ResourceOptions

#: More entries of a directory are left out of its list, which then says so.
MAX_LISTED: Final = 10_000

Contents: TypeAlias = types.TextResourceContents | types.BlobResourceContents


class DirectoryResource:
    """Everything below a directory, read anew each time.

    The URI ``prefix/`` and those of directories below give a JSON list of what is there; those of files give
    the file. Links that lead out are not followed; names that begin with a dot are not shown.
    """

    def __init__(
        self,
        prefix: str,
        root: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_BYTES,
        hidden: bool = False,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """Raises ``NotADirectoryError`` if the root is none. ``hidden``: also show names with a dot."""
        self._prefix = prefix.rstrip("/") + "/"
        self._root = Root(root, hidden=hidden)
        self._max_bytes = max_bytes
        options["name"] = options.get("name") or self._root.path.name
        self._template = TemplateEntry.of(self._prefix + "{+path}", self.read, **options)
        options["mime_type"] = JSON
        self._listing = ResourceEntry.of(self._prefix, self.contents, **options)

    def entries(self) -> tuple[ResourceEntry, TemplateEntry]:
        """What the registry takes."""
        return (self._listing, self._template)

    def contents(self) -> Contents:
        """The list of what the root holds."""
        return self.read("")

    def read(self, path: str) -> Contents:
        """What a file holds, or the list of what a directory does.

        Raises:
            ResourceMissing: there is no such thing, or it is not for strangers.
            ResourceTooLarge: the file holds more than ``max_bytes``.
        """
        uri = self._uri(path)
        with self._root.opened(path, uri) as descriptor:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                text = codec.encode(self._list(descriptor, path)).decode()
                return types.TextResourceContents(uri=uri, text=text, mime_type=JSON)
            return _contents(uri, read_regular(descriptor, uri, self._max_bytes))

    def _uri(self, path: str) -> str:
        # Each step for itself: in a file's name a percent sign is one.
        return self._prefix + "/".join(percent.encode(step) for step in path.split("/"))

    def _list(self, descriptor: int, path: str) -> JsonObject:
        with os.scandir(descriptor) as found:
            shown = list(islice((one for one in found if self._root.shows(one.name)), MAX_LISTED + 1))
        above = f"{path.rstrip('/')}/" if path else ""
        lines = [self._line(above, one) for one in sorted(shown[:MAX_LISTED], key=lambda one: one.name)]
        listed: JsonObject = {"entries": [line for line in lines if line is not None]}
        return listed | {"truncated": True} if len(shown) > MAX_LISTED else listed

    def _line(self, above: str, found: os.DirEntry[str]) -> JsonObject | None:
        """How an entry of a directory is listed; None if it is neither file nor directory, or just gone."""
        try:
            status = found.stat(follow_symlinks=False)
            line: JsonObject = {"uri": self._uri(above + found.name), "name": found.name}
        except (OSError, UnicodeEncodeError):
            return None
        if stat.S_ISDIR(status.st_mode):
            return line | {"mimeType": DIRECTORY}
        if not stat.S_ISREG(status.st_mode):
            return None
        kind = media_type_of(found.name)
        return line | ({} if kind is None else {"mimeType": kind}) | {"size": status.st_size}


def _contents(uri: str, data: bytes) -> Contents:
    kind = media_type_of(uri.rsplit("/", 1)[-1])
    text = as_text(data, kind)
    if text is not None:
        return types.TextResourceContents(uri=uri, text=text, mime_type=kind or TEXT)
    blob = b2a_base64(data, newline=False).decode("ascii")
    return types.BlobResourceContents(uri=uri, blob=blob, mime_type=kind or BINARY)
