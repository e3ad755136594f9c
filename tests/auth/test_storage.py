"""Where tokens are kept: the laws of every storage, and those of the file."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import pytest

from mcp_actors.auth import (
    ClientCredentials,
    FileStorage,
    MemoryStorage,
    OAuth,
    RegisteredClient,
    Tokens,
    TokenStorage,
)
from mcp_actors.errors import AuthorizationFailed
from tests.auth.calling import Person, call
from tests.auth.conftest import Start
from tests.auth.test_flow import clean
from tests.conftest import BOUND

Make: TypeAlias = Callable[[Path], TokenStorage]

ISSUER, RESOURCE = "https://login.example", "https://server.example/mcp"
CLIENT = RegisteredClient(
    "id", "client_secret_post", "the-client-secret", "http://127.0.0.1:1/callback", 99.0
)
TOKENS = Tokens("the-access-token", "DPoP", 1234.5, "the-refresh-token", ("a", "b"), ("a",), "thumb", CLIENT)


@pytest.fixture(
    params=[lambda _path: MemoryStorage(), lambda path: FileStorage(path / "deep" / "tokens.json")]
)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> TokenStorage:
    make: Make = request.param
    return make(tmp_path)


def test_what_was_saved_is_loaded_under_its_own_name_only(storage: TokenStorage) -> None:
    assert storage.load_tokens(ISSUER, RESOURCE) is None
    assert storage.load_client(ISSUER) is None
    storage.save_tokens(ISSUER, RESOURCE, TOKENS)
    storage.save_client(ISSUER, CLIENT)
    assert storage.load_tokens(ISSUER, RESOURCE) == TOKENS
    assert storage.load_client(ISSUER) == CLIENT
    assert storage.load_tokens(ISSUER + "/", RESOURCE) is None
    assert storage.load_tokens(ISSUER, RESOURCE + "/") is None
    assert storage.load_client(ISSUER + "/") is None


def test_saving_nothing_forgets(storage: TokenStorage) -> None:
    storage.save_tokens(ISSUER, RESOURCE, TOKENS)
    storage.save_tokens(ISSUER, "another", TOKENS)
    storage.save_client(ISSUER, CLIENT)
    storage.save_tokens(ISSUER, RESOURCE, None)
    storage.save_client(ISSUER, None)
    storage.save_client(ISSUER, None)
    storage.save_tokens(ISSUER, RESOURCE, None)
    assert storage.load_tokens(ISSUER, RESOURCE) is None
    assert storage.load_tokens(ISSUER, "another") == TOKENS
    assert storage.load_client(ISSUER) is None


def test_a_claim_excludes_others_until_it_is_released(storage: TokenStorage) -> None:
    claim = storage.claim(ISSUER, RESOURCE)
    assert claim is not None
    assert storage.claim(ISSUER, RESOURCE) is None
    other = storage.claim(ISSUER, "another")
    assert other is not None
    other.release()
    claim.release()
    claim.release()
    again = storage.claim(ISSUER, RESOURCE)
    assert again is not None
    assert storage.claim(ISSUER, RESOURCE) is None
    again.release()


def test_neither_a_storage_nor_what_it_keeps_shows_a_secret(storage: TokenStorage) -> None:
    storage.save_tokens(ISSUER, RESOURCE, TOKENS)
    text = f"{storage!r} {TOKENS!r} {TOKENS} {CLIENT!r} {[TOKENS, CLIENT]}"
    assert "the-" not in text


def test_many_threads_may_save_at_once(storage: TokenStorage) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: storage.save_tokens(ISSUER, str(number), TOKENS), range(24)))
    assert all(storage.load_tokens(ISSUER, str(number)) == TOKENS for number in range(24))


@pytest.mark.requirement("security:oauth")
def test_the_file_is_its_owners_alone_whatever_it_was_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens.json"
    path.write_text("{}")
    path.chmod(0o644)
    storage = FileStorage(path)
    assert storage.load_client(ISSUER) is None
    assert "chmod 600" in caplog.text
    storage.save_tokens(ISSUER, RESOURCE, TOKENS)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".new")]


def test_a_failed_write_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = FileStorage(tmp_path / "tokens.json")
    storage.save_tokens(ISSUER, RESOURCE, TOKENS)

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(AuthorizationFailed, match="cannot be written: No space left"):
            storage.save_tokens(ISSUER, RESOURCE, None)
    assert not list(tmp_path.glob("*.new"))
    assert storage.load_tokens(ISSUER, RESOURCE) == TOKENS
    storage.save_client(ISSUER, CLIENT)


def test_what_a_process_left_that_died_over_its_write_is_cleared_away_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FileStorage(tmp_path / "tokens.json")

    def die(_new: Path, _target: Path) -> Path:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", die)
        patched.setattr(Path, "unlink", lambda _path, **_: None)
        patched.setattr(os, "getpid", lambda: 1)
        with pytest.raises(Died):
            storage.save_tokens(ISSUER, RESOURCE, TOKENS)
    assert len(list(tmp_path.glob("*.new"))) == 1
    storage.save_tokens(ISSUER, RESOURCE, TOKENS)
    assert not list(tmp_path.glob("*.new"))


class Died(BaseException):
    """The process ended here."""


def test_a_link_to_the_file_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, path = tmp_path / "link.json", tmp_path / "elsewhere" / "tokens.json"
    link.symlink_to(path)
    linked, direct = FileStorage(link), FileStorage(path)
    linked.save_tokens(ISSUER, RESOURCE, TOKENS)
    assert link.is_symlink()
    assert direct.load_tokens(ISSUER, RESOURCE) == TOKENS
    claim = linked.claim(ISSUER, RESOURCE)
    assert claim is not None
    assert direct.claim(ISSUER, RESOURCE) is None
    claim.release()


def test_a_file_stays_where_it_was_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = FileStorage("tokens.json")
    storage.save_client(ISSUER, CLIENT)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert storage.load_client(ISSUER) == CLIENT


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"tokens": 5}', b"\xff", b"secret-of-the-file"])
def test_a_damaged_file_is_named_and_not_quoted(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(AuthorizationFailed, match="is damaged; remove it") as raised:
        FileStorage(path).load_client(ISSUER)
    assert str(path) in str(raised.value)
    assert "secret-of-the-file" not in str(raised.value)


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(AuthorizationFailed, match="cannot be read: Is a directory"):
        FileStorage(tmp_path).load_client(ISSUER)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(AuthorizationFailed, match="cannot be read: Too many levels of symbolic links"):
        FileStorage(tmp_path / "loop").load_client(ISSUER)
    (tmp_path / "file").write_text("")
    storage = FileStorage(tmp_path / "file" / "tokens.json")
    with pytest.raises(AuthorizationFailed, match="cannot be read"):
        storage.load_client(ISSUER)
    with pytest.raises(AuthorizationFailed, match="cannot be locked"):
        storage.claim(ISSUER, RESOURCE)
    with pytest.raises(AuthorizationFailed, match="cannot be locked"):
        storage.save_client(ISSUER, CLIENT)


_HOLDER = """
import sys
from mcp_actors.auth import FileStorage
claim = FileStorage(sys.argv[1]).claim("https://login.example", "https://server.example/mcp")
print("held" if claim else "refused", flush=True)
sys.stdin.read()
"""


def test_a_claim_excludes_other_processes_and_ends_with_its_own(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    command = [sys.executable, "-c", _HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert FileStorage(path).claim(ISSUER, RESOURCE) is None
        holder.kill()
        holder.wait(BOUND)
    claim = FileStorage(path).claim(ISSUER, RESOURCE)
    assert claim is not None
    claim.release()


def test_a_claim_released_by_the_parent_is_free_though_a_child_was_forked_meanwhile(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "tokens.json")
    claim = storage.claim(ISSUER, RESOURCE)
    assert claim is not None
    done = multiprocessing.get_context("fork").Event()
    child = multiprocessing.get_context("fork").Process(target=done.wait, args=(BOUND,))
    child.start()
    try:
        claim.release()
        again = storage.claim(ISSUER, RESOURCE)
        assert again is not None
        again.release()
    finally:
        done.set()
        child.join(BOUND)


_FORKER = """
import os, sys
from mcp_actors.auth import FileStorage
claim = FileStorage(sys.argv[1]).claim("https://login.example", "https://server.example/mcp")
if os.fork() == 0:
    print("forked", flush=True)
sys.stdin.read()
"""


def test_a_claim_ends_with_its_process_though_a_child_was_forked_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    command = [sys.executable, "-c", _FORKER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "forked\n"
        assert FileStorage(path).claim(ISSUER, RESOURCE) is None
        holder.kill()
        holder.wait(BOUND)
        # The child lives until its input ends.
        claim = FileStorage(path).claim(ISSUER, RESOURCE)
        assert claim is not None
        claim.release()


def test_a_claim_in_memory_does_not_outlive_its_process() -> None:
    storage = MemoryStorage()
    assert storage.claim(ISSUER, RESOURCE) is not None
    child = multiprocessing.get_context("fork").Process(target=_claims, args=(storage,))
    child.start()
    child.join(BOUND)
    assert child.exitcode == 0


def _claims(storage: MemoryStorage) -> None:
    raise SystemExit(0 if storage.claim(ISSUER, RESOURCE) is not None else 1)


_REFRESHER = """
import sys
from mcp_actors.auth import FileStorage, OAuth
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.transports.http.authorizer import Attempt, Refusal

url, path, challenge = sys.argv[1:]
authorizer = OAuth(storage=FileStorage(path), open_url=sys.exit, callback=sys.exit).bind(url)
attempt = Attempt("POST", url, Deadline.after(5.0))
assert authorizer.headers(attempt) == {}
sys.stdin.readline()
assert authorizer.refused(attempt, Refusal(401, (challenge,), {}))
print(authorizer.headers(attempt)["Authorization"], flush=True)
"""


@pytest.mark.requirement("security:oauth")
def test_of_several_processes_one_refreshes_and_all_use_what_it_got(
    serve: Start, person: Person, tmp_path: Path
) -> None:
    server, path = serve(), tmp_path / "tokens.json"
    oauth = OAuth(storage=FileStorage(path), open_url=person.open_url, callback=person.callback)
    assert call(oauth.bind(server.resource_url), server) == 200
    kept = FileStorage(path).load_tokens(server.issuer, server.resource_url)
    assert kept is not None
    # Each process finds this token at its end.
    FileStorage(path).save_tokens(server.issuer, server.resource_url, _ended(kept))
    announced = f'Bearer resource_metadata="{server.origin}/.well-known/oauth-protected-resource/mcp"'
    command = [sys.executable, "-c", _REFRESHER, server.resource_url, str(path), announced]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    try:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        shown = {process.communicate(timeout=4 * BOUND)[0] for process in processes}
    finally:
        for process in processes:
            process.kill()
            process.wait(BOUND)
    assert [request.form["grant_type"] for request in server.at("token")] == [
        "authorization_code", "refresh_token",
    ]  # fmt: skip
    assert shown == {f"Bearer {server.issued('access_token')[-1]}\n"}
    clean(server)


def _ended(tokens: Tokens) -> Tokens:
    from msgspec.structs import replace

    return replace(tokens, renew_at=0.0)


def test_a_program_takes_its_token_from_the_file_of_another(serve: Start, tmp_path: Path) -> None:
    server = serve()
    server.add_client("robot", secret="the-client-secret")
    for _ in range(2):
        storage = FileStorage(tmp_path / "tokens.json")
        mine = ClientCredentials("robot", "the-client-secret", storage=storage).bind(server.resource_url)
        assert call(mine, server) == 200
    assert server.count("token") == 1
