"""Skills as a server describes them: what it is called, what it is for, and every file with its digest."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.types.resources import Resource
from mcp_actors.protocol.types.results import CacheableResult, ListResult
from mcp_actors.protocol.types.value import MetaValue, Value
from mcp_actors.skills.location import name_in, path_in, root_of

EXTENSION: Final = "io.modelcontextprotocol/skills"

Digest = Annotated[str, Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]
Size = Annotated[int, Meta(ge=0)]


class SkillFile(Value):
    """A file of a skill, and how to tell that it is the one that was meant."""

    uri: str
    digest: Digest
    size: Size


class Skill(MetaValue):
    """The entry of one skill. Whatever breaks a rule of SEP-2640 cannot be made into one.

    ``front_matter`` is that of its ``SKILL.md`` as the server tells it; `Skills.read` compares the two.
    ``resources`` are all files of the skill, or ``"dynamic"`` where the server publishes no digests.
    """

    uri: str
    front_matter: JsonObject = field(name="frontmatter")
    resources: list[SkillFile] | Literal["dynamic"]

    def __post_init__(self) -> None:
        name = _text(self.front_matter, "name")
        _text(self.front_matter, "description")
        if name_in(self.root) != name:
            raise ValueError(f"{self.uri!r} is not where a skill named {name!r} belongs")
        if self.dynamic:
            return
        uris = [file.uri for file in self.files.values()]
        if len(uris) != len(self.resources):
            raise ValueError("resources name a file twice")
        if self.uri not in uris:
            raise ValueError(f"resources do not hold {self.uri!r} itself")

    @property
    def name(self) -> str:
        """A label, not an identity: two skills of one server may share it. The ``uri`` is the identity."""
        return _text(self.front_matter, "name")

    @property
    def description(self) -> str:
        """What the skill is for, and when to use it."""
        return _text(self.front_matter, "description")

    @property
    def root(self) -> str:
        """The URI of the skill's directory."""
        return root_of(self.uri)

    @property
    def dynamic(self) -> bool:
        """Whether the skill is made anew for each reader, so that nothing of it can be verified."""
        return self.resources == "dynamic"

    @property
    def files(self) -> dict[str, SkillFile]:
        """The files by their path inside the skill; none if it is dynamic."""
        if self.resources == "dynamic":
            return {}
        root = self.root
        return {path_in(root, file.uri): file for file in self.resources}

    @property
    def fingerprint(self) -> str | None:
        """The same for the same files with the same digests: what an approval has to be kept with.

        None if the skill is dynamic: an approval of such a skill must not be kept.
        """
        if self.resources == "dynamic":
            return None
        pairs = sorted((file.uri, file.digest) for file in self.resources)
        return f"sha256:{hashlib.sha256(codec.encode(pairs)).hexdigest()}"


class SkillsPage(ListResult):
    """One page of a listing. Its entries are judged one by one: a bad one does not hide the others."""

    skills: list[Any]


class SkillResult(CacheableResult):
    """The entry of the skill that was asked for."""

    nested = ("skill",)

    skill: Skill


class DirectoryPage(ListResult):
    """One page of what is in a directory."""

    nested = ("resources",)

    resources: list[Resource]


def _text(front_matter: JsonObject, key: str) -> str:
    value: Json = front_matter.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"frontmatter has no {key}")
    return value
