"""Decision of the router: which unhandled messages of a chat one turn of the agent takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .trigger import has_trigger

MAX_TURN_MESSAGES: Final = 200
MAX_TURN_BYTES: Final = 256 * 1024


class PendingMessage(NamedTuple):
    """Message after the cursor *handled*, with what the decision needs. `may_trigger`: the sender is on the list."""

    number: int
    text: str
    may_trigger: bool = True
    is_own: bool = False
    """Written by the assistant itself."""


class TriggerRule(NamedTuple):
    """When messages wake the agent of a group: always, or by its trigger word."""

    trigger: str
    is_required: bool = True


class TurnMessages(NamedTuple):
    """Numbers that go into the prompt, the number up to which the turn handles the stream, and whether more are left."""

    numbers: tuple[int, ...]
    handled: int
    has_more: bool = False


def is_woken(pending: Sequence[PendingMessage], rule: TriggerRule) -> bool:
    """Return whether one of the messages wakes the agent."""
    return any(
        not each.is_own and each.may_trigger and (not rule.is_required or has_trigger(each.text, rule.trigger))
        for each in pending
    )


def select_messages(pending: Sequence[PendingMessage]) -> TurnMessages | None:
    """Return what one turn takes: all messages in order, up to its limits, and at least one; None without any.

    The messages before the one that woke the agent travel along. What exceeds the limits is left for the next turn.
    """
    if not pending:
        return None
    numbers: list[int] = []
    size, handled = 0, pending[0].number
    for taken, each in enumerate(pending):
        size += len(each.text.encode(errors="replace"))
        if taken and (taken >= MAX_TURN_MESSAGES or size > MAX_TURN_BYTES):
            return TurnMessages(tuple(numbers), handled, has_more=True)
        handled = each.number
        if not each.is_own:
            numbers.append(each.number)
    return TurnMessages(tuple(numbers), handled)
