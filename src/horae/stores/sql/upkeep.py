"""Upkeep port on a database server: retention, integrity check and key-value metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from ...clock import SystemClock
from ...errors import StoreError
from ...model.counts import RETAINED_HOURS, hour_of
from ...ports.store import TrimResult
from .connection import Connection
from .event_reader import SQLFeed
from .retention import RetentionScan, remove_rows
from .transactions import Session


class SQLUpkeep(SQLFeed):
    _session: Session

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        await self._number_events()
        batch = await RetentionScan(self._session, before, keep_runs, limit).find(after)
        if batch.has_counts:
            await self._session.transact(_compact_counters)
        if not batch.has_rows:
            return TrimResult(more=batch.more, after=batch.cursor.encoded)
        return await self._session.transact(lambda connection: remove_rows(connection, batch, before))

    async def check(self) -> tuple[str, ...]:
        return await self._session.read(_find_problems)

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:  # noqa: ARG002
        raise StoreError(
            "A database server is backed up by its own tools (pg_dump, mariadb-dump); "
            "`horae move FROM_URL sqlite:///FILE` copies a deployment into a file."
        )

    async def read_metadata(self, name: str) -> str | None:
        rows = await self._session.query("read_metadata", name)
        return rows[0][0] if rows else None

    async def write_metadata(self, name: str, value: str) -> None:
        await self._session.query("write_metadata", name, value)


async def _compact_counters(connection: Connection) -> None:
    await connection.query("sum_counter_deltas")
    await connection.query("delete_old_counters", hour_of(SystemClock().now()), RETAINED_HOURS)
    await connection.query("drop_unused_lanes")


async def _find_problems(connection: Connection) -> tuple[str, ...]:
    problems: list[str] = []
    for name, describe in _CHECKS:
        # A query may return a task once for each of its labels.
        problems += dict.fromkeys(describe(*row) for row in await connection.query(name))
    return tuple(problems)


def _checks() -> Iterator[tuple[str, Callable[..., str]]]:
    yield (
        "orphan_entries",
        lambda slot, task: f"The agenda entry {slot} belongs to task number {task}, which is not there.",
    )
    yield "orphan_runs", lambda run_id, task: f"The run {run_id} belongs to task number {task}, which is not there."
    yield "tasks_without_status", lambda task_id: f"The task {task_id} has no status."
    yield "mislabelled_tasks", lambda task_id: f"The task {task_id} is not found by the labels that it has."
    yield (
        "wrong_lane_slots",
        lambda lane, taken, live_runs: f"The lane {lane} counts {taken} slots taken, but has {live_runs} live runs.",
    )
    yield "tasks_without_work", lambda task_id: f"The task {task_id} is active, but nothing of it is queued or running."
    yield (
        "wrong_state_counters",
        lambda owner, name, recorded, actual: (
            f"{recorded} tasks of {owner or 'all owners'} are counted as {name}, but there are {actual}."
        ),
    )
    yield "runs_live_and_ended", lambda run_id: f"The run {run_id} is live, but the ledger says that it has ended."


_CHECKS = tuple(_checks())
