"""Subscriptions: the news a client wants to hear of (2026-07-28)."""

from __future__ import annotations

from typing import Final

from mcp_actors.protocol.types.progress import RequestId
from mcp_actors.protocol.types.results import Result
from mcp_actors.protocol.types.value import MetaValue, Value

SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"


class SubscriptionFilter(Value):
    """The kinds of news, and the resources, that are wanted or were granted."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[str] | None = None


class SubscriptionParams(MetaValue):
    """What is wanted, in the request; what was granted, in the acknowledgement."""

    notifications: SubscriptionFilter

    @property
    def subscription_id(self) -> RequestId | None:
        """The id of the request that opened the subscription; in the acknowledgement only."""
        return (self.meta or {}).get(SUBSCRIPTION_ID)


class SubscriptionEnded(Result):
    """The server ended the subscription in good order."""

    @property
    def subscription_id(self) -> RequestId | None:
        """The id of the request that opened the subscription."""
        return (self.meta or {}).get(SUBSCRIPTION_ID)
