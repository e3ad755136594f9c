"""SkillsFace: the face by which folders become skills."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import structs

from mcp_actors.server.offering import Offering
from mcp_actors.server.options import ServerOptions
from mcp_actors.server.skills.folder import is_left_out
from mcp_actors.server.skills.shelf import Shelf
from mcp_actors.server.skills.skill_error import SkillError
from mcp_actors.skills.skill import EXTENSION

if TYPE_CHECKING:
    from mcp_actors.protocol.serving.profile import Profile

M = TypeVar("M", bound=Callable[..., Any])

PREFIX: Final = "skill://"
_SETTINGS: Final = {"directoryRead": True}


class SkillsFace(Offering):
    """Skills (SEP-2640) can be added and removed while the server runs, by any thread: clients are told that
    the resources changed. Clients before 2026-07-28 find the files of skills among the resources."""

    options: ServerOptions

    def __init__(self) -> None:
        super().__init__()
        self._shelf = Shelf(self.registry)

    def add_skill(self, path: str | os.PathLike[str], *, uri_prefix: str = PREFIX) -> None:
        """Publish a folder with a ``SKILL.md``, as it is now: later changes of it are not seen.

        Its files are held in memory, so that they keep the digests that clients are told; to publish a newer
        state, remove the skill and add it again. Names that begin with a dot and ``__pycache__`` are left
        out. Words without quotes in the front matter mean what YAML 1.2 says. A file larger than about
        12 MiB may not fit into one message of a client. Needs PyYAML: ``pip install 'mcp-actors[skills]'``.

        Args:
            uri_prefix: what stands before the skill's name in its URIs, such as ``skill://acme/billing/``.

        Raises:
            SkillError: a rule for skills is broken, or the place is taken; it names the file and the rule.
            ValueError: the prefix cannot begin the URI of a skill.
        """
        self._publish([path], uri_prefix)

    def add_skills(self, folder: str | os.PathLike[str], *, uri_prefix: str = PREFIX) -> None:
        """Publish every folder in this one, as `add_skill` does: all of them, or none if one breaks a rule.

        Raises:
            SkillError: there is no folder in it, or as with `add_skill`.
        """
        above = Path(os.path.abspath(folder))
        try:
            found = sorted(path for path in above.iterdir() if path.is_dir() and not is_left_out(path.name))
        except OSError as error:
            raise SkillError(above, f"it cannot be read: {error.strerror}") from error
        if not found:
            raise SkillError(above, "a folder of skills has one folder for each; here is none")
        for path in found:
            _check_inside(above, path)
        self._publish(found, uri_prefix)

    def remove_skill(self, name: str) -> None:
        """Publish a skill, given by its name or the URI of its ``SKILL.md``, no more.

        Raises:
            LookupError: there is none.
            ValueError: several skills have that name: give the URI.
        """
        # What is declared stays so, and it is when somebody looks: an extension needs its resources.
        self.profile()
        self._shelf.remove(name)

    def _publish(self, paths: Sequence[str | os.PathLike[str]], uri_prefix: str) -> None:
        self._shelf.add(paths, uri_prefix)
        # Whatever the server's author declares of the extension comes before what we would.
        declared = {EXTENSION: _SETTINGS, **self.options.extensions}
        self.options = structs.replace(self.options, extensions=declared)
        for method, answer in (
            ("skills/list", self._shelf.list_skills),
            ("skills/get", self._shelf.get_skill),
            ("resources/directory/read", self._shelf.read_directory),
        ):
            self.method(method, extension=EXTENSION)(answer)

    if TYPE_CHECKING:
        # The server's own, of which this is a part.

        def method(self, name: str, *, extension: str) -> Callable[[M], M]: ...

        def profile(self) -> Profile: ...


def _check_inside(above: Path, path: Path) -> None:
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(above)):
        raise SkillError(path, "it is a link that leads out of the folder of skills")
