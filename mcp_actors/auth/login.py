"""A person's login: the authorization request is shown, and its answer waited for."""

from __future__ import annotations

import contextlib
import contextvars
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from mcp_actors.auth.errand import Errand
from mcp_actors.auth.flights import interrupted
from mcp_actors.auth.redirect import Expected, code_from
from mcp_actors.auth.urls import is_loopback, require_safe, shown, with_query
from mcp_actors.errors import AuthorizationFailed
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import Slot, SlotTimeout

__all__ = ["Login", "LoginStyle", "begun_login", "new_state", "open_browser", "redirect_problem"]

_ADDRESS: Final = "the login page"
#: Where a browser is sent if nobody listens: the person copies the address from its failed page.
_NOWHERE: Final = "http://127.0.0.1:33418/callback"

Answer: TypeAlias = str | AuthorizationFailed


class LoginStyle(Struct, frozen=True):
    """How a person takes part: by default a browser on this machine, else through two callables."""

    redirect_uri: str | None = None
    open_url: Callable[[str], object] | None = None
    callback: Callable[[], str] | None = None
    timeout: float = 300.0


def new_state() -> str:
    """What ties an answer to its request."""
    return secrets.token_urlsafe(32)


def redirect_problem(redirect_uri: str, *, listened: bool) -> str | None:
    """Why a browser cannot be sent back there, None if it can."""
    try:
        parts = urlsplit(redirect_uri)
        port = parts.port
    except ValueError:
        return f"redirect_uri is no URL: {shown(redirect_uri)}"
    local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if parts.fragment or not (local or parts.scheme == "https" or (parts.scheme and "." in parts.scheme)):
        return (
            "redirect_uri has to be https, http on this machine, or a scheme of your own (com.example.app:/…)"
        )
    if listened and port == 0:
        return "redirect_uri has to name its port; leave it out for one that is free"
    if listened and not local:
        return "a redirect_uri elsewhere needs callback=, which returns the URL that the browser was sent to"
    return None


@contextlib.contextmanager
def begun_login(errand: Errand, style: LoginStyle, kept: str | None) -> Iterator[Login]:
    """A login with an address to come back to, which listens already; ``kept`` was registered before."""
    if style.callback is not None:
        yield Login(errand, style, style.redirect_uri or kept or _NOWHERE, lambda _state, _answer: None)
        return
    from mcp_actors.auth.listener import listener_for

    if kept is not None and redirect_problem(kept, listened=True):
        # Registered when somebody else brought the answers.
        kept = None
    listener = listener_for(style.redirect_uri, kept)
    try:
        yield Login(errand, style, listener.redirect_uri, listener.listen)
    finally:
        listener.close()


class Login:
    """One login, on the thread of its errand."""

    def __init__(
        self,
        errand: Errand,
        style: LoginStyle,
        redirect_uri: str,
        listen: Callable[[str, Slot[Answer]], object],
    ) -> None:
        self._errand = errand
        self._style = style
        self._listen = listen
        self._answer: Slot[Answer] = Slot()
        self.redirect_uri = redirect_uri

    def code(self, endpoint: str, parameters: dict[str, str], expected: Expected) -> str:
        """Send the person to ``endpoint`` and wait for the authorization code.

        Raises:
            AuthorizationFailed: nobody came back in time, or with no code for us.
        """
        url = require_safe(with_query(endpoint, parameters), _ADDRESS)
        self._errand.confidences.add(expected.state)
        self._errand.flight.cancelled.on_set(lambda _: self._answer.set(interrupted()))
        self._listen(expected.state, self._answer)
        self._errand.enter(f"the login at {shown(endpoint)} is open", login_url=shown(endpoint))
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run,
            args=(_show, self._style, url, self._answer),
            name="mcp-actors-auth-callback",
            daemon=True,
        ).start()
        code = code_from(self._redirected(endpoint), expected, self._errand.confidences.values)
        self._errand.confidences.add(code)
        return code

    def _redirected(self, endpoint: str) -> str:
        try:
            answer = self._answer.wait(Deadline.after(self._style.timeout))
        except SlotTimeout:
            raise AuthorizationFailed(
                f"nobody finished the login at {shown(endpoint)} within {self._style.timeout:g} s; call again"
            ) from None
        if isinstance(answer, AuthorizationFailed):
            raise answer
        return answer


def _show(style: LoginStyle, url: str, answer: Slot[Answer]) -> None:
    """Have the page shown and, where nobody listens for the answer, have that brought.

    On a thread of its own: a browser may return only when it is closed, and a person may never type anything.
    """
    try:
        (style.open_url or open_browser)(url)
    except AuthorizationFailed as error:
        answer.set(error)
        return
    except BaseException as error:  # noqa: BLE001 - told to whoever waits for the answer
        failure = AuthorizationFailed(
            f"{_ADDRESS} {shown(url)} could not be opened: open_url raised {type(error).__name__}"
        )
        failure.__cause__ = error
        answer.set(failure)
        return
    if style.callback is not None:
        _bring(style.callback, answer)


def _bring(callback: Callable[[], str], answer: Slot[Answer]) -> None:
    """Have the user's callable bring the answer."""
    try:
        # object: what a user's callable returns is not known.
        brought: object = callback()
    except BaseException as error:  # noqa: BLE001 - told to whoever waits for the answer
        failure = AuthorizationFailed(f"the login ended: callback raised {type(error).__name__}")
        failure.__cause__ = error
        answer.set(failure)
        return
    if isinstance(brought, str):
        answer.set(brought)
    else:
        answer.set(
            AuthorizationFailed("callback has to return the URL that the browser was sent to, as text")
        )


def open_browser(url: str) -> None:
    """Have the person's browser show ``url``, which was found safe. No shell is involved."""
    import webbrowser

    if not webbrowser.open(url):
        raise AuthorizationFailed(
            "no browser can be opened on this machine; pass open_url= and callback= to log in elsewhere"
        )
