"""What happened to others, one test each: tools that an API refused, or that a model could not use."""

from __future__ import annotations

from mcp_actors.client.export import restored, to_anthropic, to_gemini, to_openai
from tests.client.export.apis import (
    accepted_by_anthropic,
    accepted_by_gemini,
    accepted_by_openai,
    accepted_by_responses,
    tool,
)

FETCH = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "format": "uri", "minLength": 1},
        "max_length": {
            "type": "integer",
            "default": 5000,
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1000000,
        },
        "raw": {"type": "boolean", "default": False},
    },
    "required": ["url"],
}


def test_a_format_that_the_strict_mode_does_not_know_is_left_out_and_silence_is_not_taken_for_strict() -> (
    None
):
    # posit-dev/chatlas#255: 'uri' is not a valid format; optional arguments were missing in `required`.
    (loose,) = to_openai(tool(FETCH), api="responses")
    (strict,) = to_openai(tool(FETCH), api="responses", strict=True)
    assert loose["strict"] is False
    assert loose["parameters"]["properties"]["url"]["format"] == "uri"
    assert accepted_by_responses(strict)
    assert strict["strict"] is True
    assert "format" not in strict["parameters"]["properties"]["url"]
    assert strict["parameters"]["required"] == ["url", "max_length", "raw"]
    assert strict["parameters"]["properties"]["raw"] == {"type": ["boolean", "null"]}


def test_an_empty_schema_with_a_meta_schema_is_a_tool_without_arguments() -> None:
    # promptfoo/promptfoo#5965: "'object' is not of type 'object', 'boolean'" because of `$schema`.
    schema = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
        "$schema": "http://json-schema.org/draft-07/schema#",
    }
    (definition,) = to_openai(tool(schema))
    expected = {"type": "object", "properties": {}, "additionalProperties": False}
    assert definition["function"]["parameters"] == expected
    assert accepted_by_openai(definition)
    assert accepted_by_openai(to_openai(tool({"type": "object"}), strict=True)[0])


def test_choices_and_old_definitions_do_not_reach_anthropic() -> None:
    # BerriAI/litellm#33631: a top-level `oneOf`, legacy `definitions` and `$schema` answered with 400.
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"Page": {"type": "object", "properties": {"number": {"type": "integer"}}}},
        "oneOf": [
            {
                "properties": {"id": {"type": "string"}, "page": {"$ref": "#/definitions/Page"}},
                "required": ["id"],
            },
            {"properties": {"url": {"type": "string"}}, "required": ["url"]},
        ],
    }
    (definition,) = to_anthropic(tool(schema))
    assert accepted_by_anthropic(definition)
    assert definition["input_schema"] == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "page": {"type": "object", "properties": {"number": {"type": "integer"}}},
            "url": {"type": "string"},
        },
    }


def test_strict_is_a_wish_and_each_tool_gets_it_if_its_schema_allows() -> None:
    # openai/openai-agents-python#404: strict where the schema is supported, and no failure where it is not.
    free = {"type": "object", "properties": {"settings": {"type": "object"}}}
    fetch, configure = to_openai([tool(FETCH, "fetch"), tool(free, "configure")], strict=True)
    assert (fetch["function"]["strict"], configure["function"]["strict"]) == (True, False)
    assert configure["function"]["parameters"] == free
    assert accepted_by_openai(fetch)
    assert accepted_by_openai(configure)


def test_the_description_reaches_the_model() -> None:
    # IBM/mcp-cli#100: without descriptions a model cannot choose among many tools.
    described = tool(FETCH, description="Fetch a page")
    assert to_openai(described)[0]["function"]["description"] == "Fetch a page"
    assert to_openai(described, api="responses")[0]["description"] == "Fetch a page"
    assert to_anthropic(described)[0]["description"] == "Fetch a page"
    assert to_gemini(described)[0]["description"] == "Fetch a page"


def test_an_array_of_free_objects_keeps_a_tool_from_being_strict() -> None:
    # msrbuilds/elementor-mcp#42: a strict validator wanted every key required and every object closed.
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Page title."},
            "status": {"type": "string", "enum": ["draft", "publish"]},
            "content": {"type": "array", "items": {"type": "object"}, "description": "Initial element tree."},
        },
        "required": ["title"],
    }
    (definition,) = to_openai(tool(schema), strict=True)
    assert definition["function"]["strict"] is False
    assert definition["function"]["parameters"] == schema
    del schema["properties"]["content"]  # type: ignore[attr-defined]  # a dict of dicts
    (definition,) = to_openai(tool(schema), strict=True)
    assert definition["function"]["strict"] is True
    assert definition["function"]["parameters"]["properties"]["status"] == {
        "type": ["string", "null"],
        "enum": ["draft", "publish", None],
    }
    assert accepted_by_openai(definition)
    assert restored(schema, {"title": "Home", "status": None}) == {"title": "Home"}


def test_property_names_with_brackets_are_renamed_for_anthropic_and_restored() -> None:
    # beautyfree/appstore-connect-mcp#2: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
    schema = {"type": "object", "properties": {"filter[id]": {"type": "string"}}, "required": ["filter[id]"]}
    (definition,) = to_anthropic(tool(schema))
    assert accepted_by_anthropic(definition)
    assert definition["input_schema"]["required"] == ["filter_id_"]
    assert restored(schema, {"filter_id_": "7"}) == {"filter[id]": "7"}


def test_gemini_gets_one_type_per_schema_and_no_word_beside_a_choice() -> None:
    # taylorwilsdon/google_workspace_mcp#1099, lambda-alpha-labs/Graphenium#37, github/copilot-cli#4623.
    schema = {
        "type": "object",
        "properties": {
            "to": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "Whom"},
            "action": {"const": "insert_text"},
            "weight": {"type": ["number", "string", "null"], "description": "How much"},
            "rows": {
                "type": "array",
                "items": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
            },
        },
    }
    (declaration,) = to_gemini(tool(schema))
    assert accepted_by_gemini(declaration)
    assert declaration["parameters"]["properties"] == {
        "to": {"type": "STRING", "description": "Whom", "nullable": True},
        "action": {"type": "STRING", "enum": ["insert_text"]},
        "weight": {
            "anyOf": [
                {"type": "NUMBER", "description": "How much", "nullable": True},
                {"type": "STRING", "description": "How much", "nullable": True},
            ]
        },
        "rows": {
            "type": "ARRAY",
            "items": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "nullable": True},
        },
    }


def test_gemini_gets_no_empty_value_no_number_in_a_list_of_values_and_no_dangling_name() -> None:
    # BerriAI/litellm#14155, microsoft/azure-devops-mcp#139, probelabs/probe#569.
    schema = {
        "type": "object",
        "properties": {
            "device": {"type": "string", "enum": ["", "mobile"]},
            "none": {"type": "string", "enum": [""]},
            "level": {"type": "integer", "enum": [0, 2, 4], "description": "How deep."},
        },
        "required": ["device", "ref"],
    }
    (declaration,) = to_gemini(tool(schema))
    assert accepted_by_gemini(declaration)
    made = declaration["parameters"]["properties"]
    assert made["device"] == {"type": "STRING", "enum": ["mobile"]}
    assert made["none"] == {"type": "STRING"}
    assert made["level"] == {"type": "INTEGER", "description": "How deep. One of: 0, 2, 4."}
    assert "ref" in made


def test_properties_that_php_wrote_as_a_list_are_no_properties() -> None:
    # elementor/elementor#37320: `"properties": []`; smallmain/vscode-unify-chat-provider#162: no schema.
    for broken in (
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"type": "object"}},
    ):
        assert accepted_by_anthropic(to_anthropic(tool(broken))[0])
        assert accepted_by_openai(to_openai(tool(broken), strict=True)[0])
        assert accepted_by_gemini(to_gemini(tool(broken))[0])
