"""Whether waiting messages need a turn of the agent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from horae.agents.router.needs_turn import LastTurn, TurnNeed, decide_turn

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)


def test_without_a_message_that_wakes_the_agent_no_turn_is_needed() -> None:
    assert decide_turn(None, None) is TurnNeed.NONE


def test_a_message_that_wakes_the_agent_needs_a_turn() -> None:
    assert decide_turn(NOON, None) is TurnNeed.ASK


def test_no_second_turn_is_asked_for_while_one_goes_on() -> None:
    assert decide_turn(NOON, None, is_going_on=True) is TurnNeed.GOING_ON


def test_a_stopped_group_asks_for_nothing() -> None:
    assert decide_turn(NOON, None, is_stopped=True, is_start=True) is TurnNeed.NONE


def test_messages_left_by_a_turn_that_succeeded_need_another() -> None:
    assert decide_turn(NOON, LastTurn(LATER, is_success=True)) is TurnNeed.ASK


def test_a_turn_that_failed_for_good_is_not_asked_for_again() -> None:
    assert decide_turn(NOON, LastTurn(LATER)) is TurnNeed.GIVEN_UP


def test_a_newer_waking_message_asks_again() -> None:
    assert decide_turn(LATER, LastTurn(NOON)) is TurnNeed.ASK
    assert decide_turn(NOON, LastTurn(NOON)) is TurnNeed.ASK


def test_a_start_of_the_host_asks_again() -> None:
    assert decide_turn(NOON, LastTurn(LATER), is_start=True) is TurnNeed.ASK
