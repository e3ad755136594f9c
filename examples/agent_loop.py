"""A model that uses tools: export them, let it choose, run what it chose, give it the answers."""

from __future__ import annotations

import json
from typing import Any

from mcp_actors import Client, errors
from mcp_actors.cli.demo_server import COMMAND

MOST_TURNS = 5


def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Stands for `openai.chat.completions.create(...).choices[0].message`; wants to add, then to divide."""
    answers = [message["content"] for message in messages if message["role"] == "tool"]
    known = [tool["function"]["name"] for tool in tools]
    wishes = [(known[0], '{"a": 2, "b": 40}'), ("divide", "{}")]
    if len(answers) < len(wishes):
        name, arguments = wishes[len(answers)]
        call = {"id": f"call-{len(answers)}", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"role": "assistant", "content": f"2 + 40 is {answers[0]}; I could not divide ({answers[1]})"}


def run(client: Client, name: str, arguments: str) -> str:
    """What a model may read about its call, whatever became of it."""
    try:
        result = client.tools.call(name, arguments, timeout=10.0, wait=True)
    except KeyError as error:
        return str(error.args[0])
    except (TypeError, ValueError) as error:
        return f"wrong arguments: {error}"
    except errors.McpError as error:
        # One plain line; the crash report is for people.
        return f"{error.type}: {error.message}"
    return f"the tool failed: {result.text}" if result.is_error else result.text


def converse(client: Client, question: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    for _ in range(MOST_TURNS):
        said = model(messages, client.tools.to_openai())
        messages.append(said)
        if not said.get("tool_calls"):
            return str(said["content"])
        for call in said["tool_calls"]:
            function = call["function"]
            answer = run(client, function["name"], function["arguments"])
            print(f"  {function['name']}({function['arguments']}) -> {answer}")
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
    return f"no end after {MOST_TURNS} turns"


def main() -> None:
    with Client.stdio(COMMAND, name="demo") as client:
        print(json.dumps(client.tools.to_openai()[0]["function"]["parameters"]))
        print(converse(client, "What is 2 + 40, and half of it?"))


if __name__ == "__main__":
    main()
