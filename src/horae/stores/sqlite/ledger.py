"""Paginated reads of the ledger and the task list, each by the index that reads the fewest rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ...model.change import Facts
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.route import ROUTE_PREFIXES
from ...model.run import LIVE_STATES, Run, RunState
from ...ports.store import RunFilter, TaskFilter
from ..codec.columns import decode_listed_run, run_order, task_page_cursor
from ..codec.json_codecs import encode
from ..run_id_prefix import planned_range_of_id
from ..run_pages import ROWS_PER_TASK, RunPage, is_owner_large, microseconds_since, newest_by_task
from ..task_cache import TaskCache
from .connection import Row, SqliteConnection, sql
from .load_facts import LoadedFacts, bind_names
from .task_pages import read_task_rows

_UPCOMING: Final = sql("upcoming")
_UPCOMING_READY: Final = sql("upcoming_ready")
_UPCOMING_OF_OWNER: Final = sql("upcoming_of_owner")
_TASKS_OF_OWNER_AND_ALL: Final = sql("tasks_of_owner_and_all")
_TASKS_PARKED_AT_ROUTE: Final = sql("tasks_parked_at_route")
_TASKS_PARKED_IN_LANE: Final = sql("tasks_parked_in_lane")
_LATEST_RUNS: Final = sql("latest")
_LATEST_OUTCOMES: Final = sql("latest_outcomes")
_LIVE_RUN: Final = sql("live_run")
_RUN_STRAY: Final = sql("run_stray")
_RUN_AMONG_FIRST: Final = sql("run_among_first")
_RUNS_PAGE: Final = sql("runs_page")
_RUNS_PAGE_OF_TASK: Final = sql("runs_page_of_task")
_RUNS_PAGE_OF_OWNER: Final = sql("runs_page_of_owner")
_RUNS_PAGE_OF_SPANS: Final = sql("runs_page_of_spans")
_RUNS_PAGE_LIVE: Final = sql("runs_page_live")
_RUNS_PAGE_UNSUCCESSFUL: Final = sql("runs_page_unsuccessful")


def read_tasks(
    connection: SqliteConnection, cache: TaskCache, task_filter: TaskFilter, after: str | None, limit: int
) -> Page[Facts]:
    size = min(limit, MAX_PAGE_SIZE)
    rows = read_task_rows(connection, task_filter, int(after or 0), size + 1)
    return Page(_read_facts(connection, cache, rows[:size]), task_page_cursor(rows, size))


def read_upcoming(connection: SqliteConnection, cache: TaskCache, owner: str | None, limit: int) -> tuple[Facts, ...]:
    size = min(limit, MAX_PAGE_SIZE)
    entries = 2 * size
    while True:
        rows = _read_soonest(connection, owner, entries)
        # A task with several entries appears once.
        tasks = list(dict.fromkeys((task, version) for task, version, _ in rows))
        if len(tasks) >= size or len(rows) < entries:
            return _read_facts(connection, cache, tasks[:size])
        entries *= 4


def _read_soonest(connection: SqliteConnection, owner: str | None, limit: int) -> list[Row]:
    if owner is not None and not _is_large_owner(connection, owner, limit, rows_per_task=1):
        return connection.query(_UPCOMING_OF_OWNER, (owner, limit))
    bindings = {"owner": owner, "limit": limit}
    rows = [*connection.query(_UPCOMING_READY, bindings), *connection.query(_UPCOMING, bindings)]
    return sorted(rows, key=_due)[:limit]


def _due(row: Row) -> int:
    _, _, due = row
    return int(due)


def _is_large_owner(connection: SqliteConnection, owner: str, count: int, rows_per_task: int) -> bool:
    ((owner_tasks, all_tasks),) = connection.query(_TASKS_OF_OWNER_AND_ALL, {"owner": owner})
    return is_owner_large(owner_tasks, all_tasks, count, rows_per_task)


def read_stranded(connection: SqliteConnection, cache: TaskCache, owner: str | None, limit: int) -> tuple[Facts, ...]:
    """Read tasks whose entries are parked at a route; the lane names of routes have prefixes, so each is a range scan."""
    size = min(limit, MAX_PAGE_SIZE)
    ranges = [{"from": prefix, "to": prefix[:-1] + ";", "owner": owner, "limit": size} for prefix in ROUTE_PREFIXES]
    tasks = [row for bindings in ranges for row in connection.query(_TASKS_PARKED_AT_ROUTE, bindings)]
    return _read_facts(connection, cache, sorted(tasks)[:size])


def read_queued(connection: SqliteConnection, cache: TaskCache, lane: str, limit: int) -> tuple[Facts, ...]:
    """Read tasks that are parked in a lane; a task with several entries is read once."""
    rows = connection.query(_TASKS_PARKED_IN_LANE, {"lane": lane, "limit": min(limit, MAX_PAGE_SIZE)})
    return _read_facts(connection, cache, list(dict.fromkeys((number, version) for number, version in rows)))


def read_latest(connection: SqliteConnection, task_ids: Sequence[str]) -> dict[str, Run]:
    rows = connection.query(_LATEST_RUNS, (bind_names(task_ids),)) if task_ids else []
    return {run.task_id: run for run in map(decode_listed_run, rows)}


def read_outcomes(
    connection: SqliteConnection, task_ids: Sequence[str], limit: int, since: datetime | None
) -> dict[str, tuple[Run, ...]]:
    if not task_ids:
        return {}
    rows = connection.query(_LATEST_OUTCOMES, (bind_names(task_ids), limit, microseconds_since(since)))
    return newest_by_task(map(decode_listed_run, rows), limit)


def _read_facts(connection: SqliteConnection, cache: TaskCache, rows: Sequence[Row]) -> tuple[Facts, ...]:
    """Read the facts of tasks without lane use, which lists do not show."""
    numbers = [number for number, _ in rows]
    loaded = LoadedFacts(connection, cache, dict(rows))
    loaded.read_entries(numbers)
    loaded.update_cache(cache)
    all_facts = [loaded.build_facts(loaded.tasks[number], loaded.entries.get(number, ())) for number in numbers]
    return tuple([facts._replace(lanes=()) if facts.lanes else facts for facts in all_facts])


def find_run_in_small_indexes(connection: SqliteConnection, run_id: str) -> Run | None:
    """Find a run that is live, or stray, or among the first of its planned instant; None if it may be among the others."""
    for statement in (_LIVE_RUN, _RUN_STRAY):
        for row in connection.query(statement, (run_id,)):
            return decode_listed_run(row)
    instants = planned_range_of_id(run_id)
    rows = [] if instants is None else connection.query(_RUN_AMONG_FIRST, (*instants, run_id))
    return next(map(decode_listed_run, rows), None)


def read_runs(connection: SqliteConnection, run_filter: RunFilter, after: str | None, limit: int) -> Page[Run]:
    wanted = RunPage.of(run_filter, after, limit)
    rows = connection.query(_RUNS_PAGE_OF_SPANS, _bind_page(wanted, run_filter)) if wanted.begins_after_period else []
    if len(rows) < wanted.limit:
        within = wanted.within_period
        rows += _read_run_rows(connection, run_filter, within.size, _bind_page(within, run_filter))
    return wanted.page(list(map(decode_listed_run, rows[: wanted.limit])))


def _bind_page(page: RunPage, run_filter: RunFilter) -> dict[str, Any]:
    return {
        "planned": page.planned,
        "attempt": page.attempt,
        "id": page.run_id,
        "owner": page.owner,
        "states": None if page.states is None else encode(page.states),
        "since": page.since,
        "until": page.until,
        "limit": page.limit,
        "task_id": run_filter.task_id,
    }


def _read_run_rows(
    connection: SqliteConnection, run_filter: RunFilter, size: int, bindings: dict[str, Any]
) -> list[Row]:
    """Read run rows by the index that reads the fewest rows."""
    if run_filter.task_id is not None:
        return connection.query(_RUNS_PAGE_OF_TASK, bindings)
    if run_filter.states is not None and run_filter.states <= LIVE_STATES:
        return connection.query(_RUNS_PAGE_LIVE, bindings)
    if run_filter.owner is not None and not _is_large_owner(connection, run_filter.owner, size, ROWS_PER_TASK):
        return connection.query(_RUNS_PAGE_OF_OWNER, bindings)
    if run_filter.states is None or RunState.SUCCEEDED in run_filter.states:
        return connection.query(_RUNS_PAGE, bindings)
    return _read_state_by_state(connection, run_filter.states, bindings)


def _read_state_by_state(
    connection: SqliteConnection, states: frozenset[RunState], bindings: dict[str, Any]
) -> list[Row]:
    """Read each ended state by the index on states, live states by the index on live runs, and merge the rows."""
    rows = connection.query(_RUNS_PAGE_LIVE, bindings) if states & LIVE_STATES else []
    for state in states - LIVE_STATES:
        rows += connection.query(_RUNS_PAGE_UNSUCCESSFUL, bindings | {"state": state})
    return sorted(rows, key=run_order, reverse=True)[: bindings["limit"]] if len(states) > 1 else rows
