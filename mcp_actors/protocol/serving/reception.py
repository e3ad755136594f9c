"""Reception: the client's requests, from the first check to the one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from mcp_actors.protocol import codec, jsonrpc
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.jsonrpc import Id
from mcp_actors.protocol.serving import entry, frames
from mcp_actors.protocol.serving.actions import Action, Heard, Run, Send, Violation
from mcp_actors.protocol.serving.bundles import Bundle, Bundles, array
from mcp_actors.protocol.serving.events import Said
from mcp_actors.protocol.serving.finishing import finished
from mcp_actors.protocol.serving.keepsake import Keepsake
from mcp_actors.protocol.serving.listens import MAX_WATCHED, Listens, listen_of
from mcp_actors.protocol.serving.news import CORE_TASK_STATUS, FILTERS, METHODS, News, covers
from mcp_actors.protocol.serving.policy import SessionPolicy
from mcp_actors.protocol.serving.profile import Profile
from mcp_actors.protocol.serving.terms import LEVELS, Job, Refused, Terms, has
from mcp_actors.protocol.types.lifecycle import SERVER_INFO
from mcp_actors.protocol.types.subscriptions import SUBSCRIPTION_ID

#: What a client says about itself, and what it subscribes to, is kept as long as its session.
MAX_INTRODUCTION: Final = 256 * 1024
MAX_URI: Final = 8 * 1024
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class _Running(Struct):
    """A job under way, and how far it said it was."""

    job: Job
    progress: float | None = None


class Reception:
    """What runs, what listens, and what was agreed on."""

    def __init__(
        self,
        profile: Callable[[], Profile],
        policy: SessionPolicy,
        out: list[Action],
        agreed: Terms | None,
    ) -> None:
        self._profile = profile
        self._policy = policy
        self._out = out
        self._bundles = Bundles()
        self._watched: set[str] = set()
        self._chosen_level: str | None = None
        self.agreed = agreed
        self.running: dict[Id, _Running] = {}
        self.listens = Listens()

    @property
    def greeted(self) -> bool:
        """Whether a handshake was begun."""
        return self.agreed is not None

    @property
    def keepsake(self) -> Keepsake | None:
        """What was agreed on and set; None before anything was. Any thread: the set is copied in one step."""
        agreed = self.agreed
        if agreed is None:
            return None
        return Keepsake(
            agreed.revision.version,
            agreed.capabilities,
            agreed.client_info,
            self._chosen_level,
            tuple(sorted(self._watched)),
        )

    def resume(self, keepsake: Keepsake) -> bool:
        """Go on where another process was. False if the revision is none that is spoken here."""
        revision = self._profile().revision(keepsake.version, stateless=False)
        if revision is None:
            return False
        self.agreed = Terms(revision, keepsake.capabilities, keepsake.client_info)
        self._chosen_level = keepsake.log_level
        self._watched = set(keepsake.watched)
        return True

    # Requests.

    def serve(self, request: jsonrpc.Request, modern: bool) -> None:
        """Check a request and answer it, or have it answered."""
        if self._repeats(request.id):
            return
        params = entry.params_of(request)
        verdict = params if isinstance(params, Refused) else self._admit(request, params, modern)
        if isinstance(verdict, Refused):
            self.refuse(request.id, verdict)
        elif isinstance(verdict, Job):
            self._begin(verdict)

    def counts_as_agreed(self, request: jsonrpc.Request, modern: bool) -> bool:
        """Whether a request shows that the client takes the handshake for finished. A ping does not."""
        if modern or request.method in ("ping", "initialize"):
            return False
        params = entry.params_of(request)
        return not isinstance(params, Refused) and not entry.describes_itself(params)

    def unpack(self, batch: jsonrpc.Batch) -> tuple[jsonrpc.Single, ...]:
        """The messages of an array, where the revision has arrays."""
        ids = [message.id for message in batch.messages if isinstance(message, jsonrpc.Request)]
        if self.agreed is None or not self.agreed.revision.has_batching:
            reason = "arrays of messages belong to revision 2025-03-26"
        elif len(set(ids)) < len(ids) or any(map(self._under_way, ids)):
            reason = "requests in an array need ids of their own"
        else:
            self._gather(ids, batch)
            return batch.messages
        # Whoever waits on a stream of its own must hear of it there.
        about = next((id_ for id_ in ids if not self._under_way(id_)), None)
        self._object("batch", reason, about)
        return ()

    def turn_away(self, request: jsonrpc.Request) -> None:
        """It is too late for another request."""
        if not self._repeats(request.id):
            self.refuse(request.id, Refused(jsonrpc.INTERNAL_ERROR, "the server is shutting down"))

    def refuse(self, id_: Id, refused: Refused) -> None:
        """Answer a request with an error."""
        self.running.pop(id_, None)
        self._answer(id_, frames.failure(id_, frames.error_body(refused)), refused.code)

    def conclude(self, id_: Id, body: bytes, code: int | None) -> None:
        """A running job has its answer."""
        del self.running[id_]
        frame = frames.answer(id_, body) if code is None else frames.failure(id_, body)
        self._answer(id_, frame, code)

    def cancel(self, id_: Id, *, tell: bool) -> None:
        """Forget a request; ``tell``: say that it gets no answer."""
        ran = self.running.pop(id_, None) is not None
        # Of an array the other requests still wait for their answers.
        if (self.listens.close(id_) or ran) and (tell or id_ in self._bundles):
            self._answer(id_, b"", None)

    def abandon(self) -> Iterable[Id]:
        """The client is gone: forget everything; the ids of what runs."""
        running = tuple(self.running)
        self.running.clear()
        self._bundles.clear()
        for listen in self.listens:
            self.listens.close(listen.id)
        return running

    # News for the client.

    def say(self, said: Said) -> None:
        """Progress or a log message of a job, if its client wants to hear it."""
        running = self.running.get(said.id)
        if running is None:
            return
        params: JsonObject | None
        if said.method == "notifications/progress":
            params = self._progress(running, said.params)
        else:
            params = said.params if self._wants(said.params["level"], running.job.terms) else None
        if params is not None:
            self._out.append(Send(frames.notification(said.method, params), said.id, news=True))

    def publish(self, news: News, *, ready: bool) -> None:
        """A change: once for each stream that asked for it, and once for the session."""
        params = {"uri": news.key} if news.kind == "updated" else news.params
        method = METHODS[news.kind]
        for listen in self.listens:
            if listen.wants(news):
                tagged = {**params, "_meta": {SUBSCRIPTION_ID: listen.id}}
                self._out.append(Send(frames.notification(method, tagged), listen.id, news=True))
        if ready and self.agreed is not None and self._concerns(news, self.agreed):
            if news.core:
                method = CORE_TASK_STATUS
            self._out.append(Send(frames.notification(method, params), None, news=True))

    def end_listens(self) -> None:
        """End all streams in good order."""
        for listen in self.listens:
            self.listens.close(listen.id)
            meta = {SERVER_INFO: self._profile().info, SUBSCRIPTION_ID: listen.id}
            result = {"resultType": "complete", "_meta": meta}
            self._answer(listen.id, frames.answer(listen.id, codec.encode(result)), None)

    # Inside.

    def _under_way(self, id_: Id) -> bool:
        return id_ in self.running or id_ in self.listens

    def _repeats(self, id_: Id) -> bool:
        """Whether the id is taken; then the client is told, and the request that has it goes on."""
        taken = self._under_way(id_)
        if taken:
            self._object("duplicate", "a request with this id is under way")
        return taken

    def _object(self, kind: str, reason: str, about: Id | None = None) -> None:
        """Say that a message was not taken. Under no id: that of the message may belong to another."""
        self._out.append(Violation(kind, reason))
        refused = Refused(jsonrpc.INVALID_REQUEST, reason)
        self._out.append(Send(frames.unnamed(refused), about, final=about is not None, code=refused.code))

    def _gather(self, ids: list[Id], batch: jsonrpc.Batch) -> None:
        """Have the answers to an array sent as one, with the errors that are known already."""
        unread = [message for message in batch.messages if isinstance(message, jsonrpc.Malformed)]
        errors = [frames.unnamed(Refused(message.code, message.reason)) for message in unread]
        if ids:
            self._bundles.open(Bundle(ids, errors))
        elif errors:
            self._out.append(Send(array(errors), None, code=jsonrpc.INVALID_REQUEST))

    def _admit(self, request: jsonrpc.Request, params: JsonObject, modern: bool) -> Job | Refused | None:
        profile = self._profile()
        if modern or entry.describes_itself(params):
            if request.id in self._bundles:
                return Refused(jsonrpc.INVALID_REQUEST, "this revision has no arrays of messages")
            return entry.admit_stateless(request, params, profile)
        if request.method == "initialize":
            return self._initialize(request, params, profile)
        if self.agreed is not None:
            return entry.admit_agreed(request, params, profile, self.agreed)
        handshake = profile.newest_handshake()
        if handshake is None:
            return entry.unsupported("none", profile)
        if request.method not in handshake.requests:
            return entry.no_such_method(request.method)
        if request.method != "ping":
            return Refused(jsonrpc.INVALID_REQUEST, f"{request.method} came before initialize")
        return Job(request.id, "ping", params, Terms(handshake, {}))

    def _initialize(self, request: jsonrpc.Request, params: JsonObject, profile: Profile) -> Refused | None:
        if self.agreed is not None:
            return Refused(jsonrpc.INVALID_REQUEST, "this session is initialized already")
        if request.params is not None and len(memoryview(request.params)) > MAX_INTRODUCTION:
            return Refused(jsonrpc.INVALID_PARAMS, f"the params are above {MAX_INTRODUCTION} bytes")
        terms = entry.agree(params, profile)
        if isinstance(terms, Refused):
            return terms
        self.agreed = terms
        result: JsonObject = {
            "protocolVersion": terms.revision.version,
            "capabilities": profile.said(terms.revision),
            "serverInfo": profile.info,
        }
        if profile.instructions is not None:
            result["instructions"] = profile.instructions
        self._answer(request.id, frames.answer(request.id, codec.encode(result)), None)
        return None

    def _begin(self, job: Job) -> None:
        own = _OWN.get(job.method)
        if own is None:
            if len(self.running) >= self._policy.max_running:
                self.refuse(job.id, Refused(jsonrpc.INTERNAL_ERROR, "too many requests at once"))
                return
            self.running[job.id] = _Running(job)
            self._out.append(Run(job))
            return
        result = own(self, job)
        if isinstance(result, Refused):
            self.refuse(job.id, result)
        elif result is not None:
            profile = self._profile()
            told = finished(
                result,
                job.method,
                job.terms.revision,
                info=profile.info,
                freshness=self._policy.freshness,
            )
            self._answer(job.id, frames.answer(job.id, codec.encode(told)), None)

    def _answer(self, id_: Id, frame: bytes, code: int | None) -> None:
        """The last word about a request; one that came in an array waits for the others."""
        bundle = self._bundles.take(id_)
        if bundle is None:
            self._out.append(Send(frame, id_, final=True, code=code))
            return
        whole = bundle.add(id_, frame)
        if whole is not None:
            self._out.append(Send(whole, bundle.first, final=True))

    def _discover(self, job: Job) -> JsonObject:
        profile = self._profile()
        result: JsonObject = {
            "supportedVersions": profile.versions,
            "capabilities": profile.said(job.terms.revision),
        }
        if profile.instructions is not None:
            result["instructions"] = profile.instructions
        return result

    def _set_level(self, job: Job) -> JsonObject | Refused:
        level = job.params.get("level")
        if level not in LEVELS:
            return Refused(jsonrpc.INVALID_PARAMS, f"level must be one of {', '.join(LEVELS)}")
        self._chosen_level = level
        return {}

    def _subscribe(self, job: Job) -> JsonObject | Refused:
        uri = job.params.get("uri")
        if not isinstance(uri, str):
            return Refused(jsonrpc.INVALID_PARAMS, "uri must be a string")
        if len(uri) > MAX_URI:
            return Refused(jsonrpc.INVALID_PARAMS, f"uri must not be longer than {MAX_URI} characters")
        if len(self._watched) >= MAX_WATCHED and uri not in self._watched:
            return Refused(jsonrpc.INVALID_PARAMS, f"more than {MAX_WATCHED} subscriptions")
        self._watched.add(uri)
        self._out.append(Heard(job.method, job.params))
        return {}

    def _unsubscribe(self, job: Job) -> JsonObject | Refused:
        uri = job.params.get("uri")
        if not isinstance(uri, str):
            return Refused(jsonrpc.INVALID_PARAMS, "uri must be a string")
        self._watched.discard(uri)
        self._out.append(Heard(job.method, job.params))
        return {}

    def _listen(self, job: Job) -> Refused | None:
        if len(self.listens) >= self._policy.max_listens:
            return Refused(jsonrpc.INTERNAL_ERROR, f"more than {self._policy.max_listens} streams at once")
        listen = listen_of(job, self._profile().said(job.terms.revision))
        if isinstance(listen, Refused):
            return listen
        self.listens.open(listen)
        # MCP 2026-07-28, subscriptions: nothing precedes the acknowledgement.
        params = {"notifications": listen.granted(), "_meta": {SUBSCRIPTION_ID: job.id}}
        self._out.append(Send(frames.notification(_ACKNOWLEDGED, params), job.id))
        return None

    def _progress(self, running: _Running, params: JsonObject) -> JsonObject | None:
        token = running.job.terms.progress_token
        progress = params["progress"]
        # MCP, progress: only for those who asked, and only forward.
        if token is None or (running.progress is not None and progress <= running.progress):
            return None
        running.progress = progress
        return {"progressToken": token, **params}

    def _wants(self, level: str, terms: Terms) -> bool:
        threshold = terms.log_level if terms.revision.stateless else self._level
        return threshold is not None and LEVELS.index(level) >= LEVELS.index(threshold)

    @property
    def _level(self) -> str:
        return self._chosen_level or self._policy.log_level

    def _concerns(self, news: News, agreed: Terms) -> bool:
        if news.kind == "updated":
            return any(covers(uri, news.key) for uri in self._watched)
        if news.kind == "task":
            return news.core and CORE_TASK_STATUS in agreed.revision.server_notifications
        said = self._profile().said(agreed.revision)
        return any(kind == news.kind and has(said, path) for kind, path in FILTERS.values())


#: The few requests that need nobody's code but ours.
_OWN: Final[dict[str, Callable[[Reception, Job], JsonObject | Refused | None]]] = {
    "server/discover": Reception._discover,
    "ping": lambda _reception, _job: {},
    "logging/setLevel": Reception._set_level,
    "resources/subscribe": Reception._subscribe,
    "resources/unsubscribe": Reception._unsubscribe,
    "subscriptions/listen": Reception._listen,
}
#: What a session answers in the turn in which it comes: nobody waits for that.
AT_ONCE: Final = frozenset(_OWN) - {"subscriptions/listen"} | {"initialize"}
