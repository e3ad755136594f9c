"""The client under test: a program that does what a scenario of the conformance suite asks for.

The suite gives the URL as the last argument, and the scenario and its circumstances as variables. A revision,
or ``auto``, may stand before the URL; otherwise the client speaks the one that the suite names.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import requests

from mcp_actors import Client, errors
from mcp_actors.auth import ClientCredentials, EnterpriseManaged, OAuth, WorkloadIdentity

Context: TypeAlias = Mapping[str, Any]
Act: TypeAlias = Callable[[Client, Context], object]

_SECONDS: Final = 10.0
_METADATA_URL: Final = "https://conformance-test.local/client-metadata.json"
#: Nobody listens there: the answer is read from the redirect itself.
_REDIRECT_URI: Final = "http://localhost:3000/callback"


class Person:
    """Somebody who agrees to everything, and needs no browser for it."""

    def __init__(self) -> None:
        self._sent_to = ""

    def open_url(self, url: str) -> None:
        """Agree on the login page, and keep the address that the browser would be sent to."""
        answer = requests.get(url, allow_redirects=False, timeout=_SECONDS)
        self._sent_to = answer.headers["Location"]

    def callback(self) -> str:
        """That address."""
        return self._sent_to


# Who the client is.


def person_agrees(**options: Any) -> OAuth:
    """The authorization of most scenarios."""
    person = Person()
    return OAuth(
        client_name="mcp-actors conformance",
        redirect_uri=_REDIRECT_URI,
        open_url=person.open_url,
        callback=person.callback,
        **options,
    )


def registered_by_hand(context: Context) -> OAuth:
    return person_agrees(client_id=context["client_id"], client_secret=context["client_secret"])


def signing(context: Context) -> ClientCredentials:
    return ClientCredentials(
        context["client_id"],
        private_key=context["private_key_pem"],
        algorithm=context["signing_algorithm"],
    )


def with_a_secret(context: Context) -> ClientCredentials:
    return ClientCredentials(context["client_id"], context["client_secret"])


def employed(context: Context) -> EnterpriseManaged:
    return EnterpriseManaged(
        context["client_id"],
        context["client_secret"],
        id_token=context["idp_id_token"],
        idp_client_id=context["idp_client_id"],
        idp_issuer=context["idp_issuer"],
        idp_token_endpoint=context["idp_token_endpoint"],
    )


def vouched_for(context: Context) -> WorkloadIdentity:
    return WorkloadIdentity(context["valid_jwt"], client_id=context["client_id"])


def holding_a_key(_context: Context) -> OAuth:
    return person_agrees(client_metadata_url=_METADATA_URL, dpop=True)


AUTHORIZATIONS: Final[Mapping[str, Callable[[Context], Any]]] = {
    "auth/pre-registration": registered_by_hand,
    "auth/client-credentials-jwt": signing,
    "auth/client-credentials-basic": with_a_secret,
    "auth/enterprise-managed-authorization": employed,
    "auth/wif-jwt-bearer": vouched_for,
    "auth/dpop": holding_a_key,
    "auth/dpop-nonce": holding_a_key,
}


def authorization(scenario: str, context: Context) -> Any:
    """What to pass as ``auth=``; None where the server asks for none."""
    if not scenario.startswith("auth/"):
        return None
    find = AUTHORIZATIONS.get(scenario)
    return person_agrees(client_metadata_url=_METADATA_URL) if find is None else find(context)


# What the client does.


def call_first_tool(client: Client, _context: Context) -> None:
    client.call_tool(client.list_tools()[0].name, {})


def list_tools(client: Client, _context: Context) -> None:
    client.list_tools()


def say_hello(client: Client, _context: Context) -> None:
    # These servers declare no capability at all, so there is nothing else that one may ask of them.
    client.ping()


def add_numbers(client: Client, _context: Context) -> None:
    client.list_tools()
    client.call_tool("add_numbers", {"a": 5, "b": 3})


def call_every_tool(client: Client, _context: Context) -> None:
    for tool in client.list_tools():
        client.call_tool(tool.name, {})


def use_everything(client: Client, context: Context) -> None:
    call_every_tool(client, context)
    for resource in client.list_resources():
        client.read_resource(resource.uri)
    for prompt in client.list_prompts():
        client.get_prompt(prompt.name)


def make_given_calls(client: Client, context: Context) -> None:
    client.list_tools()
    for call in context["toolCalls"]:
        client.call_tool(call["name"], call["arguments"])


def echo_schema(client: Client, _context: Context) -> None:
    tools = {tool.name: tool for tool in client.list_tools()}
    schema = tools["json_schema_2020_12_tool"].input_schema
    client.call_tool("json_schema_echo", {"schema": schema})


def call_named(*names: str) -> Act:
    def act(client: Client, _context: Context) -> None:
        client.list_tools()
        for name in names:
            client.call_tool(name, {})

    return act


def list_skills(client: Client, _context: Context) -> None:
    client.skills.list()


def read_skills(client: Client, _context: Context) -> None:
    for skill in client.skills.list():
        document = client.skills.read(skill)
        for path in skill.files.keys() - {"SKILL.md"}:
            client.skills.read_file(document, path)


ACTS: Final[Mapping[str, Act]] = {
    "initialize": say_hello,
    "request-metadata": say_hello,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": call_named("test_client_elicitation_defaults"),
    "sse-retry": call_named("test_reconnection"),
    "http-standard-headers": use_everything,
    "http-custom-headers": make_given_calls,
    "http-invalid-tool-headers": call_every_tool,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2322-client-request-state": call_named(
        "test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"
    ),
    "sep-2640-client-no-prefetch": list_skills,
    "sep-2640-client-verify-digest": read_skills,
    "sep-2640-client-verify-size": read_skills,
    "sep-2640-client-verify-frontmatter": read_skills,
}


def confirm(form: Any) -> dict[str, bool] | bool:
    """Agree to what is asked, and send every other form as the server filled it in."""
    asked = any(field.name == "confirmed" for field in form.fields)
    return {"confirmed": True} if asked else True


def main() -> None:
    """Play the scenario. An error of the library ends the program with its message and exit code 1."""
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    *given, url = sys.argv[1:]
    client = Client.http(
        url,
        auth=authorization(scenario, context),
        protocol=given[0] if given else os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"],
        client_info={"name": "mcp-actors-conformance", "version": "1.0.0"},
        request_timeout=2 * _SECONDS,
        roots=[os.getcwd()],
        sampling_handler=lambda _request: "fine",
        elicitation_handler=confirm,
    )
    try:
        with client:
            ACTS.get(scenario, call_first_tool)(client, context)
    except errors.McpError as error:
        sys.exit(f"{type(error).__name__}: {error.message}")


if __name__ == "__main__":
    main()
