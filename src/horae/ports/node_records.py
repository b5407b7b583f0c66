"""Records that nodes write about themselves: backward steps of their wall clock, and the lease length they agreed on."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self

from .records import Record, Records
from .store import DEFAULT_TERMS

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


LEASE_RECORD_KEY: Final = ("agreed", "terms")


def make_lease_record(lease: timedelta) -> Record:
    return Record(*LEASE_RECORD_KEY, "", json.dumps({"lease": lease.total_seconds()}))


def parse_lease(record: Record) -> timedelta:
    return timedelta(seconds=float(json.loads(record.body)["lease"]))


async def load_lease_record(records: Records) -> Record | None:
    """Return the record of the agreed lease; None if no node has ever joined."""
    return await records.get_record(*LEASE_RECORD_KEY)


async def load_agreed_lease(records: Records) -> timedelta:
    """Return the agreed lease length, or the standard one where none was agreed."""
    record = await load_lease_record(records)
    return DEFAULT_TERMS.lease if record is None else parse_lease(record)
