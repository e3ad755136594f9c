"""Patience: how a caller's thread waits for what is no answer of the server, and still hears of the end."""

from __future__ import annotations

from typing import Final, TypeVar

from mcp_actors import errors
from mcp_actors.client.tree import Tree
from mcp_actors.runtime.deadline import Deadline
from mcp_actors.runtime.slot import ForkedSlot, Slot, SlotTimeout

T = TypeVar("T")

# Whoever closes the client tells the connection and its callers; who waits here has to look for himself.
_LOOK_AGAIN: Final = 0.1


class Patience:
    """Of one thread, on behalf of one call; ``what`` names the call in errors.

    ``unwanted`` is set by whoever does not want the call any more: then time need not pass.
    """

    def __init__(self, tree: Tree, what: str, unwanted: Slot[None] | None = None) -> None:
        self._tree = tree
        self._what = what
        # As a rule never set. It knows in which process it was made.
        self._unwanted: Slot[None] = Slot() if unwanted is None else unwanted

    def wait(self, slot: Slot[T], deadline: Deadline) -> T:
        """The value of ``slot``, as soon as it is set.

        Raises:
            SlotTimeout: the deadline passed first.
            ClientClosed: the client was closed meanwhile.
            ForkedClient: this process is a child of the one that began to wait.
        """
        while True:
            try:
                return slot.wait(Deadline.after(min(_LOOK_AGAIN, deadline.remaining())))
            except ForkedSlot as error:
                raise errors.ForkedClient(
                    f"{self._what} was made before a fork; its answer will not come"
                ) from error
            except SlotTimeout:
                if self._tree.wiring.closing:
                    raise errors.ClientClosed(f"{self._what} ended because the client was closed") from None
                if deadline.expired:
                    raise

    def pause(self, until: Deadline) -> None:
        """Let time pass; raises as `wait` does if there is no use in it, and Cancelled if nobody wants it."""
        try:
            self.wait(self._unwanted, until)
        except SlotTimeout:
            return
        raise errors.Cancelled(f"{self._what} was cancelled by the caller")
