"""Tokens in a file that only its owner reads and that several processes share."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from mcp_actors.auth.storage import Claim
from mcp_actors.auth.tokens import RegisteredClient, Tokens
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.protocol import codec
from mcp_actors.transports import inheritance

__all__ = ["FileStorage"]

logger = logging.getLogger("mcp_actors.auth")

_OWNER_ONLY: Final = 0o600
_MAX_FILE: Final = 16 * 1024 * 1024
_WRITE_SECONDS: Final = 5.0
_LOOK_AGAIN: Final = 0.01


class _Kept(Struct, frozen=True, omit_defaults=True):
    issuer: str
    resource: str
    tokens: Tokens


class _KeptClient(Struct, frozen=True, omit_defaults=True):
    issuer: str
    client: RegisteredClient


class _Document(Struct, frozen=True):
    version: int = 1
    tokens: tuple[_Kept, ...] = ()
    clients: tuple[_KeptClient, ...] = ()


class FileStorage:
    """One JSON file, mode 0600, replaced as a whole: neither a reader nor a crash meets half of it.

    Beside it lie empty files that serve as locks; they are never removed, for that would let two hold one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Where it is, not how it is called: by every name it has the same locks, and a link to it stays one.
        self._path = Path(os.path.realpath(Path(path).expanduser()))

    def load_tokens(self, issuer: str, resource: str) -> Tokens | None:
        """See `TokenStorage`."""
        kept = (kept for kept in self._read().tokens if (kept.issuer, kept.resource) == (issuer, resource))
        return next((found.tokens for found in kept), None)

    def save_tokens(self, issuer: str, resource: str, tokens: Tokens | None) -> None:
        """See `TokenStorage`."""
        with self._writing():
            before = self._read()
            others = [kept for kept in before.tokens if (kept.issuer, kept.resource) != (issuer, resource)]
            added = [] if tokens is None else [_Kept(issuer, resource, tokens)]
            self._write(_Document(tokens=(*others, *added), clients=before.clients))

    def load_client(self, issuer: str) -> RegisteredClient | None:
        """See `TokenStorage`."""
        return next((kept.client for kept in self._read().clients if kept.issuer == issuer), None)

    def save_client(self, issuer: str, client: RegisteredClient | None) -> None:
        """See `TokenStorage`."""
        with self._writing():
            before = self._read()
            others = [kept for kept in before.clients if kept.issuer != issuer]
            added = [] if client is None else [_KeptClient(issuer, client)]
            self._write(_Document(tokens=before.tokens, clients=(*others, *added)))

    def claim(self, issuer: str, resource: str) -> Claim | None:
        """See `TokenStorage`. Processes exclude one another too; the kernel frees what a dead one held."""
        name = hashlib.sha256(f"{issuer}\n{resource}".encode()).hexdigest()[:16]
        try:
            return _FileLock.taken(self._beside(f".{name}.lock"))
        except OSError as error:
            raise self._failure("locked", error) from error

    def __repr__(self) -> str:
        return f"FileStorage({str(self._path)!r})"

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    def _read(self) -> _Document:
        try:
            with self._path.open("rb") as file:
                self._warn_of_readers(os.fstat(file.fileno()).st_mode)
                return codec.decode_as(file.read(_MAX_FILE), _Document)
        except FileNotFoundError:
            return _Document()
        except codec.DecodeFailed:
            # Without a word of the content, which is secret.
            raise AuthorizationFailed(
                f"the token file {self._path} is damaged; remove it and log in again"
            ) from None
        except OSError as error:
            raise self._failure("read", error) from error

    def _write(self, document: _Document) -> None:
        # One name for all, who write one after the other: what a process left that died here does not stay.
        new = self._beside(".new")
        try:
            new.unlink(missing_ok=True)
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb") as file:
                file.write(codec.encode(document))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            # On a full disk half of it may lie there, secrets included.
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise self._failure("written", error) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """The moment between reading and replacing belongs to one thread of one process."""
        end = time.monotonic() + _WRITE_SECONDS
        try:
            while (lock := _FileLock.taken(self._beside(".lock"))) is None and time.monotonic() < end:
                time.sleep(_LOOK_AGAIN)
        except OSError as error:
            raise self._failure("locked", error) from error
        if lock is None:
            raise AuthorizationFailed(
                f"the token file {self._path} stayed locked for {_WRITE_SECONDS:g} s; find out by whom",
                retryable=True,
            )
        try:
            yield
        finally:
            lock.release()

    def _failure(self, what: str, error: OSError) -> AuthorizationFailed:
        return AuthorizationFailed(f"the token file {self._path} cannot be {what}: {error.strerror}")

    def _warn_of_readers(self, mode: int) -> None:
        if stat.S_IMODE(mode) & 0o077:
            logger.warning("others may read the token file %s: chmod 600 it", self._path)


class _FileLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # In a forked child its copy would keep the lock should the parent die.
        inheritance.remember(self)

    @classmethod
    def taken(cls, path: Path) -> _FileLock | None:
        """The lock, or None while somebody else has it. Raises OSError if the file cannot be made."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        inheritance.release(self)
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            # Unlocked by hand: a child forked meanwhile holds a copy, whose existence would keep the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def forget(self) -> None:
        """See `Inherited`."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)
