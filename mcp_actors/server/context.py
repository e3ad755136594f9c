"""Context: what a handler can do besides returning a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.protocol import codec, types
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.protocol.serving.terms import LEVELS
from mcp_actors.server.as_task import AsTask
from mcp_actors.server.asking import Asker
from mcp_actors.server.call import Call
from mcp_actors.server.faults import RequestCancelled
from mcp_actors.server.questions import Elicit, Elicited, Question, Roots, Sample

if TYPE_CHECKING:
    from mcp_actors.server.authorization.principal import Principal
    from mcp_actors.server.server import Server

#: How long a person, or a model, may take.
ASK_SECONDS: Final = 300.0


class Context:
    """Belongs to one request. Its methods may be called by any thread that works on it.

    ``prefix`` begins the names of its questions that were given none.
    """

    def __init__(self, server: Server, call: Call, asker: Asker, lifespan: Any, prefix: str = "") -> None:
        self.server = server
        self.lifespan = lifespan
        """What the server's lifespan gave."""
        self._call = call
        self._asker = asker
        self._asked: Counter[str] = Counter()
        self._prefix = prefix

    # The request.

    @property
    def request_id(self) -> int | str:
        """The id that the client gave to its request."""
        return self._call.job.id

    @property
    def method(self) -> str:
        """What the client asked for."""
        return self._call.job.method

    @property
    def protocol_version(self) -> str:
        """The revision under which the request is served."""
        return self._call.job.terms.revision.version

    @property
    def client_info(self) -> JsonObject | None:
        """What the client says it is. For display only: it is not verified."""
        return self._call.job.terms.client_info

    @property
    def client_capabilities(self) -> JsonObject:
        """What the client declared."""
        return self._call.job.terms.capabilities

    @property
    def meta(self) -> JsonObject:
        """The ``_meta`` of the request: trace context, the client's own keys."""
        return self._call.job.terms.meta

    @property
    def principal(self) -> Principal | None:
        """On whose behalf the request came, where the server checks tokens."""
        return self._call.principal

    # News for the client.

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Say how far the work is. Sent if the client asked for it; a step back is not."""
        if isinstance(progress, bool) or not isinstance(progress, int | float):
            raise TypeError(f"progress must be a number, not {type(progress).__name__}")
        params: JsonObject = {"progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        codec.encode(params)  # NaN is the caller's mistake, and must be raised here
        self._call.say("notifications/progress", params)

    def log(self, level: str, data: Json, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants to hear that level."""
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        params: JsonObject = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        # A copy: it is written when the session has its turn, and what it was made of may change meanwhile.
        self._call.say("notifications/message", _snapshot(params))

    def debug(self, data: Json, logger: str | None = None) -> None:
        """Log at level ``debug``."""
        self.log("debug", data, logger)

    def info(self, data: Json, logger: str | None = None) -> None:
        """Log at level ``info``."""
        self.log("info", data, logger)

    def warning(self, data: Json, logger: str | None = None) -> None:
        """Log at level ``warning``."""
        self.log("warning", data, logger)

    def error(self, data: Json, logger: str | None = None) -> None:
        """Log at level ``error``."""
        self.log("error", data, logger)

    # Cancellation.

    @property
    def cancelled(self) -> bool:
        """Whether the client does not want the answer any more: long work should look now and then."""
        return bool(self._call.cancellation)

    def check_cancelled(self) -> None:
        """Raise `RequestCancelled` if the client does not want the answer any more."""
        if self._call.cancellation:
            raise RequestCancelled(self._call.cancellation.reason or "cancelled")

    def sleep(self, seconds: float) -> None:
        """Wait, unless the request is cancelled meanwhile: then `RequestCancelled` is raised at once."""
        if self._call.cancellation.wait(seconds):
            self.check_cancelled()

    def close_connection(self) -> None:
        """Let go of the connection that the client waits on; it comes back for the answer (2025-11-25 over
        HTTP). For work that outlasts what proxies allow. Does nothing where that is not possible."""
        self._call.peer.close_connection(self.request_id)

    # Tasks.

    def as_task(self, work: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Return this to answer at once and go on as a task: ``work(*args, **keywords)`` gives the result.

        Ask the client before, not in it. A client that knows no tasks waits for the result instead.
        """
        return AsTask(partial(work, *args, **keywords))

    # Questions to the client.

    def elicit(
        self,
        message: str,
        form: type | JsonObject,
        *,
        key: str | None = None,
        timeout: float = ASK_SECONDS,
    ) -> Elicited:
        """Ask the user to fill in a form: a flat dataclass, TypedDict or Struct, or a JSON Schema.

        From 2026-07-28 on the handler is run again, from its start, when the answer is there: do nothing
        before it that must not be done twice. ``key`` names the question among those of one request.
        """
        return self._one(Elicit(message, form), key, timeout)  # type: ignore[no-any-return]

    def elicit_url(
        self, message: str, url: str, *, key: str | None = None, timeout: float = ASK_SECONDS
    ) -> Elicited:
        """Ask the user to visit a page, for what must not pass through the client."""
        return self._one(Elicit(message, url=url), key, timeout)  # type: ignore[no-any-return]

    def sample(
        self,
        messages: str | Sequence[types.SamplingMessage | JsonObject],
        *,
        max_tokens: int = 1000,
        key: str | None = None,
        timeout: float = ASK_SECONDS,
        **options: Any,
    ) -> types.CreateMessageResult:
        """Ask the client's model. ``options`` are those of ``sampling/createMessage``, in snake case."""
        return self._one(Sample(messages, max_tokens, options), key, timeout)  # type: ignore[no-any-return]

    def roots(self, *, key: str | None = None, timeout: float = ASK_SECONDS) -> list[types.Root]:
        """The folders that the client works on."""
        return self._one(Roots(), key, timeout)  # type: ignore[no-any-return]

    def ask(self, questions: Mapping[str, Question], *, timeout: float = ASK_SECONDS) -> dict[str, Any]:
        """Ask several things at once: `Elicit`, `Sample` and `Roots`, by keys of your choice."""
        # What has no JSON form is the caller's mistake, and must be raised here.
        requests = _snapshot({key: one.request() for key, one in questions.items()})
        given = self._asker.ask(requests, timeout)
        return {key: self._understood(key, one, given[key]) for key, one in questions.items()}

    def _one(self, question: Question, key: str | None, timeout: float) -> Any:
        if key is None:
            # The same each time the handler runs, as long as it asks in the same order.
            self._asked[question.kind] += 1
            key = f"{self._prefix}{question.kind}-{self._asked[question.kind]}"
        return self.ask({key: question}, timeout=timeout)[key]

    def _understood(self, key: str, question: Question, given: JsonObject) -> Any:
        try:
            return question.understand(given)
        except codec.DecodeFailed as error:
            raise self._asker.misfit(f"the client's answer to {key!r} does not fit: {error}") from None


def _snapshot(value: JsonObject) -> JsonObject:
    """What it would be on the wire now. Raises TypeError or ValueError if it has no JSON form."""
    copy: JsonObject = codec.decode(codec.encode(value))
    return copy
