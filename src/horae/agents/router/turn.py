"""Decision of the router: which unhandled messages of a chat one turn of the agent takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .chat_commands import has_trigger

MAX_TURN_MESSAGES: Final = 200
MAX_TURN_BYTES: Final = 256 * 1024


class PendingMessage(NamedTuple):
    """Message after the cursor *handled*, with what the decision needs. `may_trigger`: the sender is on the list."""

    number: int
    text: str
    may_trigger: bool = True
    is_own: bool = False
    """Written by the assistant itself, or not meant for it, such as a command of the chat: it goes into no prompt."""


class TriggerRule(NamedTuple):
    """When messages wake the agent of a group: always, or by its trigger word."""

    trigger: str
    is_required: bool = True


class TurnMessages(NamedTuple):
    """Numbers that go into the prompt, the number up to which the turn handles the stream, and whether more are left.

    `omitted` messages before the first one are handled, too, and in no prompt.
    """

    numbers: tuple[int, ...]
    handled: int
    has_more: bool = False
    omitted: int = 0


def wakes(message: PendingMessage, rule: TriggerRule) -> bool:
    """Return whether this message wakes the agent."""
    if message.is_own or not message.may_trigger:
        return False
    return not rule.is_required or has_trigger(message.text, rule.trigger)


def is_woken(pending: Sequence[PendingMessage], rule: TriggerRule) -> bool:
    """Return whether one of the messages wakes the agent."""
    return any(wakes(each, rule) for each in pending)


def select_messages(pending: Sequence[PendingMessage], up_to: int | None = None) -> TurnMessages | None:
    """Return what one turn takes: all messages in order, up to its limits, and at least one; None without any.

    The messages before the one that woke the agent travel along. What exceeds the limits is left for the next turn.
    `up_to` is the number of the message that woke the agent: the turn always reaches it, and leaves out the oldest of
    those before it that exceed the limits.
    """
    if not pending:
        return None
    sizes = [len(each.text.encode(errors="replace")) for each in pending]
    start = _start(pending, sizes, up_to)
    numbers: list[int] = []
    size, handled, has_more = 0, pending[start].number, False
    for taken, each in enumerate(pending[start:]):
        size += sizes[start + taken]
        if taken and (taken >= MAX_TURN_MESSAGES or size > MAX_TURN_BYTES):
            has_more = True
            break
        handled = each.number
        if not each.is_own:
            numbers.append(each.number)
    return TurnMessages(tuple(numbers), handled, has_more, sum(not each.is_own for each in pending[:start]))


def _start(pending: Sequence[PendingMessage], sizes: Sequence[int], up_to: int | None) -> int:
    """Return the index of the first message of the turn: 0, or the earliest from which the limits reach `up_to`.

    Up to half of the messages may be those that follow it: they are newer than those before it.
    """
    if up_to is None:
        return 0
    last = next((index for index, each in enumerate(pending) if each.number >= up_to), len(pending) - 1)
    room = MAX_TURN_MESSAGES - min(len(pending) - 1 - last, MAX_TURN_MESSAGES // 2)
    start, size = last, sizes[last]
    while start > 0 and last - start + 1 < room and size + sizes[start - 1] <= MAX_TURN_BYTES:
        start -= 1
        size += sizes[start]
    return start
