"""Order of turns between groups: rounds, in which each has one turn."""

from __future__ import annotations

from horae.agents.host.turn_order import LONGEST_WAIT, TurnOrder
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock


def ask(order: TurnOrder, *folders: str) -> list[str]:
    """Let groups want a turn, and return those whose turn was asked for."""
    found = [folder for folder in folders if order.may_ask(folder)]
    for folder in found:
        order.asked(folder)
    return found


def test_a_group_that_had_a_turn_lets_those_go_first_that_wait_for_theirs() -> None:
    order = TurnOrder(VirtualClock(NOON))
    assert ask(order, "c", "b", "a") == ["c", "b", "a"]
    order.started("c")
    assert ask(order, "c") == []
    order.started("b")
    assert order.release() == []
    order.started("a")

    assert order.release() == ["c"]
    assert ask(order, "c") == ["c"]
    assert order.release() == []


def test_groups_of_one_round_are_asked_for_together() -> None:
    order = TurnOrder(VirtualClock(NOON))
    ask(order, "a", "b")
    order.started("a")
    assert ask(order, "a") == []
    order.started("b")

    assert ask(order, "b", "a") == ["b", "a"]


def test_a_new_group_joins_the_round_that_goes_on() -> None:
    order = TurnOrder(VirtualClock(NOON))
    for _ in range(3):
        assert ask(order, "a") == ["a"]
        order.started("a")

    assert ask(order, "b") == ["b"]
    assert ask(order, "a") == []


def test_a_group_that_wants_no_turn_any_more_holds_up_nobody() -> None:
    order = TurnOrder(VirtualClock(NOON))
    ask(order, "a", "b")
    order.started("a")
    assert ask(order, "a") == []
    order.forget("b")

    assert order.release() == ["a"]


def test_a_turn_that_does_not_start_holds_up_no_other_group_for_ever() -> None:
    clock = VirtualClock(NOON)
    order = TurnOrder(clock)
    ask(order, "a", "b")
    order.started("b")
    assert ask(order, "b") == []
    clock.advance(LONGEST_WAIT - 1)
    assert order.release() == []
    clock.advance(1)

    assert order.release() == ["b"]
