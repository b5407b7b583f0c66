"""Record of the lease length that all nodes of one deployment agree on."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Final

from .records import Record, Records
from .store import DEFAULT_TERMS

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
