"""Records of backward steps of a node's wall clock: a node writes them, operators can read them for a day."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self

from .records import Records

CLOCK_STEP: Final = "clock_step"
_MAX_STEPS: Final = 100


class ClockStep(NamedTuple):
    """One backward step; `at` is the time after it."""

    host: str
    at: datetime
    by: timedelta

    @classmethod
    def from_json(cls, text: str) -> Self:
        body = json.loads(text)
        return cls(body["host"], datetime.fromisoformat(body["at"]), timedelta(seconds=body["seconds"]))

    def as_json(self) -> dict[str, Any]:
        return {"host": self.host, "at": self.at.isoformat(), "seconds": self.by.total_seconds()}


async def load_clock_steps(records: Records, now: datetime) -> tuple[ClockStep, ...]:
    """Return the clock steps of the last day, oldest first, one per node."""
    page = await records.records(CLOCK_STEP, limit=_MAX_STEPS)
    live = [each for each in page.items if each.expires is None or each.expires > now]
    return tuple(sorted((ClockStep.from_json(each.body) for each in live), key=lambda step: step.at))
