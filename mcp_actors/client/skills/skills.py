"""Skills: the blocking face of the extension. A listing reads no file; a file is handed out verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from mcp_actors import errors
from mcp_actors.client.options import check_seconds
from mcp_actors.client.skills.document import SkillContents, SkillDocument
from mcp_actors.client.skills.errand import Errand
from mcp_actors.client.skills.policy import SkillPolicy
from mcp_actors.client.skills.verification import check_file, check_limits, checked_text, raw_bytes, refused
from mcp_actors.protocol.codec import DecodeFailed, Json
from mcp_actors.protocol.types.resources import Resource
from mcp_actors.skills.location import ENTRY_FILE, checked_path, root_of, uri_in
from mcp_actors.skills.skill import DirectoryPage, Skill, SkillResult, SkillsPage
from mcp_actors.skills.yaml_tree import require_yaml
from mcp_actors.telemetry.logs import logger_for

if TYPE_CHECKING:
    from mcp_actors.client.client import Client

_DEFAULT_SECONDS: Final = 30.0
_MOST_SHOWN: Final = 20

# Inside the class, ``list`` is its method.
_SkillList: TypeAlias = list[Skill]
_ResourceList: TypeAlias = list[Resource]


class Skills:
    """The skills of a client's server. Holds nothing but the client, so threads may share it.

    Every method raises `CapabilityMissing` before anything is sent if the server does not declare
    ``io.modelcontextprotocol/skills``. What fails a check raises `InvalidResponse`; its ``details["check"]``
    says which, and none of the content is handed out. ``timeout`` covers all requests of a method.
    """

    def __init__(
        self, client: Client, *, policy: SkillPolicy | None = None, timeout: float = _DEFAULT_SECONDS
    ) -> None:
        self._client = client
        self._policy = SkillPolicy() if policy is None else policy
        self._seconds = check_seconds("timeout", timeout)

    def list(self, *, timeout: float | None = None, wait: bool = False) -> _SkillList:
        """The entries of all skills that the server lists; pages are followed, no file is read.

        An entry that breaks the rules is left out, and a warning logged. A server may list only some of its
        skills, or none: the others are found by their URI with `get`.
        """
        errand = self._errand("skills/list", timeout, wait)
        return self._list(errand)

    def get(self, uri: str, *, timeout: float | None = None, wait: bool = False) -> Skill:
        """The entry of the skill whose ``SKILL.md`` has this URI, listed or not, as it is now."""
        root_of(uri)
        errand = self._errand(f"skills/get {uri!r}", timeout, wait)
        return self._get(errand, uri)

    def read(self, skill: Skill | str, *, timeout: float | None = None, wait: bool = False) -> SkillDocument:
        """The ``SKILL.md`` of a skill, if it is what its entry says: size, digest and all front matter.

        ``skill`` is an entry, or the URI or the name of a skill, whose entry is then asked for first. A name
        that two skills share is a ``ValueError``.
        """
        require_yaml()
        if not isinstance(skill, Skill | str):
            raise TypeError(f"skill must be an entry, a URI or a name, not {type(skill).__name__}")
        errand = self._errand("resources/read" if isinstance(skill, Skill) else "skills/get", timeout, wait)
        entry = self._entry(errand, skill)
        self._check_entry(entry)
        data, _ = self._fetch(errand, entry, ENTRY_FILE)
        text, body = checked_text(entry, data, self._policy)
        return SkillDocument(entry, self._client.name, text, body)

    def read_file(
        self, skill: Skill | SkillDocument, path: str, *, timeout: float | None = None, wait: bool = False
    ) -> SkillContents:
        """Another file of a skill, by its path inside it, if it is what the entry says.

        A path that the entry does not list fails like a wrong digest does; one that leads out of the skill is
        a ``ValueError``. Both are known before anything is sent.
        """
        entry = skill.skill if isinstance(skill, SkillDocument) else skill
        if not isinstance(entry, Skill):
            raise TypeError(f"skill must be an entry or a document, not {type(entry).__name__}")
        wanted = checked_path(path)
        if wanted == ENTRY_FILE:
            raise ValueError(f"{ENTRY_FILE} is what read() reads")
        self._check_entry(entry)
        if not entry.dynamic and wanted not in entry.files:
            raise refused(
                entry, "unlisted", f"its entry lists no file {wanted!r}; get() a newer one", got=wanted
            )
        errand = self._errand("resources/read", timeout, wait)
        data, mime_type = self._fetch(errand, entry, wanted)
        return SkillContents(_uri_of(entry, wanted), wanted, self._client.name, data, mime_type)

    def read_directory(self, uri: str, *, timeout: float | None = None, wait: bool = False) -> _ResourceList:
        """What is in a directory now, if the server declares ``directoryRead``; not what is below that.

        For skills with digests the entry knows better: a file that it does not list is not a file of it.
        """
        errand = self._errand(f"resources/directory/read {uri!r}", timeout, wait, "directoryRead")
        pages = errand.pages("resources/directory/read", {"uri": uri}, DirectoryPage)
        return [resource for page in pages for resource in page.resources]

    # Steps.

    def _errand(self, what: str, timeout: float | None, wait: bool, setting: str | None = None) -> Errand:
        seconds = self._seconds if timeout is None else check_seconds("timeout", timeout)
        errand = Errand(self._client, seconds, wait=wait)
        errand.require(what, setting)
        return errand

    def _list(self, errand: Errand) -> _SkillList:
        pages = errand.pages("skills/list", {}, SkillsPage)
        judged = [self._judge(entry) for page in pages for entry in page.skills]
        return [skill for skill in judged if skill is not None]

    def _judge(self, entry: Json) -> Skill | None:
        try:
            return Skill.from_wire(entry)
        except DecodeFailed as error:
            uri = entry.get("uri") if isinstance(entry, dict) else None
            logger_for(self._client.name).warning("the skill %.200r was left out: %s", uri, error)
            return None

    def _get(self, errand: Errand, uri: str) -> Skill:
        skill = errand.ask("skills/get", {"uri": uri}, SkillResult).skill
        if skill.uri != uri:
            raise errors.InvalidResponse(
                f"skills/get {uri!r} got the entry of {skill.uri!r}",
                details={"expected": uri, "got": skill.uri},
            )
        return skill

    def _entry(self, errand: Errand, skill: Skill | str) -> Skill:
        if isinstance(skill, Skill):
            return skill
        # A name has no colon, a URI has one.
        return self._get(errand, skill) if ":" in skill else _named(skill, self._list(errand))

    def _check_entry(self, entry: Skill) -> None:
        if entry.dynamic and not self._policy.allow_dynamic:
            raise refused(
                entry,
                "dynamic",
                "it is dynamic, so that nothing of it can be verified; see SkillPolicy.allow_dynamic",
            )
        check_limits(entry, self._policy)

    def _fetch(self, errand: Errand, entry: Skill, path: str) -> tuple[bytes, str | None]:
        result = errand.read(_uri_of(entry, path))
        data, mime_type = raw_bytes(entry, result, self._policy.max_file_bytes)
        if not entry.dynamic:
            check_file(entry, entry.files[path], data)
        return data, mime_type


def _uri_of(entry: Skill, path: str) -> str:
    return uri_in(entry.root, path) if entry.dynamic else entry.files[path].uri


def _named(name: str, skills: _SkillList) -> Skill:
    found = [skill for skill in skills if skill.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        uris = ", ".join(skill.uri for skill in found[:_MOST_SHOWN])
        raise ValueError(f"{len(found)} skills are named {name!r}; pass the URI of one of them: {uris}")
    names = ", ".join(skill.name for skill in skills[:_MOST_SHOWN])
    raise ValueError(f"the server lists no skill named {name!r}, but: {names or 'none at all'}")
