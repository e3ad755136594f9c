"""What a client can be told, checked once at the border."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from mcp_actors.client.answering.desk import Desk
from mcp_actors.client.outgoing import check_mapping, check_text
from mcp_actors.protocol import codec
from mcp_actors.protocol.backoff import Backoff
from mcp_actors.protocol.envelope import Identity
from mcp_actors.protocol.handshake import candidates
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.policy import Policy
from mcp_actors.protocol.types.log_messages import LogMessageParams
from mcp_actors.version import VERSION

#: Why the tombstones outlive timeout, handshake and backoff by a little: timers are not exact.
_TOMBSTONE_MARGIN = 5.0
#: The shutdown ladder takes 6 s at worst; closing may take that long and a little more.
LADDER_SECONDS = (2.0, 2.0, 2.0)


if TYPE_CHECKING:
    import os

    from mcp_actors.auth.coercion import Auth
    from mcp_actors.client.answering.elicitation import ElicitationHandler
    from mcp_actors.client.answering.roots import Roots
    from mcp_actors.client.answering.sampling import SamplingHandler
    from mcp_actors.transports.http.settings import Headers
    from mcp_actors.transports.http.tls import Verify

LogHandler: TypeAlias = Callable[[LogMessageParams], object]
TraceContext: TypeAlias = Callable[[], Mapping[str, str]]


class CommonOptions(TypedDict, total=False):
    """What every constructor of a client takes; see `ClientOptions` for the defaults."""

    request_timeout: float
    init_timeout: float
    backoff_min: float
    backoff_max: float
    backoff_jitter: float
    max_frame_bytes: int
    max_in_flight: int
    window: int
    frames_per_permit: int | None
    max_failed_starts: int
    protocol: str
    client_info: Mapping[str, Any] | None
    roots: Roots | None
    sampling_handler: SamplingHandler | None
    sampling_tools: bool
    elicitation_handler: ElicitationHandler | None
    elicitation_modes: tuple[str, ...]
    log_handler: LogHandler | None
    experimental: Mapping[str, Any] | None
    extensions: Mapping[str, Any] | None
    trace_context: TraceContext | None
    keep_alive: float | None
    validate_output: bool
    use_cache: bool
    notification_overflow: Literal["drop_oldest", "block"]
    name: str | None


class EveryOption(CommonOptions, total=False):
    """What some constructor of a client takes: for a server that a file says how to reach."""

    auth: Auth | None
    headers: Headers | None
    verify: Verify
    proxies: Mapping[str, str] | None
    env: Mapping[str, str] | None
    cwd: str | os.PathLike[str] | None
    framing: Literal["line", "content-length"]
    inherit_env: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Durations are seconds, sizes bytes."""

    request_timeout: float = 30.0
    init_timeout: float = 10.0
    backoff_min: float = 1.0
    backoff_max: float = 30.0
    backoff_jitter: float = 0.2
    max_frame_bytes: int = 16 * 1024 * 1024
    max_in_flight: int = 1024
    window: int = 1
    frames_per_permit: int | None = None
    max_failed_starts: int = 3
    protocol: str = "auto"
    client_info: Mapping[str, Any] | None = None
    roots: Roots | None = None
    sampling_handler: SamplingHandler | None = None
    sampling_tools: bool = False
    elicitation_handler: ElicitationHandler | None = None
    elicitation_modes: tuple[str, ...] = ("form",)
    log_handler: LogHandler | None = None
    experimental: Mapping[str, Any] | None = None
    extensions: Mapping[str, Any] | None = None
    #: Called before each request; what it returns (traceparent, tracestate, baggage) goes into its ``_meta``.
    trace_context: TraceContext | None = None
    keep_alive: float | None = 30.0
    validate_output: bool = True
    use_cache: bool = True
    notification_overflow: Literal["drop_oldest", "block"] = "drop_oldest"
    name: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ClientOptions:
        """From what somebody wrote, who may have written something else than they meant."""
        known = [field.name for field in fields(cls)]
        for option in options:
            if option not in known:
                from difflib import get_close_matches

                meant = get_close_matches(option, known, 1)
                hint = f"; did you mean {meant[0]!r}?" if meant else ""
                raise TypeError(f"a client has no option {option!r}{hint}")
        return cls(**options)

    def __post_init__(self) -> None:
        for option in ("request_timeout", "init_timeout", "backoff_min", "backoff_max"):
            check_seconds(option, getattr(self, option))
        for option in ("max_frame_bytes", "max_in_flight", "window", "max_failed_starts"):
            _check_count(option, getattr(self, option))
        if self.frames_per_permit is not None:
            _check_count("frames_per_permit", self.frames_per_permit)
        if self.backoff_min > self.backoff_max:
            raise ValueError(f"backoff_min ({self.backoff_min}) is above backoff_max ({self.backoff_max})")
        if not 0 <= _number("backoff_jitter", self.backoff_jitter) < 1:
            raise ValueError(f"backoff_jitter must be at least 0 and below 1, not {self.backoff_jitter}")
        self._check_words()

    def _check_words(self) -> None:
        if self.notification_overflow not in ("drop_oldest", "block"):
            raise ValueError(
                f'notification_overflow must be "drop_oldest" or "block", not {self.notification_overflow!r}'
            )
        if self.name is not None:
            check_text("name", self.name)
        if self.keep_alive is not None:
            check_seconds("keep_alive", self.keep_alive)
        for option in ("log_handler", "trace_context"):
            if getattr(self, option) is not None and not callable(getattr(self, option)):
                raise TypeError(f"{option} must be callable, not {type(getattr(self, option)).__name__}")
        if self.client_info is not None:
            # It is encoded by an actor, which would not survive what has no JSON form.
            codec.encode(check_mapping("client_info", self.client_info))
            _check_info(self.client_info)
        candidates(check_text("protocol", self.protocol))

    def desk(self) -> Desk:
        """What answers servers; it checks the handlers and what is offered with them."""
        return Desk(
            roots=self.roots,
            sampling_handler=self.sampling_handler,
            sampling_tools=self.sampling_tools,
            elicitation_handler=self.elicitation_handler,
            elicitation_modes=self.elicitation_modes,
            experimental=self.experimental,
            extensions=self.extensions,
        )

    def policy(self, offer: Offer, *, silence_tells_era: bool = True) -> Policy:
        """The part of the options that the machine goes by."""
        return Policy(
            silence_tells_era=silence_tells_era,
            identity=Identity(dict(self.client_info or _own_info()), offer),
            protocol=self.protocol,
            init_timeout=self.init_timeout,
            backoff=Backoff(self.backoff_min, self.backoff_max, self.backoff_jitter),
            max_failed_starts=self.max_failed_starts,
            tombstone_ttl=self.request_timeout + self.init_timeout + self.backoff_max + _TOMBSTONE_MARGIN,
            window=self.window,
            keep_alive=self.keep_alive,
            max_held_bytes=self.max_frame_bytes,
            block=self.notification_overflow == "block",
            drain=sum(LADDER_SECONDS) + 1.0,
        )


def check_seconds(option: str, value: object) -> float:
    """A positive, finite number of seconds, or the error that says what is wrong."""
    seconds = _number(option, value)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{option} must be a positive number of seconds, not {value}")
    return seconds


def _number(option: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{option} must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{option} must be a number within reason") from None


def _check_count(option: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{option} must be an integer, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{option} must be at least 1, not {value}")


def _check_info(info: Mapping[str, Any]) -> None:
    for member in ("name", "version"):
        if not isinstance(info.get(member), str):
            raise ValueError(f"client_info must hold a {member}, which is a string")


def _own_info() -> dict[str, Any]:
    return {"name": "mcp-actors", "version": VERSION}
