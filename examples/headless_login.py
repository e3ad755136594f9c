"""A login where no browser is: the address is printed, and the person pastes where theirs ended.

Run it from the root of a checkout by `python -m examples.headless_login`: the server is one of the test
suite, and so is the person. By `python -m examples.headless_login https://...` it asks you.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from mcp_actors import Client, errors
from mcp_actors.auth import OAuth
from tests.auth.protected_server import ProtectedServer, browse

#: As long as a person may take for the login.
PATIENCE = 300.0


def connect(url: str, show: Callable[[str], object], ask: Callable[[], str]) -> Client:
    login = OAuth(client_name="Headless example", open_url=show, callback=ask, timeout=PATIENCE)
    return Client.http(url, auth=login, init_timeout=PATIENCE)


def show_page(url: str) -> None:
    print(f"Open this page on any machine:\n\n  {url}\n\nand agree. The page you end at cannot be reached.")


def ask_on_terminal() -> str:
    return input("Paste its address here: ")


class Person:
    """Has a browser elsewhere, and agrees."""

    def __init__(self) -> None:
        self._page = ""

    def look(self, url: str) -> None:
        print(f"open {url.partition('?')[0]}")
        self._page = url

    def paste(self) -> str:
        address = browse(self._page)
        print(f"paste {address.partition('?')[0]}")
        return address


def rehearse() -> None:
    with ProtectedServer(challenge_scope="notes:read") as server:
        person = Person()
        with connect(server.resource_url, person.look, person.paste) as client:
            print(client.call_tool("whoami").text)
        client = connect(server.resource_url, person.look, lambda: "http://127.0.0.1/callback?code=forged")
        try:
            client.call_tool("whoami")
        except errors.AuthorizationFailed as error:
            print(error.message)
        client.close()


def main() -> None:
    if len(sys.argv) > 1:
        with connect(sys.argv[1], show_page, ask_on_terminal) as client:
            print(*(tool.name for tool in client.list_tools()), sep="\n")
    else:
        rehearse()


if __name__ == "__main__":
    main()
