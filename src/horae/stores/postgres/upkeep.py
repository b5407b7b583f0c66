"""Upkeep of PostgreSQL: tasks that an ordinary success completed are found by their run, until that run is removed.

The success writes `completes` in the ledger and `completed_by_run` in the status, which no index of the status has: so the
status changes in place (HOT). See migration 0016.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from ...ports.store import TrimResult
from ..sql.connection import Statements
from ..sql.upkeep import SERVER_CHECKS, Check, ExpiredRows, SQLUpkeep, remove_rows


class PostgresUpkeep(SQLUpkeep):
    _checks: ClassVar[tuple[Check, ...]] = (
        *SERVER_CHECKS,
        ("unlisted_tasks", lambda task_id: f"The run that completed the task {task_id} is not in the ledger."),
    )

    async def _remove_rows(self, connection: Statements, batch: ExpiredRows, before: datetime) -> TrimResult:
        trimmed = await remove_rows(connection, batch, before)
        if batch.runs:
            await connection.query("list_completed_tasks", sorted({task for task, *_ in batch.runs}))
        return trimmed
