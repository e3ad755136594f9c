"""Kept answers against a model that keeps the whole history and works out each answer from it."""

from __future__ import annotations

import os.path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from msgspec import Raw

from mcp_actors.client.cache import ResponseCache, Ticket
from mcp_actors.protocol import codec
from tests.client.keeping import (
    DAY,
    DISCOVER,
    READ,
    TOOLS,
    TOOLS_CHANGED,
    UPDATED,
    FakeClock,
    found,
    params_of,
)

METHODS = [TOOLS, READ, DISCOVER]
URIS = ["x:", "x:a", "y:"]
PARTITIONS = ["ann", "bob", None]
WHERE: dict[str, Any] = {"method": st.sampled_from(METHODS), "uri": st.sampled_from(URIS)}
WHO = st.sampled_from(PARTITIONS)
HOW: dict[str, Any] = {
    "ttl_ms": st.sampled_from([0, 1000, 2000, 10**12]),
    "scope": st.sampled_from(["public", "private", None]),
    "partition": WHO,
}


class Happened:
    """One thing that happened: an answer that was stored, or news that make others old."""

    def __init__(self, kind: str, method: str = "", params: bytes = b"", **more: Any) -> None:
        self.kind, self.method, self.params = kind, method, params
        self.partition: str | None = more.get("partition", "")
        self.public: bool = more.get("public", False)
        self.expires: float = more.get("expires", 0.0)
        self.result: bytes = more.get("result", b"")
        self.uri: str | None = more.get("uri")

    def renews(self, method: str) -> bool:
        """Whether answers of this method that are on their way become old."""
        if self.kind == "heard":
            return method == {TOOLS_CHANGED: TOOLS, UPDATED: READ}[self.method]
        if self.kind == "drop_pages":
            return self.method == method and method.endswith("/list")
        return self.kind == "clear" or (self.kind == "forget" and self.method == method)

    def drops(self, method: str, params: bytes) -> bool:
        """Whether the answer that is kept for everybody becomes old."""
        if self.kind == "forget" or not self.renews(method):
            return False
        if self.kind == "heard" and self.method == UPDATED and self.uri is not None:
            kept = str(codec.decode(params)["uri"])
            return os.path.commonprefix([kept, self.uri]) in (kept, self.uri)
        return True


class CacheModel(RuleBasedStateMachine):
    tickets = Bundle("tickets")

    @initialize(most=st.sampled_from([256, 256, 3]))
    def begin(self, most: int) -> None:
        self.clock = FakeClock()
        self.most, self.most_bytes = most, 13 * most
        self.cache = ResponseCache(self.clock, self.most, self.most_bytes)
        self.history: list[Happened] = []
        self.results = 0

    @rule(target=tickets, **WHERE)
    def ask(self, method: str, uri: str) -> tuple[Ticket, int]:
        return self.cache.ticket(method, params_of(uri)), len(self.history)

    @rule(asked=tickets, **HOW)
    def answer(
        self, asked: tuple[Ticket, int], ttl_ms: int, scope: str | None, partition: str | None
    ) -> None:
        ticket, since = asked
        self.results += 1
        result = b"%d" % self.results
        self.cache.store(ticket, Raw(result), ttl_ms, scope, partition)
        allowed = ttl_ms and (partition is not None or scope == "public")
        if allowed and not any(one.renews(ticket.method) for one in self.history[since:]):
            self.history.append(
                Happened(
                    "stored",
                    ticket.method,
                    ticket.params,
                    partition=partition,
                    public=scope == "public",
                    expires=self.clock.now + min(ttl_ms / 1000, DAY),
                    result=result,
                )
            )

    @rule(**WHERE, **HOW)
    def ask_and_answer(
        self, method: str, uri: str, ttl_ms: int, scope: str | None, partition: str | None
    ) -> None:
        self.answer(self.ask(method, uri), ttl_ms, scope, partition)

    @rule(
        method=st.sampled_from([TOOLS_CHANGED, UPDATED]),
        uri=st.none() | st.sampled_from(URIS),
    )
    def hear(self, method: str, uri: str | None) -> None:
        self.cache.heard(method, uri)
        self.history.append(Happened("heard", method, uri=uri))

    @rule(**WHERE, partition=WHO)
    def forget(self, method: str, uri: str, partition: str | None) -> None:
        self.cache.forget(method, params_of(uri), partition)
        self.history.append(Happened("forget", method, params_of(uri), partition=partition))

    @rule(method=st.sampled_from(METHODS))
    def drop_pages(self, method: str) -> None:
        self.cache.drop_pages(method)
        self.history.append(Happened("drop_pages", method))

    @rule()
    def clear(self) -> None:
        self.cache.clear()
        self.history.append(Happened("clear"))

    @rule(seconds=st.sampled_from([0.5, 1.0, DAY]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(**WHERE, partition=WHO)
    def look(self, method: str, uri: str, partition: str | None) -> None:
        result = found(self.cache, method, params_of(uri), partition)
        kept = self._kept(method, params_of(uri), partition)
        # A small cache may have let one or all of them go.
        assert result == (kept[0] if kept else None) or (self.most < 256 and result in (None, *kept))

    @rule()
    def look_everywhere(self) -> None:
        for method, params in {(one.method, one.params) for one in self.history if one.kind == "stored"}:
            for partition in PARTITIONS:
                self.look(method, codec.decode(params)["uri"], partition)

    @invariant()
    def the_bounds_hold(self) -> None:
        if self.history:
            stats = self.cache.stats
            assert stats.entries <= self.most
            assert stats.bytes <= self.most_bytes
            assert stats.stored == sum(one.kind == "stored" for one in self.history)

    def teardown(self) -> None:
        # Not for a run that ended before it began.
        if hasattr(self, "cache"):
            self.look_everywhere()

    def _kept(self, method: str, params: bytes, partition: str | None) -> list[bytes]:
        """What this partition may see: its own answer first, then that for everybody."""
        kept: dict[str | None, Happened] = {}
        for one in self.history:
            if one.drops(method, params):
                kept.clear()
            elif (one.method, one.params) != (method, params):
                continue
            elif one.kind == "forget":
                kept.pop(one.partition, None)
                kept.pop(None, None)
            elif one.kind == "stored":
                kept.pop(one.partition if one.public else None, None)
                kept[None if one.public else one.partition] = one
        seen = [kept[who] for who in (partition, None) if who in kept]
        return [one.result for one in seen if self.clock.now < one.expires]


TestCacheModel = pytest.mark.requirement("feature:caching")(CacheModel.TestCase)
TestCacheModel.settings = settings(max_examples=120, stateful_step_count=30, deadline=None, database=None)
