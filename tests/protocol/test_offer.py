"""What a client may declare, revision by revision."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_actors.protocol.offer import Offer
from mcp_actors.protocol.revisions import ALL, HANDSHAKE, STATELESS, Revision, by_version
from mcp_actors.protocol.types import ClientCapabilities, declares

EVERYTHING = Offer(
    roots=True,
    sampling=True,
    sampling_tools=True,
    sampling_context=True,
    elicitation=("form", "url"),
    experimental={"x": {}},
    extensions={"com.example/y": {"a": 1}},
)

MAPS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.text(min_size=1, max_size=5), st.just({}), max_size=2
)
OFFERS = st.builds(
    Offer,
    roots=st.booleans(),
    sampling=st.booleans(),
    sampling_tools=st.booleans(),
    sampling_context=st.booleans(),
    elicitation=st.sampled_from([(), ("form",), ("url",), ("form", "url")]),
    experimental=MAPS,
    extensions=MAPS,
)


def declared(offer: Offer, version: str) -> dict[str, Any]:
    revision = by_version(version)
    assert revision is not None
    return offer.capabilities(revision)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_the_first_revisions_know_roots_sampling_and_experiments(version: str) -> None:
    said = {"roots": {"listChanged": True}, "sampling": {}, "experimental": {"x": {}}}
    assert declared(EVERYTHING, version) == said


def test_2025_06_18_adds_elicitation_without_words_for_its_modes() -> None:
    assert declared(EVERYTHING, "2025-06-18") == {
        "roots": {"listChanged": True},
        "sampling": {},
        "elicitation": {},
        "experimental": {"x": {}},
    }


def test_2025_11_25_names_the_parts() -> None:
    assert declared(EVERYTHING, "2025-11-25") == {
        "roots": {"listChanged": True},
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
        "experimental": {"x": {}},
    }


def test_2026_07_28_has_extensions_and_no_news_of_roots() -> None:
    assert declared(EVERYTHING, "2026-07-28") == {
        "roots": {},
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
        "experimental": {"x": {}},
        "extensions": {"com.example/y": {"a": 1}},
    }


@pytest.mark.parametrize("revision", ALL, ids=str)
def test_who_offers_nothing_declares_nothing(revision: Revision) -> None:
    assert Offer().capabilities(revision) == {}
    assert Offer(sampling_tools=True, sampling_context=True).capabilities(revision) == {}


def test_pages_alone_are_no_offer_where_only_forms_are_known() -> None:
    pages = Offer(elicitation=("url",))
    assert declared(pages, "2025-06-18") == {}
    assert declared(pages, "2025-11-25") == {"elicitation": {"url": {}}}


@given(OFFERS, st.sampled_from(ALL))
def test_only_what_a_revision_knows_is_declared(offer: Offer, revision: Revision) -> None:
    said = offer.capabilities(revision)
    assert said.keys() <= revision.client_capability_keys
    assert ClientCapabilities.from_wire(said).raw == said
    assert all(isinstance(value, dict) for value in said.values())


@given(OFFERS, st.sampled_from(ALL))
def test_nothing_is_declared_that_was_not_offered_and_nothing_offered_is_forgotten(
    offer: Offer, revision: Revision
) -> None:
    said = offer.capabilities(revision)
    assert declares(said, "roots") == offer.roots
    assert declares(said, "roots.listChanged") == (offer.roots and revision in HANDSHAKE)
    assert declares(said, "sampling") == offer.sampling
    newer = revision.version >= "2025-11-25"
    assert declares(said, "sampling.tools") == (newer and offer.sampling and offer.sampling_tools)
    assert declares(said, "sampling.context") == (newer and offer.sampling and offer.sampling_context)
    assert declares(said, "elicitation.url") == (newer and "url" in offer.elicitation)
    forms = revision.version >= "2025-06-18" and "form" in offer.elicitation
    assert declares(said, "elicitation.form") == forms
    assert said.get("experimental", {}) == offer.experimental
    assert said.get("extensions", {}) == (offer.extensions if revision in STATELESS else {})
