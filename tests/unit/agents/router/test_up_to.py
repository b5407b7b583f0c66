"""Messages of a turn that must reach the one that woke the agent."""

from __future__ import annotations

import pytest

from horae.agents.router.turn import MAX_TURN_BYTES, MAX_TURN_MESSAGES, PendingMessage, select_messages


def pending(count: int, size: int = 1) -> list[PendingMessage]:
    return [PendingMessage(number, "x" * size) for number in range(1, count + 1)]


def test_without_it_the_oldest_messages_are_taken() -> None:
    taken = select_messages(pending(450))
    assert taken is not None
    assert (taken.numbers[0], taken.handled, taken.has_more, taken.omitted) == (1, 200, True, 0)


@pytest.mark.parametrize(
    ("up_to", "first", "last", "omitted"), [(450, 251, 450, 250), (400, 251, 450, 250), (300, 201, 400, 200)]
)
def test_the_turn_reaches_it_and_leaves_out_the_oldest(up_to: int, first: int, last: int, omitted: int) -> None:
    taken = select_messages(pending(450), up_to)
    assert taken is not None
    assert (taken.numbers[0], taken.handled, taken.omitted) == (first, last, omitted)
    assert len(taken.numbers) == MAX_TURN_MESSAGES
    assert taken.has_more is (last < 450)


@pytest.mark.parametrize("up_to", [1, 100, 200])
def test_messages_within_the_limits_are_all_taken(up_to: int) -> None:
    taken = select_messages(pending(200), up_to)
    assert taken is not None
    assert (len(taken.numbers), taken.omitted, taken.has_more) == (200, 0, False)


def test_the_limit_of_bytes_counts_too() -> None:
    taken = select_messages(pending(10, MAX_TURN_BYTES // 4), 8)
    assert taken is not None
    assert (taken.numbers, taken.handled, taken.omitted) == ((5, 6, 7, 8), 8, 4)


def test_messages_of_the_assistant_are_not_counted_as_left_out() -> None:
    own = [PendingMessage(number, "x", is_own=True) for number in range(1, 101)]
    others = [PendingMessage(number, "x") for number in range(101, 401)]
    taken = select_messages([*own, *others], 400)
    assert taken is not None
    assert (taken.numbers[0], taken.omitted) == (201, 100)
