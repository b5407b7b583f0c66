"""Decision of the router: whether the waiting messages of a group need a turn of its agent now; pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class TurnNeed(StrEnum):
    NONE = "none"
    """No message that wakes the agent waits, or the group is stopped."""
    GOING_ON = "going_on"
    """A turn runs, waits, or will be tried again: it reads the messages itself."""
    ASK = "ask"
    GIVEN_UP = "given_up"
    """The last turn had these messages and failed for good: only a newer message, or a start of the host, asks again."""


class LastTurn(NamedTuple):
    """The newest run of the group's turns that has ended. `began` is when it read the messages."""

    began: datetime
    is_success: bool = False


def decide_turn(
    waking_at: datetime | None,
    last: LastTurn | None,
    *,
    is_going_on: bool = False,
    is_stopped: bool = False,
    is_start: bool = False,
) -> TurnNeed:
    """Decide whether to ask for a turn.

    `waking_at` is when the newest waiting message that wakes the agent was stored; None: there is none. `is_start`: the
    host has just started, and tries again what was given up. In a group that is stopped the messages wait.
    """
    if waking_at is None or is_stopped:
        return TurnNeed.NONE
    if is_going_on:
        return TurnNeed.GOING_ON
    if last is None or last.is_success or is_start or waking_at >= last.began:
        return TurnNeed.ASK
    return TurnNeed.GIVEN_UP
