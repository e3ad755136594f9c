"""Secrets are hidden, everything else stays, and no text takes for ever."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.telemetry.redaction import (
    HIDDEN,
    looks_secret,
    presentable,
    printable,
    redact,
    redact_command,
    redact_environment_names,
    secret_values,
)

MEGABYTE = 1_000_000
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # JSON members
        ('{"password": "hunter2", "x": 1}', '{"password": "***", "x": 1}'),
        ('{"apiKey" : "zz\\"z", "n":1}', '{"apiKey" : "***", "n":1}'),
        ('{"secret":"ends with a backslash\\\\","n":1}', '{"secret":"***","n":1}'),
        ('{"password":1234,"x":5}', '{"password":***,"x":5}'),
        ('{"credentials": {"user": "b}o\\"b", "pw": ["x"]}, "ok": 1}', '{"credentials": ***, "ok": 1}'),
        ('{"cookies": ["a", "b"], "ok": 1}', '{"cookies": ***, "ok": 1}'),
        ('{"auth_token": "cut in the mid', '{"auth_token": "***'),
        ('{"credentials": {"user": "cut', '{"credentials": ***'),
        ("{'token': 'abc', 'n': 1}", "{'token': '***', 'n': 1}"),
        # JSON inside JSON
        (
            r'{"text":"{\"password\": \"hun\\\"ter\", \"a\": 1}"}',
            r'{"text":"{\"password\": \"***\", \"a\": 1}"}',
        ),
        (r'"{\"credentials\": {\"a\": \"}\"}, \"b\": 1}"', r'"{\"credentials\": ***, \"b\": 1}"'),
        # key=value, query strings, prose
        ("PGPASSWORD=foo psql", "PGPASSWORD=*** psql"),
        ("OPENAI_KEY=abc", "OPENAI_KEY=***"),
        ("f(token=abc) failed", "f(token=***) failed"),
        ("https://host/x?api_key=zzz&y=2", "https://host/x?api_key=***&y=2"),
        ("https://host/x?key=zzz&y=2#z", "https://host/x?key=***&y=2#z"),
        ("https://host/x?y=2&sig=a%2Fb+c", "https://host/x?y=2&sig=***"),
        ("password=ab&cd next", "password=*** next"),
        (r"password=a\\nb next", "password=*** next"),
        (r'"text":"token=abc\nnext"', r'"text":"token=***\nnext"'),
        ("secret: hunter2, other", "secret: ***, other"),
        ("Invalid API key: abc123", "Invalid API key: ***"),
        ("password: 'unterminated\nnext line", "password: '***\nnext line"),
        # flags
        ("--token abc --verbose", "--token *** --verbose"),
        ("--api-key=abc", "--api-key=***"),
        ("['srv', '--token', 'abc', '--v', 'x']", "['srv', '--token', '***', '--v', 'x']"),
        # headers
        ("Authorization: Digest a b c\nHost: x", "Authorization: ***\nHost: x"),
        ('curl -H "Authorization: Digest a b" https://x', 'curl -H "Authorization: ***" https://x'),
        ('Cookie: a="b"; c=d', "Cookie: ***"),
        ("X-Api-Key: abc", "X-Api-Key: ***"),
        ("Mcp-Session-Id: 1234", "Mcp-Session-Id: ***"),
        # shapes
        ("sent Bearer abc.def-1 to it", "sent Bearer *** to it"),
        ("sent Basic dXNlcjpwYXNzd29yZA== to it", "sent Basic *** to it"),
        ("https://user:p@ss@host/x", "https://***@host/x"),
        ("key sk-proj-abcdefghijklmnopqrst ok", "key *** ok"),
        (r'"a\nsk-abcdefghijklmnopqrst"', r'"a\n***"'),
        ("ghp_abcdefghijklmnopqrstuvwx", "***"),
        ("xoxb-1234567890-abcdef", "***"),
        ("AKIAIOSFODNN7EXAMPLE", "***"),
        (f"jwt {JWT}!", "jwt ***!"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx",
            "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nx",
        ),
    ],
)
def test_a_secret_is_hidden_and_its_surroundings_stay(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing to hide here",
        '{"_meta":{"progressToken":17}}',
        '{"max_tokens": 100, "tokens": 3}',
        '{"api_key":null,"has_secret":true,"token":""}',
        '{"token_type": "x", "password_file": "/run/pw"}',
        "auth::token::Error",
        "--password-file /run/secrets/pw --token --verbose",
        "Bearer token missing",
        "Basic authentication failed",
        "risk-assessment-tool-abcdefghijk",
        "the token",
        "password",
        "token: ",
        "mail bob@example.com, see http://host/@scope/pkg",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact(text) == text


def test_literal_secrets_are_hidden_in_each_spelling_and_longest_first() -> None:
    secrets = ["s3cr3t/ü", "s3cr3t/ü-longer", "short", 'with "quote"']
    assert redact("a s3cr3t/ü-longer b s3cr3t/ü c short", secrets) == "a *** b *** c short"
    assert redact(json.dumps(secrets[0]), secrets) == '"***"'
    assert redact("url/s3cr3t%2F%C3%BC/x", secrets) == "url/***/x"
    assert redact(json.dumps(secrets[3]), secrets) == '"***"'


ANY = st.characters(exclude_categories=())  # with lone surrogates, as undecodable bytes become
NAMES = st.sampled_from(
    ["password", "DB_PASSWD", "apiKey", "x-api-key", "client_secret", "accessToken", "session_id"]
)
SECRETS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8, max_size=40).map(
    "Zq7".__add__
)


@given(name=NAMES, secret=SECRETS, around=st.text(max_size=30))
def test_a_named_secret_never_survives_in_any_notation(name: str, secret: str, around: str) -> None:
    inner = json.dumps({"note": around, name: secret, "after": around})
    for text in (
        inner,
        json.dumps({"text": inner}),
        json.dumps({"text": json.dumps({"text": inner})}),
        f"{around}\n{name}={secret} {around}",
        f"{around}\n--{name} {secret}",
        f"{around}\n{name}: {secret}",
        repr(["run", f"--{name}", secret]),
    ):
        assert secret not in redact(text), text


@given(name=NAMES, value=st.text(min_size=1))
def test_what_follows_a_hidden_json_member_stays(name: str, value: str) -> None:
    hidden = json.loads(redact(json.dumps({name: value, "after": 1})))
    assert hidden["after"] == 1
    assert hidden[name] == HIDDEN or value in ("null", "true", "false", "None", "True", "False")


@given(st.text(ANY), st.lists(st.text(ANY, min_size=6)))
def test_redact_never_raises(text: str, secrets: list[str]) -> None:
    redact(text, secrets)
    presentable(text, 80, secrets)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "\\",
        '"',
        " ",
        "token",
        "token=",
        "token:",
        'token:"',
        "token:{",
        "token:{}",
        "token:[\\",
        "token:\\\\",
        '"authorization:x" ',
        '"cookie:',
        "--token ",
        "--token\\",
        "eyJ",
        "eyJaaaaaaaaa.",
        "sk-",
        "xoxb-",
        "bearer ",
        "basic a",
        "://",
        "://a@",
        "a://b:",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "password=&",
        "api key ",
        "\x1b[",
        "\x1b]",
        "\x1b[31m",
    ],
)
def test_a_megabyte_of_anything_ends(unit: str) -> None:
    presentable(unit * (MEGABYTE // len(unit)), 300, ["eyJeyJeyJ", "\\\\\\\\\\\\"])


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("PASSWORD", True),
        ("github_token", True),
        ("SORT_KEY", True),
        ("sort_key", False),
        ("progressToken", False),
        ("a" * 1000 + "password", True),
        ("author", False),
    ],
)
def test_names_are_judged(name: str, secret: bool) -> None:
    assert looks_secret(name) is secret


def test_a_command_is_redacted_argument_by_argument() -> None:
    command = [
        "npx",
        "-y",
        "srv",
        "--token",
        "-abc",
        "-e",
        "API_KEY=a b",
        "--header",
        "X-Api-Key: q",
        "--secret",
    ]
    assert redact_command([*command, "--verbose", "https://u:p@h/", "mine123"], ["mine123"]) == (
        *(
            "npx",
            "-y",
            "srv",
            "--token",
            "***",
            "-e",
            "API_KEY=***",
            "--header",
            "X-Api-Key: ***",
            "--secret",
        ),
        *("--verbose", "https://***@h/", "***"),
    )


def test_an_environment_is_shown_without_its_secrets() -> None:
    environment = {"HOME": "/root", "API_TOKEN": "abcdefgh", "DB": "pg://u:p@h/d", "PASSWORD": "short"}
    assert redact_environment_names(environment) == {
        "HOME": "/root",
        "API_TOKEN": "***",
        "DB": "pg://***@h/d",
        "PASSWORD": "***",
    }
    assert secret_values(environment) == {"abcdefgh"}


def test_control_characters_and_terminal_escapes_are_neutralised() -> None:
    text = "\x1b[31mred\x1b[0m\tx\x00\u202e\n\udc80\xa0ok\x1b]0;title\x07!\x9b1mC1 \x1bZ"
    assert printable(text, 200) == r"red    x\x00\u202e\n\udc80 ok!C1 \x1bZ"


def test_a_long_text_is_cut_and_says_how_much_is_missing() -> None:
    cut = printable("a" * 1000, 100)
    assert cut == "a" * 80 + "… (+920 more)"
    assert printable(cut, 100) == cut
    assert printable("a" * 100, 100) == "a" * 100
    assert printable("a" * 100, 5) == "… (+100 more)"


@given(st.text(ANY), st.integers(0, 200))
def test_a_printable_text_is_one_printable_line(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert shown.isprintable()
    assert len(shown) <= max(limit, 20)
    assert limit < 20 or printable(shown, limit) == shown


def test_colours_between_a_name_and_its_secret_do_not_save_the_secret() -> None:
    assert presentable("\x1b[33mtoken\x1b[0m=\x1b[1mabc\x1b[0m", 80) == "token=***"
