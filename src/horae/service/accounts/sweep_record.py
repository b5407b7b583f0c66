"""Record of a pending quota sweep: written with the change of a quota, read by the sweep."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from ...model.record import Record, RecordWrite

SWEEP_KIND: Final = "quota.sweep"
SWEPT_LIMITS: Final = ("shortest_interval", "longest_life", "payload_bytes", "active_tasks")
"""Limits of the tasks themselves. Limits of runs are checked when an occurrence comes due."""


def sweep_writing(owner: str, limits: Collection[str], known: Record | None) -> tuple[RecordWrite, ...]:
    """Return the record to write with the change of a quota, so that the sweep is done even if this process dies first."""
    before = [] if known is None else json.loads(known.body)["limits"]
    pending = sorted({*before, *(name for name in limits if name in SWEPT_LIMITS)})
    if not pending:
        return ()
    record = Record(SWEEP_KIND, owner, owner, json.dumps({"limits": pending}))
    return (RecordWrite(record, None if known is None else known.version),)
