"""Resources: how they are described, read and watched."""

from __future__ import annotations

from mcp_actors.protocol.types.content import Annotations
from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.input_required import RetriedParams
from mcp_actors.protocol.types.resource_contents import Bytes, ResourceContents, TextResourceContents
from mcp_actors.protocol.types.results import CacheableResult, ListResult
from mcp_actors.protocol.types.value import MetaValue


class Resource(MetaValue):
    """A resource that a server offers."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    size: int | None = None
    icons: list[Icon] | None = None

    @property
    def display_name(self) -> str:
        """The name to show to people."""
        return self.title or self.name


class ResourceTemplate(MetaValue):
    """A family of resources, by an RFC 6570 template."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    icons: list[Icon] | None = None

    @property
    def display_name(self) -> str:
        """The name to show to people."""
        return self.title or self.name


class ListResourcesResult(ListResult):
    """One page of a server's resources."""

    nested = ("resources",)

    resources: list[Resource]


class ListResourceTemplatesResult(ListResult):
    """One page of a server's resource templates."""

    nested = ("resource_templates",)

    resource_templates: list[ResourceTemplate]


class ReadResourceParams(RetriedParams):
    """Which resource to read."""

    uri: str


class ReadResourceResult(CacheableResult):
    """What a resource holds, in one or several parts."""

    nested = ("contents",)

    contents: list[ResourceContents]

    @property
    def text(self) -> str:
        """The parts that are text, one below the other."""
        return "\n".join(part.text for part in self.contents if isinstance(part, TextResourceContents))

    @property
    def bytes(self) -> Bytes:
        """The bytes of a resource with one part; text as UTF-8.

        Raises:
            ValueError: there are several parts, or none: look at ``contents``.
            InvalidResponse: the server sent no base64.
        """
        if len(self.contents) != 1:
            raise ValueError(f"this resource has {len(self.contents)} parts: read contents[i].bytes")
        return self.contents[0].bytes


class ResourceParams(MetaValue):
    """Which resource: to subscribe to, to unsubscribe from, or that was updated."""

    uri: str
