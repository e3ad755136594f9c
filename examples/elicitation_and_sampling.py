"""A tool that asks back: the user for a decision, the client's model for words. The call simply blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_actors import Client, types
from mcp_actors.testing import ScriptedPeer

FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "Where to?"},
        "nights": {"type": "integer", "minimum": 1, "default": 2},
    },
    "required": ["city"],
}


def plan_trip(params: dict[str, Any]) -> dict[str, Any]:
    """The server's side, by hand; servers of 2026-07-28 ask in rounds like this."""
    state, answers = params.get("requestState"), params.get("inputResponses", {})
    if state is None:
        form = {"message": "Your trip", "requestedSchema": FORM}
        return ask("trip", "elicitation/create", form, "asked the user")
    if state == "asked the user":
        if answers["trip"]["action"] != "accept":
            return text("No trip, then.")
        city, nights = answers["trip"]["content"]["city"], answers["trip"]["content"]["nights"]
        words = {"type": "text", "text": f"Praise {city} in one sentence."}
        wish = {"messages": [{"role": "user", "content": words}], "maxTokens": 40}
        return ask("praise", "sampling/createMessage", wish, f"{nights} nights in {city}")
    return text(f"{state}. {answers['praise']['content']['text']}")


def ask(key: str, method: str, params: dict[str, Any], state: str) -> dict[str, Any]:
    questions = {key: {"method": method, "params": params}}
    return {"resultType": "input_required", "inputRequests": questions, "requestState": state}


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def user(request: types.ElicitFormParams | types.ElicitUrlParams) -> Mapping[str, Any] | None:
    """Stands for a dialog; `mcp_actors.ask_on_terminal` is a real one."""
    if isinstance(request, types.ElicitUrlParams):
        return None
    print(f"{request.message}:")
    for field in request.fields:
        print(f"  {field.label} ({field.kind}, default {field.default})")
    return {"city": "Graz"}


def model(request: types.CreateMessageParams) -> str:
    """Stands for a language model, which would keep to `request.max_tokens`."""
    print(f"the model is asked: {request.messages[-1].text}")
    return "It has a clock on a hill."


def main() -> None:
    server = ScriptedPeer(version="2026-07-28", handlers={"tools/call": plan_trip})
    with Client.memory(server, elicitation_handler=user, sampling_handler=model) as client:
        # People may take their time.
        print(client.call_tool("plan_trip", timeout=300.0).text)
    with Client.memory(server, elicitation_handler=lambda _form: None) as client:
        print(client.call_tool("plan_trip").text)
    server.close()


if __name__ == "__main__":
    main()
