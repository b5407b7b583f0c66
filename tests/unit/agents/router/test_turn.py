"""Which messages wake an agent, and which one turn takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from horae.agents.router.turn import (
    MAX_TURN_BYTES,
    MAX_TURN_MESSAGES,
    PendingMessage,
    TriggerRule,
    is_woken,
    select_messages,
)

RULE = TriggerRule("@Andy")


def test_group_needs_the_trigger_and_main_does_not() -> None:
    pending = [PendingMessage(1, "hello")]
    assert not is_woken(pending, RULE)
    assert is_woken(pending, TriggerRule("@Andy", is_required=False))
    assert is_woken([*pending, PendingMessage(2, "@Andy hello")], RULE)


def test_denied_sender_and_the_assistant_wake_nothing() -> None:
    assert not is_woken([PendingMessage(1, "@Andy hello", may_trigger=False)], RULE)
    assert not is_woken([PendingMessage(1, "@Andy hello", is_own=True)], RULE)


def test_turn_takes_the_messages_before_the_trigger_along() -> None:
    pending = [PendingMessage(4, "rain?"), PendingMessage(5, "answer", is_own=True), PendingMessage(6, "@Andy?")]
    taken = select_messages(pending)
    assert taken is not None
    assert taken.numbers == (4, 6)
    assert (taken.handled, taken.has_more) == (6, False)


def test_nothing_pending_is_no_turn() -> None:
    assert select_messages([]) is None


def test_message_above_the_limit_is_taken_alone() -> None:
    taken = select_messages([PendingMessage(1, "x" * (MAX_TURN_BYTES + 1)), PendingMessage(2, "y")])
    assert taken is not None
    assert (taken.numbers, taken.handled, taken.has_more) == ((1,), 1, True)


@given(st.lists(st.booleans(), max_size=3 * MAX_TURN_MESSAGES))
def test_turns_take_every_message_once_and_in_order(own: list[bool]) -> None:
    pending = [PendingMessage(number, "x", is_own=is_own) for number, is_own in enumerate(own, 1)]
    seen: list[int] = []
    left = pending
    while (taken := select_messages(left)) is not None:
        seen += taken.numbers
        left = [each for each in left if each.number > taken.handled]
        assert taken.has_more is bool(left)
    assert seen == [each.number for each in pending if not each.is_own]
