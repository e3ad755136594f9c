"""A server that asks for tokens, with a tool that not everybody may use.

`python protected_server.py serve` serves at http://127.0.0.1:8000/mcp. Without arguments it checks itself.
"""

from __future__ import annotations

import logging
import sys
import threading

from werkzeug.serving import make_server

from mcp_actors import Authorization, Client, Context, Principal, Server, StaticTokens, errors

server = Server("vault", version="1.0")
# Known tokens, for tests and small setups; where an issuer signs them, JwtVerifier takes its place.
tokens = StaticTokens(
    {
        "token-of-ada": Principal("ada", frozenset({"vault:read", "vault:write"})),
        "token-of-bob": Principal("bob", frozenset({"vault:read"})),
    }
)
guard = Authorization(
    tokens,
    resource="http://127.0.0.1:8000/mcp",
    authorization_servers=["https://login.example"],
    scopes=["vault:read"],
    scopes_supported=["vault:read", "vault:write"],
)
secrets: dict[str, str] = {}


@server.tool()
def recall(context: Context) -> str:
    """Your own secret."""
    return secrets.get(_subject(context), "nothing")


@server.tool(scopes={"vault:write"})
def remember(secret: str, context: Context) -> str:
    """Keep a secret, for yourself."""
    secrets[_subject(context)] = secret
    return "kept"


def _subject(context: Context) -> str:
    assert context.principal is not None, "over HTTP, where the guard is, there is one"
    return context.principal.subject


def check() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    web = make_server("127.0.0.1", 0, server.wsgi(authorization=guard), threaded=True)
    serving = threading.Thread(target=web.serve_forever)
    serving.start()
    try:
        with server:
            use(f"http://127.0.0.1:{web.server_port}/mcp")
    finally:
        web.shutdown()
        serving.join()
        web.server_close()


def use(url: str) -> None:
    with Client.http(url, auth="token-of-ada") as ada, Client.http(url, auth="token-of-bob") as bob:
        print("ada:", ada.tools.remember(secret="42").text, ada.tools.recall().text)
        print("bob:", bob.tools.recall().text)
        try:
            bob.tools.remember(secret="43")
        except errors.AuthorizationFailed as error:
            print("bob:", error.message)
    try:
        with Client.http(url, auth="stolen") as stranger:
            stranger.ping()
    except errors.AuthorizationFailed as error:
        print("a stranger:", type(error).__name__)


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        server.run_http(authorization=guard)
    else:
        check()


if __name__ == "__main__":
    main()
