"""A remote server that wants to know who asks: one login in a browser, and none the next time.

Run it from the root of a checkout by `python -m examples.oauth_login`: the server is one of the test suite,
and so is the person. By `python -m examples.oauth_login https://...` it logs you in at another server.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from mcp_actors import Client, errors
from mcp_actors.auth import FileStorage, OAuth
from tests.auth.protected_server import ProtectedServer, agree

#: As long as a person may take for the login.
PATIENCE = 300.0


def connect(url: str, file: Path, open_url: Callable[[str], object] | None = None) -> Client:
    login = OAuth(client_name="OAuth example", storage=FileStorage(file), open_url=open_url, timeout=PATIENCE)
    return Client.http(url, auth=login, init_timeout=PATIENCE)


def list_tools(url: str) -> None:
    try:
        with connect(url, Path("~/.cache/mcp-actors-example/tokens.json")) as client:
            for tool in client.list_tools():
                print(f"{tool.name}: {tool.description}")
    except errors.AuthorizationFailed as error:
        sys.exit(error.message)


def rehearse(file: Path) -> None:
    with ProtectedServer(
        challenge_scope="notes:read", required_scopes={"tools/call": "notes:write"}
    ) as server:
        for run in ("first", "second"):
            before = server.count("authorize")
            with connect(server.resource_url, file, agree) as client:
                print(f"{run} run: {client.call_tool('whoami').text}")
            # Two in the first: the tool needs a right that listing the tools did not.
            print(f"  logins: {server.count('authorize') - before}")
        server.revoke_tokens("access")
        with connect(server.resource_url, file, agree) as client:
            client.call_tool("whoami")
        print(f"a token that has ended is renewed: {server.at('token')[-1].form['grant_type']}")
    print(f"the tokens are the owner's alone: {file.stat().st_mode & 0o777:o}")


def main() -> None:
    if len(sys.argv) > 1:
        list_tools(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            rehearse(Path(folder) / "tokens.json")


if __name__ == "__main__":
    main()
