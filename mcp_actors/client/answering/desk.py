"""The desk at which a server's questions arrive, in either era: what is offered, and who answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_actors.client.answering.consultation import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Unanswered,
    logger,
)
from mcp_actors.client.outgoing import check_mapping
from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import JsonObject
from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.revisions import Revision, client_capability_for
from mcp_actors.protocol.types import declares
from mcp_actors.telemetry.redaction import printable

if TYPE_CHECKING:
    from mcp_actors.client.answering.elicitation import ElicitationDesk, ElicitationHandler
    from mcp_actors.client.answering.roots import Roots, RootsDesk
    from mcp_actors.client.answering.sampling import SamplingDesk, SamplingHandler

__all__ = ["Desk", "Unanswered"]

_ROOTS: Final = "roots/list"
_SAMPLING: Final = "sampling/createMessage"
_ELICITATION: Final = "elicitation/create"
_MODES: Final = ("form", "url")


class Desk:
    """Answers what a server may ask of a client. Immutable, so that any thread may ask it.

    Args:
        roots: where the server may work: paths and ``file://`` URIs, or a function that returns them.
        sampling_handler: gets `CreateMessageParams`, returns what the model said.
        sampling_tools: whether the sampling handler can use tools that the server brings (2025-11-25).
        elicitation_handler: gets a form or a page, returns what the user did.
        elicitation_modes: which of the two the handler can present.
        experimental: capabilities beyond the protocol, declared as they are.
        extensions: extensions of the protocol, by their prefixed id (2026-07-28).

    Raises:
        TypeError, ValueError: one of these is not what it should be.
    """

    def __init__(
        self,
        *,
        roots: Roots | None = None,
        sampling_handler: SamplingHandler | None = None,
        sampling_tools: bool = False,
        elicitation_handler: ElicitationHandler | None = None,
        elicitation_modes: Iterable[str] = ("form",),
        experimental: Mapping[str, Any] | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        self._roots = None if roots is None else _roots_desk(roots)
        self._sampling = None if sampling_handler is None else _sampling_desk(sampling_handler)
        self._elicitation = None if elicitation_handler is None else _elicitation_desk(elicitation_handler)
        if sampling_tools and sampling_handler is None:
            raise ValueError("sampling_tools needs a sampling_handler that can use them")
        modes = _modes(elicitation_modes)
        self.offer: Final = Offer(
            roots=roots is not None,
            sampling=sampling_handler is not None,
            sampling_tools=bool(sampling_tools),
            elicitation=modes if elicitation_handler is not None else (),
            experimental=_declared("experimental", experimental),
            extensions=_extensions(extensions),
        )

    def serves(self, method: str) -> bool:
        """Whether there is anybody to answer ``method``, in some revision at least."""
        desks = {_ROOTS: self._roots, _SAMPLING: self._sampling, _ELICITATION: self._elicitation}
        return desks.get(method) is not None

    def answer(self, method: str, params: JsonObject | None, revision: Revision) -> JsonObject:
        """The result object for the wire. Runs the user's code on the calling thread.

        Raises:
            Unanswered: there is no result; nothing else is ever raised.
        """
        try:
            return self._answer(method, params, revision)
        except Unanswered:
            raise
        except BaseException as error:
            logger.warning("no answer to %s", printable(method, 80), exc_info=True)
            raise Unanswered(INTERNAL_ERROR, f"the client failed: {type(error).__name__}") from error

    def _answer(self, method: str, params: JsonObject | None, revision: Revision) -> JsonObject:
        said = self.offer.capabilities(revision)
        gate = client_capability_for(method, revision)
        if gate is None or not declares(said, gate) or not self.serves(method):
            raise Unanswered(METHOD_NOT_FOUND, f"this client does not offer {printable(method, 80)}")
        given = {} if params is None else params
        if not isinstance(given, dict):
            raise Unanswered(INVALID_PARAMS, f"{method}: expected `object` - at `$`")
        if self._sampling is not None and method == _SAMPLING:
            return self._sampling.answer(given, revision, tools=declares(said, "sampling.tools"))
        if self._elicitation is not None and method == _ELICITATION:
            # Where modes have no names yet, an empty object stands for forms.
            return self._elicitation.answer(given, modes=tuple(said["elicitation"]) or ("form",))
        assert self._roots is not None  # it serves the method, and the two others are dealt with
        return self._roots.answer()


# Most clients offer nothing: what it takes to answer is imported when somebody does.


def _roots_desk(roots: Roots) -> RootsDesk:
    from mcp_actors.client.answering.roots import RootsDesk

    return RootsDesk(roots)


def _sampling_desk(handler: SamplingHandler) -> SamplingDesk:
    from mcp_actors.client.answering.sampling import SamplingDesk

    return SamplingDesk(handler)


def _elicitation_desk(handler: ElicitationHandler) -> ElicitationDesk:
    from mcp_actors.client.answering.elicitation import ElicitationDesk

    return ElicitationDesk(handler)


def _modes(modes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(modes, str) or not isinstance(modes, Iterable):
        raise TypeError('elicitation_modes must be a tuple such as ("form", "url")')
    given = tuple(modes)
    if not given or any(mode not in _MODES for mode in given):
        raise ValueError(f'elicitation_modes must be "form", "url" or both, not {given!r}')
    return tuple(mode for mode in _MODES if mode in given)


def _declared(option: str, capabilities: Mapping[str, Any] | None) -> JsonObject:
    """A private copy, made of what can be sent. An actor encodes it, which would not survive the rest."""
    given = {} if capabilities is None else check_mapping(option, capabilities)
    for name, settings in given.items():
        if not isinstance(name, str) or not isinstance(settings, Mapping):
            raise TypeError(
                f"{option} must map names to objects; {name!r} is mapped to {type(settings).__name__}"
            )
    try:
        copy: JsonObject = codec.decode(codec.encode(given))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{option} must be JSON: {error}") from None
    return copy


def _extensions(extensions: Mapping[str, Any] | None) -> JsonObject:
    declared = _declared("extensions", extensions)
    for name in declared:
        prefix, slash, _ = name.partition("/")
        if not (prefix and slash):
            # MCP 2026-07-28, basic: the prefix of an extension's id is mandatory.
            raise ValueError(f"the id of an extension is a prefix, a slash and a name, not {name!r}")
    return declared
