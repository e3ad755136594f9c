"""The connection itself: how the server introduced itself, signs of life, log level, roots, any request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from mcp_actors import errors
from mcp_actors.client.calls import Manner
from mcp_actors.client.faces.face import Face
from mcp_actors.client.faces.news import check_level
from mcp_actors.client.gate import check_offer
from mcp_actors.client.notifications import ProgressHandler
from mcp_actors.client.outgoing import check_mapping, check_text, outgoing
from mcp_actors.client.post_mortem import crash_report
from mcp_actors.client.results import decoded, told
from mcp_actors.protocol import codec, types
from mcp_actors.protocol.agreement import Agreement
from mcp_actors.protocol.events import Notified
from mcp_actors.protocol.introduction import ROOTS_CHANGED
from mcp_actors.telemetry.crash_report import CrashReport

if TYPE_CHECKING:
    from mcp_actors.client.stats import ClientStats


class SessionFace(Face):
    """What is known about the server, and what concerns the whole connection."""

    @property
    def server_info(self) -> types.Implementation:
        """How the server introduced itself. Unverified."""
        info = {"name": "", "version": "", **self._agreement("server_info").server_info}
        return told("server_info", types.Implementation, info)

    @property
    def server_capabilities(self) -> types.ServerCapabilities:
        """What the server offers."""
        capabilities = self._agreement("server_capabilities").capabilities
        return told("server_capabilities", types.ServerCapabilities, capabilities)

    @property
    def instructions(self) -> str | None:
        """What the server wants its users to know."""
        return self._agreement("instructions").instructions

    @property
    def protocol_version(self) -> str:
        """The revision that both sides agreed on."""
        return self._agreement("protocol_version").revision.version

    @property
    def session_mode(self) -> Literal["optional", "required"]:
        """``required`` once a listing has shown a tool that its server declares to be stateful."""
        return self._listings.session_mode

    @property
    def crash_report(self) -> CrashReport | None:
        """What is known about the server now; None while nothing was started."""
        tree = self._trees.value
        return None if tree is None else crash_report(tree.wiring)

    def stats(self) -> ClientStats:
        """The numbers of this moment."""
        from mcp_actors.client.stats import ClientStats, stats_of

        tree = self._trees.value
        return ClientStats(state=self.state) if tree is None else stats_of(tree)

    def ping(self, *, timeout: float | None = None, wait: bool = False) -> None:
        """Make sure that the server answers."""
        self._say("ping", self._manner(timeout, wait=wait), self._ping)

    def _ping(self, agreement: Agreement, manner: Manner) -> None:
        # MCP 2026-07-28 has no ping; server/discover costs as little and every server has it.
        method = "ping" if agreement.revision.has_ping else "server/discover"
        self._calls.run(self._enclose(outgoing(method, what="ping"), None), manner)

    def _say(self, what: str, manner: Manner, say: Callable[[Agreement, Manner], None]) -> None:
        """Say something in the words of the server's revision; once more if that changed while we waited."""
        agreement, manner = self._agreed(what, manner)
        try:
            say(agreement, manner)
        except errors.CapabilityMissing:
            newer = self._agreement(what)
            if newer.revision is agreement.revision:
                raise
            say(newer, manner)

    def set_logging_level(
        self, level: types.LogLevel, *, timeout: float | None = None, wait: bool = False
    ) -> None:
        """Ask for log messages of at least this level; see `on_log`. It outlives a lost connection.

        Since 2026-07-28 each request says so itself; up to then the server is told once.
        """
        check_level(level)
        request = outgoing("logging/setLevel", {"level": level})

        def say(agreement: Agreement, manner: Manner) -> None:
            if agreement.revision.stateless:
                check_offer(request, "logging", agreement, self._transport.label)
                self._standing.choose_level(level)
            else:
                self._calls.run(self._enclose(request, None), manner)

        self._say(request.what, self._manner(timeout, wait=wait), say)

    def send_roots_changed(self) -> None:
        """Tell the server that the roots have changed.

        Since 2026-07-28 servers ask whenever they need them, so there is nothing to tell; nor is there while
        no server was ever reached, or if this client offers no roots.
        """
        agreement = self._known_agreement()
        told = agreement is not None and ROOTS_CHANGED in agreement.revision.client_notifications
        if told and self._options.roots is not None:
            connection = self._calls.tree("the roots were not sent").connection
            if connection is not None:
                connection.tell(Notified(ROOTS_CHANGED, None))

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressHandler | None = None,
        wait: bool = False,
    ) -> codec.Json:
        """Anything else: send ``method`` and return the result as plain JSON."""
        given = None if params is None else check_mapping("params", params)
        request = self._enclose(outgoing(check_text("method", method), given), None)
        manner = self._manner(timeout, on_progress, wait=wait)
        return decoded(self._calls.run(request, manner), method)
