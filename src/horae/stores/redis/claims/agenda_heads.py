"""Head of the agenda: the earliest due entry, the next wake-up of a lane, or the end of a reservation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from ...claim_rules import earliest_due
from ..layout.keys import Keys, due_of_member
from ..transactions.transaction import Word

_RESERVED_RETRY_DELAY: Final = timedelta(milliseconds=50)
"""Delay until entries that another node has reserved are looked for again: it may give them back, or have died."""


def head_commands(keys: Keys) -> list[tuple[Word, ...]]:
    """Return the commands whose answers `head_of` takes."""
    return [("ZRANGE", key, 0, 0, "WITHSCORES") for key in (keys.timed, keys.ready, keys.wakeups, keys.reserved)]


def head_of(answers: Sequence[Any], now: datetime | None = None) -> datetime | None:
    """Return the head of the agenda. For a claim at this instant, reserved entries count as due soon; else when their
    reservation ends."""
    timed, ready, wakeup, reserved = answers
    heads = [_due_of(timed), _due_of(ready), _score_of(wakeup)]
    if now is None:
        return earliest_due(*heads, _score_of(reserved))
    head = earliest_due(*heads)
    if not reserved:
        return head
    soon = now + _RESERVED_RETRY_DELAY
    return soon if head is None else min(head, soon)


def earliest_of_queues(answers: Sequence[Sequence[str]]) -> datetime | None:
    """Return the earliest due instant of queues by their first members."""
    return earliest_due(*(_due_of(answer) for answer in answers))


def _due_of(answer: Sequence[Any]) -> int | None:
    # The driver returns pairs or a flat list.
    return due_of_member(_flat(answer)[0]) if answer else None


def _score_of(answer: Sequence[Any]) -> int | None:
    return int(float(_flat(answer)[1])) if answer else None


def _flat(answer: Sequence[Any]) -> Sequence[Any]:
    first = answer[0]
    return first if isinstance(first, list | tuple) else answer
