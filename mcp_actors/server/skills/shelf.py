"""Shelf: the skills that a server publishes at the moment, and the answers to questions about them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.serving.entry import shown
from mcp_actors.server.context import Context
from mcp_actors.server.faults import invalid_params
from mcp_actors.server.registry.entries import ResourceEntry
from mcp_actors.server.registry.pages import InvalidCursor, page
from mcp_actors.server.registry.registry import Registry
from mcp_actors.server.skills.directories import children
from mcp_actors.server.skills.published import Published
from mcp_actors.server.skills.served_skill import ServedSkill
from mcp_actors.server.skills.skill_error import SkillError
from mcp_actors.skills.yaml_tree import require_yaml


class Shelf:
    """Any thread may call anything: each change of the dict is one operation, and of two who add the same
    URI the registry lets one. Answers are given on workers' threads."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._skills: dict[str, ServedSkill] = {}
        self._numbers = count(1)

    @property
    def skills(self) -> list[ServedSkill]:
        """All of them, in the order in which they were added."""
        return sorted(tuple(self._skills.values()), key=lambda skill: skill.number)

    def add(self, paths: Sequence[str | os.PathLike[str]], prefix: str) -> None:
        """Publish the skills in these folders: all of them, or none.

        Raises:
            SkillError: one of them breaks a rule, or its place is taken.
            ValueError: the prefix cannot begin the URI of a skill.
            ModuleNotFoundError: the library that reads YAML is not installed.
        """
        require_yaml()
        skills = [ServedSkill.of(path, prefix, next(self._numbers)) for path in paths]
        for skill in skills:
            self._check_free(skill)
        self._registry.add_source(_Together(skills))
        for skill in skills:
            self._skills[skill.key] = skill

    def remove(self, name: str) -> None:
        """Publish a skill, given by its name or its URI, no more.

        Raises:
            LookupError: there is none.
            ValueError: several have that name.
        """
        found = [skill.key for skill in self.skills if name in (skill.key, skill.skill.name)]
        if len(found) > 1:
            raise ValueError(f"{len(found)} skills are named {name!r}; give the URI: {', '.join(found)}")
        skill = self._skills.pop(found[0], None) if found else None
        if skill is None:
            raise LookupError(f"there is no skill {name!r}")
        for entry in skill.resources:
            # Somebody may have removed a file of it before.
            with suppress(LookupError):
                self._registry.remove_resource(entry.key)

    # Answers.

    def list_skills(self, context: Context, params: JsonObject) -> JsonObject:
        """``skills/list``: one page of entries."""
        return _page(context, params, "skills", self.skills, "skills")

    def get_skill(self, _context: Context, params: JsonObject) -> JsonObject:
        """``skills/get``: the entry of the skill with this URI."""
        uri = _uri(params)
        skill = self._skills.get(uri)
        if skill is None:
            raise invalid_params(f"there is no skill {shown(uri)}", {"uri": uri})
        return {"skill": skill.wire}

    def read_directory(self, context: Context, params: JsonObject) -> JsonObject:
        """``resources/directory/read``: one page of what is directly in a directory."""
        uri = _uri(params)
        found = children(uri, (entry for skill in self.skills for entry in skill.resources))
        if not found:
            raise invalid_params(f"there is no directory {shown(uri)}", {"uri": uri})
        return _page(context, params, "resources", found, f"directory {uri}")

    def _check_free(self, skill: ServedSkill) -> None:
        for entry in skill.resources:
            if self._registry.get_resource(entry.key) is not None:
                raise SkillError(
                    skill.folder,
                    f"there is a resource {entry.key!r} already; remove it, or choose another uri_prefix",
                )


class _Together:
    """The resources of several skills, for the registry to take at once."""

    def __init__(self, skills: Sequence[ServedSkill]) -> None:
        self._skills = skills

    def entries(self) -> Sequence[ResourceEntry]:
        """What the registry takes."""
        return [entry for skill in self._skills for entry in skill.resources]


def _page(
    context: Context, params: JsonObject, member: str, lines: Sequence[Published], kind: str
) -> JsonObject:
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise invalid_params("cursor must be a string")
    try:
        some, following = page(lines, cursor, context.server.options.page_size, kind=kind)
    except InvalidCursor as error:
        raise invalid_params(str(error)) from None
    result: JsonObject = {member: [one.wire for one in some]}
    return result if following is None else result | {"nextCursor": following}


def _uri(params: JsonObject) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise invalid_params("uri must be a string")
    return uri
