"""News: callbacks for each kind of notification. Each `on_…` returns a function that detaches the handler.

Handlers run one after the other on a thread of the pool, in the order of the server's words. They may use or
close the client.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp_actors.client.faces.face import Face
from mcp_actors.client.notifications import Detach, GapHandler, NotificationHandler, ProgressHandler
from mcp_actors.protocol import types
from mcp_actors.protocol.codec import Json


class NewsFace(Face):
    """What the server tells without being asked."""

    def on_notification(self, handler: NotificationHandler, method: str | None = None) -> Detach:
        """Call ``handler`` for each notification, or those of one method."""
        return self._handlers.attach(handler, method)

    def on_progress(self, handler: ProgressHandler) -> Detach:
        """Call ``handler`` with the progress of every request that asked for it."""
        return self._handlers.attach_progress(handler)

    def on_tools_changed(self, handler: Callable[[], object]) -> Detach:
        """Call ``handler()`` when the list of tools has changed."""
        return self._on_list_changed(handler, "tools")

    def on_prompts_changed(self, handler: Callable[[], object]) -> Detach:
        """Call ``handler()`` when the list of prompts has changed."""
        return self._on_list_changed(handler, "prompts")

    def on_resources_changed(self, handler: Callable[[], object]) -> Detach:
        """Call ``handler()`` when the list of resources or of resource templates has changed."""
        return self._on_list_changed(handler, "resources")

    def on_resource_updated(self, handler: Callable[[str], object], uri: str | None = None) -> Detach:
        """Call ``handler(uri)`` when a resource changed that was subscribed to, or one of its parts.

        With ``uri`` only for that resource and what lies below it.
        """

        def hear(params: types.ResourceParams) -> None:
            if uri is None or _is_within(params.uri, uri):
                handler(params.uri)

        return self._handlers.attach_typed(
            hear if callable(handler) else handler,
            "notifications/resources/updated",
            types.ResourceParams.from_wire,
        )

    def on_log(self, handler: Callable[[types.LogMessageParams], object], level: str = "debug") -> Detach:
        """Call ``handler`` with each log message of at least this level. See `set_logging_level`."""
        least = types.LOG_LEVELS.index(check_level(level))

        def hear(message: types.LogMessageParams) -> None:
            if types.LOG_LEVELS.index(message.level) >= least:
                handler(message)

        return self._handlers.attach_typed(
            hear if callable(handler) else handler,
            "notifications/message",
            types.LogMessageParams.from_wire,
        )

    def on_cancelled(self, handler: Callable[[types.CancelledParams], object]) -> Detach:
        """Call ``handler`` when the server gives a request up. The caller of that request has heard of it."""
        return self._handlers.attach_typed(
            handler, "notifications/cancelled", types.CancelledParams.from_wire
        )

    def on_elicitation_complete(self, handler: Callable[[str], object]) -> Detach:
        """Call ``handler(elicitation_id)`` when a visit to a page has ended (2025-11-25)."""
        return self._handlers.attach_typed(handler, "notifications/elicitation/complete", _elicitation_id)

    def on_task_status(self, handler: Callable[[types.Task], object]) -> Detach:
        """Call ``handler`` when the server tells about a task (2025-11-25). Servers need not."""
        return self._handlers.attach_typed(handler, "notifications/tasks/status", types.Task.from_wire)

    def on_gap(self, handler: GapHandler) -> Detach:
        """Call ``handler`` when news may have been missed: after a lost connection, or a subscription that
        the server ended. Whoever keeps a copy of something should look at it again."""
        return self._handlers.attach_gap(handler)

    def _on_list_changed(self, handler: Callable[[], object], what: str) -> Detach:
        if not callable(handler):
            raise TypeError(f"a handler of news must be callable, not {type(handler).__name__}")
        return self._handlers.attach(lambda _heard: handler(), f"notifications/{what}/list_changed")


def check_level(level: object) -> types.LogLevel:
    """A log level, or the error that names them all."""
    if level not in types.LOG_LEVELS:
        raise ValueError(f"level must be one of {', '.join(types.LOG_LEVELS)}, not {level!r}")
    return level


def _is_within(uri: str, whole: str) -> bool:
    """Whether one resource is the other, or a part of it."""
    return (
        uri == whole
        or uri.startswith(whole if whole.endswith(("/", "#", "?")) else whole + "/")
        or (uri.startswith((whole + "#", whole + "?")))
    )


def _elicitation_id(params: Json) -> str:
    return types.ElicitationCompleteParams.from_wire(params).elicitation_id
