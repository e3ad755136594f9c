"""The last nonce of each origin is remembered, and nothing without bound."""

from __future__ import annotations

import threading

import pytest

from mcp_actors.auth.jose import Nonces


def test_each_origin_has_its_own_latest_nonce() -> None:
    nonces = Nonces()
    assert nonces.get("https://a.example/mcp") is None
    nonces.remember("https://a.example/mcp?x=1", "one")
    nonces.remember("https://b.example/token", "two")
    nonces.remember("https://A.example:443/other", "three")
    assert nonces.get("https://a.example") == "three"
    assert nonces.get("https://b.example/") == "two"
    assert nonces.get("http://a.example/") is None


@pytest.mark.parametrize(
    "value", [None, "", "two words", 'quo"te', "back\\slash", "line\r\nbreak", "ü", "x" * 1025]
)
def test_what_is_no_nonce_changes_nothing(value: str | None) -> None:
    nonces = Nonces()
    nonces.remember("https://a.example", "one")
    nonces.remember("https://a.example", value)
    assert nonces.get("https://a.example") == "one"


def test_the_oldest_origins_are_forgotten() -> None:
    nonces = Nonces()
    for number in range(100):
        nonces.remember(f"https://host-{number}.example", str(number))
    known = [number for number in range(100) if nonces.get(f"https://host-{number}.example") is not None]
    assert known == list(range(36, 100))


def test_many_threads_may_remember_at_once(bound: float) -> None:
    nonces, wrong = Nonces(), list[str]()

    def work(number: int) -> None:
        for turn in range(200):
            url = f"https://host-{number}-{turn}.example"
            nonces.remember(url, f"{number}-{turn}")
            # Another thread may have pushed it out already; never may it be somebody else's.
            if nonces.get(url) not in (None, f"{number}-{turn}"):
                wrong.append(url)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(bound)
    assert wrong == []
