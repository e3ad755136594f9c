"""Addresses that lead out of what is offered: files, templates and skills give nothing else away."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_actors import Server
from mcp_actors.server.registry.directory import DirectoryResource
from tests.server.conftest import MakeTalk
from tests.server.hostile.messages import described, request
from tests.server.talk import ERAS, STATELESS

SECRET = "outside-and-secret"

STEPS = (
    *("../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "%2E%2E%2Fsecret.txt", "..%252fsecret.txt"),
    *("a/../../secret.txt", "./../secret.txt", "..;/secret.txt", "..\\secret.txt", "..%5csecret.txt"),
    *("/../secret.txt", "//secret.txt", "a/%2e%2e/%2e%2e/secret.txt", "..%c0%afsecret.txt", "%00", "a%00b"),
    *("link.txt", "link_dir/secret.txt", ".hidden", "a/.hidden", "fifo", "\ud800", "%", "%zz", "x" * 5000),
    *("../docs-old/secret.txt", "..", "%2e%2e", "a/..", "/proc/self/environ", "/dev/zero", "~/.ssh/id_rsa"),
)


@pytest.fixture
def offered(target: Server, tmp_path: Path) -> Server:
    root = tmp_path / "docs"
    (root / "a").mkdir(parents=True)
    (root / "open.txt").write_text("for everybody")
    for place in ("secret.txt", "docs/.hidden", "docs/a/.hidden"):
        (tmp_path / place).write_text(SECRET)
    (tmp_path / "docs-old").mkdir()
    (tmp_path / "docs-old/secret.txt").write_text(SECRET)
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "link_dir").symlink_to(tmp_path)
    os.mkfifo(root / "fifo")
    target.registry.add_source(DirectoryResource("file:///docs", root))
    return target


@pytest.mark.requirement("security:limits")
@pytest.mark.parametrize("version", ERAS)
def test_nothing_outside_of_a_directory_can_be_read(offered: Server, talk: MakeTalk, version: str) -> None:
    client = talk(offered, version)
    assert "for everybody" in str(client.call("resources/read", uri="file:///docs/open.txt"))
    for steps in STEPS:
        for prefix in ("file:///docs/", "file:///docs/a/"):
            params = described({"uri": prefix + steps}) if version == STATELESS else {"uri": prefix + steps}
            # Not by orjson, which does not write lone surrogates.
            client.write(json.dumps(request("read", "resources/read", params)).encode())
            told = str(client.answer_to("read"))
            assert SECRET not in told, (prefix, steps)
            assert "PATH=" not in told, (prefix, steps)
    assert offered.host.crashes == 0
