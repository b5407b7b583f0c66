"""From text to a schedule: the one door."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..cron import Cron
from ..value import Schedule


@dataclass(frozen=True, slots=True)
class Reading:
    """What was understood; `relative` when the same words mean something else at another moment."""

    schedule: Schedule
    relative: bool = False
    notes: tuple[str, ...] = ()


def read(text: str, *, zone: str | None, now: datetime) -> Reading:
    return Reading(Cron(text, zone=zone))
