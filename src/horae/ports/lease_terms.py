"""What the nodes of one deployment have agreed on, as their store keeps it: how long a lease is."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Final

from .records import Record, Records
from .store import STANDARD_TERMS

_KEPT: Final = ("agreed", "terms")


def agreeing(lease: timedelta) -> Record:
    return Record(*_KEPT, "", json.dumps({"lease": lease.total_seconds()}))


def lease_in(record: Record) -> timedelta:
    return timedelta(seconds=float(json.loads(record.body)["lease"]))


async def agreement(records: Records) -> Record | None:
    """None where no node has ever been."""
    return await records.get_record(*_KEPT)


async def agreed_lease(records: Records) -> timedelta:
    found = await agreement(records)
    return STANDARD_TERMS.lease if found is None else lease_in(found)
