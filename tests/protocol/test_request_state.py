"""A sealed state opens for the request it was sealed for, in time and unchanged; never otherwise."""

from __future__ import annotations

import base64
import hashlib
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol import request_state
from mcp_actors.protocol.request_state import (
    MAX_SEALED,
    Binding,
    InvalidRequestState,
    RequestStates,
    StateTooLarge,
)

KEY, OTHER_KEY, NONCE, NOW = b"k" * 32, b"o" * 32, b"n" * 16, 1_790_000_000.0
STATES = RequestStates([KEY])
ASKED = Binding.of("alice", "tools/call", {"name": "add", "arguments": {"a": 1, "b": [2]}})

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
BINDINGS = st.builds(
    Binding.of,
    st.none() | st.text(max_size=8),
    st.sampled_from(["tools/call", "prompts/get", "resources/read"]),
    st.fixed_dictionaries({"name": st.text(max_size=5)}, optional={"arguments": OBJECTS}),
)


def sealed(payload: dict[str, Any] | None = None, binding: Binding = ASKED) -> str:
    return STATES.seal({"round": 1} if payload is None else payload, binding=binding, now=NOW, nonce=NONCE)


def refused(text: str, binding: Binding = ASKED, now: float = NOW, states: RequestStates = STATES) -> str:
    with pytest.raises(InvalidRequestState) as caught:
        states.open(text, binding=binding, now=now)
    assert caught.value.reason in str(caught.value)
    return caught.value.reason


@pytest.mark.requirement("security:request-state")
@given(OBJECTS, BINDINGS, st.binary(min_size=16, max_size=16), st.floats(0, 599.9))
def test_what_was_sealed_opens_unchanged_for_the_same_request(
    payload: dict[str, Any], binding: Binding, nonce: bytes, later: float
) -> None:
    text = STATES.seal(payload, binding=binding, now=NOW, nonce=nonce)
    assert STATES.open(text, binding=binding, now=NOW + later) == payload


@pytest.mark.requirement("security:request-state")
@given(st.data(), OBJECTS)
def test_a_state_with_any_changed_character_is_refused(data: st.DataObject, payload: dict[str, Any]) -> None:
    text = sealed(payload)
    place = data.draw(st.integers(0, len(text) - 1))
    others = st.sampled_from("Aa0-_Zz9=. +/\né\ud800") | st.characters()
    changed = text[:place] + data.draw(others.filter(lambda one: one != text[place])) + text[place + 1 :]
    refused(changed)


@pytest.mark.requirement("security:request-state")
@given(st.data(), st.text(min_size=1, max_size=3) | st.sampled_from(["=", "\n", " ", "A"]))
def test_a_state_with_anything_put_in_is_refused(data: st.DataObject, more: str) -> None:
    text = sealed()
    place = data.draw(st.integers(0, len(text)) | st.just(len(text)))
    refused(text[:place] + more + text[place:])


def test_every_bit_of_a_state_counts() -> None:
    text = sealed()
    raw = base64.urlsafe_b64decode(text[3:] + "=" * (-len(text[3:]) % 4))
    for place in range(len(raw) * 8):
        bits = bytearray(raw)
        bits[place // 8] ^= 1 << (place % 8)
        refused("v1." + base64.urlsafe_b64encode(bits).rstrip(b"=").decode())


def test_the_bits_of_the_last_character_that_say_nothing_count_too() -> None:
    # Two bytes more than a multiple of three, so that the last character has two bits to spare.
    text = next(text for size in range(3) if len(text := sealed({"k": "x" * size})) % 4 == 2)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = text[:-1] + alphabet[alphabet.index(text[-1]) ^ 1]
    assert base64.urlsafe_b64decode(same_bytes[3:] + "===") == base64.urlsafe_b64decode(text[3:] + "===")
    refused(same_bytes)


@given(st.text() | st.from_regex(r"v1\.[A-Za-z0-9_-]*", fullmatch=True))
def test_text_that_nobody_sealed_is_refused(text: str) -> None:
    refused(text)


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_part_of_a_state_is_refused(start: int, end: int) -> None:
    text = sealed()
    part = text[start : max(start, len(text) - end)]
    if part != text:
        refused(part)


@pytest.mark.requirement("security:request-state")
@given(BINDINGS, BINDINGS)
def test_a_state_does_not_open_for_another_request(one: Binding, other: Binding) -> None:
    text = sealed(binding=one)
    if one == other:
        assert STATES.open(text, binding=other, now=NOW) == {"round": 1}
    else:
        assert "another request or principal" in refused(text, other)


@pytest.mark.parametrize(
    "other",
    [
        Binding.of("mallory", "tools/call", {"name": "add", "arguments": {"a": 1, "b": [2]}}),
        Binding.of(None, "tools/call", {"name": "add", "arguments": {"a": 1, "b": [2]}}),
        Binding.of("alice", "prompts/get", {"name": "add", "arguments": {"a": 1, "b": [2]}}),
        Binding.of("alice", "tools/call", {"name": "sub", "arguments": {"a": 1, "b": [2]}}),
        Binding.of("alice", "tools/call", {"name": "add", "arguments": {"a": 1, "b": [3]}}),
        Binding.of("alice", "tools/call", {"name": "add", "arguments": {"a": True, "b": [2]}}),
        Binding.of("alice", "tools/call", {"name": "add"}),
    ],
)
def test_principal_method_name_and_arguments_are_bound(other: Binding) -> None:
    refused(sealed(), other)


def test_nobody_is_not_somebody_called_null() -> None:
    params = {"name": "add"}
    nobody, named = (Binding.of(who, "tools/call", params) for who in (None, "null"))
    refused(sealed(binding=nobody), named)


def test_answers_state_and_meta_of_a_round_do_not_identify_the_request() -> None:
    params = {"arguments": {"b": [2], "a": 1}, "name": "add"}
    more = {"_meta": {"progressToken": 1}, "inputResponses": {"k": {}}, "requestState": "v1.x"}
    assert Binding.of("alice", "tools/call", params | more) == ASKED


def test_parameters_with_odd_text_have_a_digest_and_bottomless_ones_have_none() -> None:
    assert len(Binding.of("\ud800", "tools/call", {"arguments": {"\ud800": 10**30}}).digest) == 32
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 200):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deep"):
        Binding.of(None, "tools/call", {"arguments": deep})


@pytest.mark.requirement("security:request-state")
@given(st.floats(600, 1e9))
def test_a_state_expires(later: float) -> None:
    assert refused(sealed(), now=NOW + later) == "it has expired"


def test_a_shorter_life_is_kept_to_the_moment() -> None:
    states = RequestStates([KEY], ttl=1.5)
    text = states.seal({}, binding=ASKED, now=NOW, nonce=NONCE)
    assert states.open(text, binding=ASKED, now=NOW + 1.499) == {}
    assert refused(text, now=NOW + 1.5) == "it has expired"


def test_a_state_of_an_unknown_key_is_refused() -> None:
    assert refused(sealed(), states=RequestStates([OTHER_KEY])) == "no key of ours sealed it"


def test_keys_rotate_the_first_seals_and_all_open() -> None:
    both = RequestStates([OTHER_KEY, KEY])
    assert both.open(sealed(), binding=ASKED, now=NOW) == {"round": 1}
    text = both.seal({}, binding=ASKED, now=NOW, nonce=NONCE)
    assert RequestStates([OTHER_KEY]).open(text, binding=ASKED, now=NOW) == {}
    assert refused(text) == "no key of ours sealed it"


def test_two_keys_with_the_same_short_name_both_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_state, "_KEY_ID_BYTES", 0)
    monkeypatch.setattr(request_state, "_HEAD_BYTES", request_state._HEAD_BYTES - 4)
    text = sealed_by(RequestStates([KEY]))
    assert RequestStates([OTHER_KEY, KEY]).open(text, binding=ASKED, now=NOW) == {}


def sealed_by(states: RequestStates) -> str:
    return states.seal({}, binding=ASKED, now=NOW, nonce=NONCE)


def test_the_key_itself_is_neither_in_the_state_nor_printed() -> None:
    raw = base64.urlsafe_b64decode(sealed()[3:] + "===")
    assert KEY not in raw
    assert hashlib.sha256(KEY).digest()[:4] != raw[:4]  # the name has a domain of its own
    assert "kkkk" not in repr(STATES)


def test_the_same_payload_twice_is_two_states() -> None:
    assert sealed() != STATES.seal({"round": 1}, binding=ASKED, now=NOW, nonce=b"m" * 16)


def test_the_size_of_a_state_is_bounded_both_ways() -> None:
    with pytest.raises(StateTooLarge, match="at most 65536 are allowed"):
        sealed({"k": "x" * 50_000})
    assert len(sealed({"k": "x" * 49_000})) <= MAX_SEALED
    assert "characters, more than" in refused("v1." + "A" * MAX_SEALED)


@pytest.mark.parametrize(
    ("keys", "ttl", "why"),
    [
        ([], 600.0, "no key"),
        ([KEY, b"short"], 600.0, "has 5 bytes"),
        ([KEY], 0.0, "positive"),
        ([KEY], float("inf"), "positive"),
        ([KEY], float("nan"), "positive"),
    ],
)
def test_settings_that_protect_nothing_are_refused(keys: list[bytes], ttl: float, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        RequestStates(keys, ttl)


def test_a_nonce_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        STATES.seal({}, binding=ASKED, now=NOW, nonce=b"abc")


def test_a_payload_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError):
        sealed({"k": object()})
