"""Who wants to hear what the server tells us, and the lane on which they hear it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct

from mcp_actors.client.outgoing import check_text
from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.codec import Json
from mcp_actors.protocol.standing import LIST_NEWS

_PROGRESS: Final = "notifications/progress"
_GAP: Final = "mcp_actors/gap"

T = TypeVar("T")

logger: Final = logging.getLogger("mcp_actors.notifications")


class Notification(Struct, frozen=True):
    """What the server told us. ``params`` is the decoded object, empty if there was none."""

    method: str
    params: dict[str, Any]


class Progress(Struct, frozen=True):
    """How far a request has come. ``total`` and ``message`` are the server's to give."""

    progress: float
    total: float | None = None
    message: str | None = None
    token: int | str | None = None

    @classmethod
    def of(cls, params: dict[str, Any]) -> Progress:
        """From the params of a progress notification; what is not a number counts as 0."""
        progress, total, message = params.get("progress"), params.get("total"), params.get("message")
        return cls(
            _number(progress) or 0.0,
            _number(total),
            message if isinstance(message, str) else None,
            params.get("progressToken"),
        )


class DirectedProgress(jsonrpc.Notification, frozen=True, gc=False):
    """Progress for the callback of one future, on its way through the lane."""

    callback: Callable[[Progress], object]


class Gap(Struct, frozen=True):
    """News may have been missed, and why. ``lost`` are resources whose subscription could not be renewed."""

    reason: str
    lost: tuple[str, ...] = ()


class GapNoticed(jsonrpc.Notification, frozen=True, gc=False):
    """A gap on its way through the lane, in its place between what was heard before and after it."""

    gap: Gap

    @classmethod
    def of(cls, reason: str, lost: tuple[str, ...]) -> GapNoticed:
        """A gap to be told to those who listen for gaps."""
        return cls(_GAP, None, 0, Gap(reason, lost))


NotificationHandler: TypeAlias = Callable[[Notification], object]
ProgressHandler: TypeAlias = Callable[[Progress], object]
GapHandler: TypeAlias = Callable[[Gap], object]
Detach: TypeAlias = Callable[[], None]


class Handlers:
    """Handlers by method, and those for everything. Each attaching and detaching is one operation of a dict,
    which is atomic, and the lane reads a copy: nobody needs a lock.

    ``changed`` is called when somebody begins or ceases to listen. Any thread.
    """

    def __init__(self, changed: Callable[[], object] = lambda: None) -> None:
        self._handlers: dict[object, tuple[str | None, NotificationHandler]] = {}
        # A gap is no notification of the server's: those who listen for everything do not hear of it, and no
        # server can make one up.
        self._gap_handlers: dict[object, GapHandler] = {}
        self._changed = changed
        self.failures = 0

    def __bool__(self) -> bool:
        return bool(self._handlers or self._gap_handlers)

    def attach(self, handler: NotificationHandler, method: str | None) -> Detach:
        """Call ``handler`` for each notification of ``method``, or for all. In the order of attaching."""
        if not callable(handler):
            raise TypeError(f"a notification handler must be callable, not {type(handler).__name__}")
        if method is not None:
            check_text("method", method)
        key = object()
        self._handlers[key] = (method, handler)
        self._changed()

        def detach() -> None:
            if self._handlers.pop(key, None) is not None:
                self._changed()

        return detach

    def attach_typed(self, handler: Callable[[T], object], method: str, read: Callable[[Json], T]) -> Detach:
        """Call ``handler`` with what ``read`` makes of the params of each notification of ``method``."""
        if not callable(handler):
            raise TypeError(f"a handler of {method} must be callable, not {type(handler).__name__}")

        def hear(heard: Notification) -> None:
            try:
                value = read(heard.params)
            except codec.DecodeFailed as error:
                logger.debug("%s does not fit: %s", method, error)
                return
            handler(value)

        return self.attach(hear, method)

    def attach_progress(self, handler: ProgressHandler) -> Detach:
        """Call ``handler`` with the progress of every request that asked for it."""
        if not callable(handler):
            raise TypeError(f"a progress handler must be callable, not {type(handler).__name__}")
        return self.attach(lambda heard: handler(Progress.of(heard.params)), _PROGRESS)

    def attach_gap(self, handler: GapHandler) -> Detach:
        """Call ``handler`` whenever news may have been missed."""
        if not callable(handler):
            raise TypeError(f"a handler of gaps must be callable, not {type(handler).__name__}")
        key = object()
        self._gap_handlers[key] = handler

        def detach() -> None:
            self._gap_handlers.pop(key, None)

        return detach

    def wanted(self) -> frozenset[str]:
        """The methods that somebody listens for now; all that have to be subscribed to, if for everything."""
        methods = {method for method, _ in tuple(self._handlers.values())}
        return frozenset(LIST_NEWS) if None in methods else frozenset(methods - {None})  # type: ignore[arg-type]

    def hear(self, message: jsonrpc.Notification) -> None:
        """Decode one notification and run its handlers. On the lane, one notification at a time."""
        if type(message) is not jsonrpc.Notification:
            self._hear_of_ours(message)
            return
        heard: Notification | None = None
        failure: BaseException | None = None
        for method, handler in tuple(self._handlers.values()):
            if method is not None and method != message.method:
                continue
            # Decoded once, and only if somebody listens.
            heard = heard or Notification(message.method, decoded(message))
            try:
                handler(heard)
            except BaseException as error:  # noqa: BLE001 - the lane logs it; the other handlers still hear
                self.failures += 1
                failure = error
        if failure is not None:
            raise failure

    def _hear_of_ours(self, message: jsonrpc.Notification) -> None:
        """What travels on the lane, but was not said by the server."""
        if isinstance(message, DirectedProgress):
            message.callback(Progress.of(decoded(message)))
            return
        assert isinstance(message, GapNoticed)
        failure: BaseException | None = None
        for handler in tuple(self._gap_handlers.values()):
            try:
                handler(message.gap)
            except BaseException as error:  # noqa: BLE001 - as above
                self.failures += 1
                failure = error
        if failure is not None:
            raise failure


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        # JSON knows no largest integer. A server's odd number must not end a call.
        return None


def decoded(message: jsonrpc.Notification) -> dict[str, Any]:
    """The params of a notification as an object; one that is no object is empty."""
    return codec.decode_object(message.params)
