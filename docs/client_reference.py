"""The client's public face as text, read from the code, for reference/client.md. See `generate.py`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Final

from mcp_actors.client.batch import Batch, BatchCall
from mcp_actors.client.client import Client
from mcp_actors.client.faces.face import Face
from mcp_actors.client.faces.news import NewsFace
from mcp_actors.client.faces.prompts import PromptFace
from mcp_actors.client.faces.resources import ResourceFace
from mcp_actors.client.faces.session import SessionFace
from mcp_actors.client.faces.tools import ToolFace
from mcp_actors.client.options import ClientOptions, CommonOptions
from mcp_actors.client.pages import Pages
from mcp_actors.client.tasks.handle import TaskHandle
from mcp_actors.client.toolbox import Toolbox

#: What each option means. An option without a meaning, or a meaning without an option, is an error here.
MEANINGS: Final = {
    "request_timeout": "seconds that a request may take, where it says no `timeout`",
    "init_timeout": "seconds for one attempt to connect; 60 for `uvx`, `npx`, `docker` and their like",
    "backoff_min": "seconds before the first attempt to reconnect; doubled with each further one",
    "backoff_max": "the most seconds between two attempts",
    "backoff_jitter": "by which fraction these times differ at random, to both sides",
    "max_frame_bytes": "the largest message, in and out",
    "max_in_flight": "how many calls may wait at the same time",
    "window": "how many deliveries may be on their way from the reader to the connection",
    "frames_per_permit": "at most so many frames in one delivery; None: those of one read",
    "max_failed_starts": "after so many failures a server that was never ready is parked",
    "protocol": 'a revision such as `"2025-11-25"`, or `"auto"`: [find out](../howto/protocol-revisions.md)',
    "client_info": "how the client introduces itself: `name`, `version` and more",
    "roots": "where the server may work: paths, or a function that returns them; [roots](../howto/roots.md)",
    "sampling_handler": "answers for the model; [sampling](../howto/sampling.md)",
    "sampling_tools": "whether that handler can deal with tools",
    "elicitation_handler": "answers for the user; [elicitation](../howto/elicitation.md)",
    "elicitation_modes": 'what that handler can show: `"form"`, `"url"`',
    "log_handler": "the first `on_log` handler; [log messages](../howto/logging.md)",
    "experimental": "capabilities to declare beyond the protocol, by name",
    "extensions": "extensions to declare, by their id; [extensions](../howto/extensions-and-experimental.md)",
    "trace_context": "called before each request; what it returns goes along; [tracing](../howto/tracing.md)",
    "keep_alive": "seconds of silence after which an idle server is pinged; None: never",
    "validate_output": "whether results must fit; [structured output](../howto/structured-output.md)",
    "use_cache": "whether answers are kept as the server allows; [caching](../howto/caching.md)",
    "notification_overflow": 'when handlers are too slow: `"drop_oldest"`, or `"block"` the reader',
    "name": "a name for logs and errors, under which `mcp_actors.registry` finds the client",
}
_MIB: Final = 1024 * 1024
#: Methods that other parts of the package call; no user should.
INSIDE: Final = {"result_by", "withdraw", "answered", "sent", "learn"}


def client_options() -> Iterator[str]:
    """Every option with its default and its meaning."""
    defaults = {field.name: field.default for field in fields(ClientOptions)}
    for names in (set(defaults), set(CommonOptions.__annotations__)):
        if names != set(MEANINGS):
            raise SystemExit(f"the options and their meanings differ: {names ^ set(MEANINGS)}")
    yield "| option | default | meaning |"
    yield "|---|---|---|"
    for name, default in defaults.items():
        yield f"| `{name}` | `{shown(default)}` | {MEANINGS[name]} |"


def face(*kinds: type, ways: bool | None = None) -> Callable[[], Iterator[str]]:
    """The public members of one part of the face; ``ways``: only the constructors, or all but those."""

    def lines() -> Iterator[str]:
        for kind in kinds:
            for name, member in vars(kind).items():
                if name.startswith("_") or name in INSIDE:
                    continue
                if ways is None or ways == isinstance(member, classmethod):
                    yield f"- {described(name, member)}"

    return lines


def described(name: str, member: Any) -> str:
    """A member as a line of a list."""
    if isinstance(member, property):
        return f"`{name}: {_returned(member.fget)}`<br>{sentence(member)}"
    function = member.__func__ if isinstance(member, classmethod) else member
    given = ", ".join(parameters(inspect.signature(function)))
    prefix = "Client." if isinstance(member, classmethod) else ""
    return f"`{prefix}{name}({given}) -> {_returned(function)}`<br>{sentence(function)}"


def parameters(signature: inspect.Signature, *, bound: int = 1) -> Iterator[str]:
    """What is given in a call; the first, ``self``, is not."""
    starred = False
    previous = None
    for name, parameter in list(signature.parameters.items())[bound:]:
        if previous is parameter.POSITIONAL_ONLY and parameter.kind is not previous:
            yield "/"
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        if parameter.kind is parameter.VAR_KEYWORD:
            yield f"**{name}"
        elif parameter.kind is parameter.VAR_POSITIONAL:
            yield f"*{name}"
        else:
            default = "" if parameter.default is parameter.empty else f" = {shown(parameter.default)}"
            yield f"{name}: {_typed(parameter.annotation)}{default}"
        previous = parameter.kind


def _returned(function: Any) -> str:
    return _typed(function.__annotations__["return"])


def _typed(annotation: Any) -> str:
    # Annotations are text, for every module postpones their evaluation; but those of structs are resolved.
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text) if text is not annotation else text.replace("'", '"')


def sentence(documented: Any) -> str:
    """The first paragraph of a docstring."""
    paragraph = (inspect.getdoc(documented) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("``", "`")


def shown(value: object) -> str:
    """A default as people write it: not 16777216."""
    if isinstance(value, int) and value and value % _MIB == 0:
        return f"{value // _MIB} * 1024 * 1024"
    return repr(value).replace("'", '"')


SECTIONS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "client-ways": face(Client, ways=True),
    "client-options": client_options,
    "client-lifecycle": face(Client, Face, ways=False),
    "client-session": face(SessionFace),
    "client-tools": face(ToolFace),
    "client-resources": face(ResourceFace),
    "client-prompts": face(PromptFace),
    "client-news": face(NewsFace),
    "toolbox": face(Toolbox),
    "task-handle": face(TaskHandle),
    "batch": face(Batch, BatchCall),
    "pages": face(Pages),
}
