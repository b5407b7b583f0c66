"""Paginated reads of tasks and runs; a page of runs merges live runs with ended ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ....model.accounts.system_owner import account_of, is_readable, is_scope
from ....model.change import Facts
from ....model.ids import planned_range_of_id, to_microseconds
from ....model.lanes.lane import DEFAULT_LIMIT, LaneUse, block_reason, owner_lane
from ....model.lanes.route import PARKING_PREFIXES
from ....model.page import MAX_PAGE_SIZE, Page
from ....model.reason import Reason
from ....model.run import LIVE_STATES, Run, RunState
from ....ports.store import RunFilter, TaskFilter
from ...codec.columns import decode_listed_run, task_page_cursor
from ...codec.rows import REASONS, Row
from ...run_pages import ROWS_PER_TASK, RunPage, is_owner_large, microseconds_since, newest_by_task, newest_key
from ...task_cache import TaskCache
from ..claims.lane_rates import read_rate_use
from ..connection import Statements
from ..load_facts import LoadedFacts
from .task_pages import read_task_rows


async def read_tasks(
    connection: Statements, cache: TaskCache, task_filter: TaskFilter, after: str | None, limit: int
) -> Page[Facts]:
    size = min(limit, MAX_PAGE_SIZE)
    rows = await read_task_rows(connection, task_filter, int(after or 0), size + 1)
    tasks = [(number, version) for number, version in rows[:size]]
    return Page(await read_facts(connection, cache, tasks), task_page_cursor(rows, size))


async def count_tasks(connection: Statements, task_filter: TaskFilter, limit: int) -> int:
    return len(await read_task_rows(connection, task_filter, 0, limit))


async def read_upcoming(connection: Statements, cache: TaskCache, owner: str | None, limit: int) -> tuple[Facts, ...]:
    size = min(limit, MAX_PAGE_SIZE)
    max_entries = 2 * size
    while True:
        rows = await _read_soonest(connection, owner, max_entries)
        # A task with many entries counts once.
        tasks = list(dict.fromkeys((task, version) for task, version, _ in rows))
        if len(tasks) >= size or len(rows) < max_entries:
            return await read_facts(connection, cache, tasks[:size])
        max_entries *= 4


async def _read_soonest(connection: Statements, owner: str | None, max_rows: int) -> list[Row]:
    if (
        owner is not None
        and not is_scope(owner)
        and not await _is_large_owner(connection, owner, max_rows, rows_per_task=1)
    ):
        return await connection.query("upcoming_of_owner", owner, max_rows)
    return await connection.query("upcoming", owner, max_rows)


async def _is_large_owner(connection: Statements, owner: str, row_count: int, rows_per_task: int) -> bool:
    ((owner_tasks, all_tasks),) = await connection.query("tasks_of_owner_and_all", owner)
    return is_owner_large(owner_tasks, all_tasks, row_count, rows_per_task)


async def read_stranded(
    connection: Statements, cache: TaskCache, owner: str | None, now: datetime, limit: int
) -> tuple[Facts, ...]:
    """Read tasks that are parked at a route without a worker, a range of the index, or due in the queue of a route."""
    size = min(limit, MAX_PAGE_SIZE)
    tasks: list[tuple[int, int]] = []
    for route in PARKING_PREFIXES:
        rows = await connection.query("tasks_parked_at_route", route, route[:-1] + ";", owner, size)
        tasks += [(number, version) for number, version in rows]
    queued = await connection.query("tasks_due_in_route_queues", to_microseconds(now), owner, size)
    tasks += [(number, version) for number, version in queued]
    return await read_facts(connection, cache, sorted(set(tasks))[:size])


async def read_queued(connection: Statements, cache: TaskCache, lane: str, limit: int) -> tuple[Facts, ...]:
    """Read tasks that are parked in a lane; a task with several entries is read once."""
    rows = await connection.query("tasks_parked_in_lane", lane, min(limit, MAX_PAGE_SIZE))
    return await read_facts(connection, cache, list(dict.fromkeys((number, version) for number, version in rows)))


async def read_latest(connection: Statements, task_ids: list[str]) -> dict[str, Run]:
    newest: dict[str, Run] = {}
    for row in await connection.query("latest", task_ids):
        run = decode_listed_run(row)
        known = newest.get(run.task_id)
        if known is None or newest_key(known) < newest_key(run):
            newest[run.task_id] = run
    return newest


async def read_outcomes(
    connection: Statements, task_ids: list[str], limit: int, since: datetime | None
) -> dict[str, tuple[Run, ...]]:
    """Read the newest runs of each task, from the live and from the ended ones."""
    rows = await connection.query("latest_outcomes", task_ids, limit, microseconds_since(since))
    return newest_by_task(map(decode_listed_run, rows), limit)


async def read_facts(connection: Statements, cache: TaskCache, tasks: Sequence[tuple[int, int]]) -> tuple[Facts, ...]:
    """Read the facts of tasks given by number and version, without lanes: lists do not show what a run waits for.

    `cache` is a cache of readers: it contains committed tasks alone, and none with live runs.
    """
    loaded = await _load_facts(connection, cache, tasks)
    # Most tasks of a list have the same owner and no lane.
    pairs = {(known.task.owner, known.task.lane) for known in loaded.tasks.values()}
    names = sorted({name for pair in pairs for name in _blockable_names(*pair)})
    rows = await connection.query("limits_and_blocks_of_owners", [], names) if names else []
    blocked = {name: REASONS[reason] for kind, name, reason in rows if kind == "blocked_owners"}
    return tuple([_build_facts(loaded, number, blocked) for number, _ in tasks if number in loaded.tasks])


async def read_task_with_lanes(connection: Statements, cache: TaskCache, number: int, version: int) -> Facts:
    """Read the facts of one task with the use of its lanes as a decision would see it, without locks."""
    loaded = await _load_facts(connection, cache, [(number, version)])
    task = loaded.tasks[number].task
    own_lane = owner_lane(task.owner)
    lane_names = list(dict.fromkeys((*task.lanes, own_lane)))
    blocked: dict[str, Reason | None] = {}
    lanes: list[LaneUse] = []
    rows = await connection.query("lane_use_and_blocks", lane_names, _blockable_names(task.owner, task.lane))
    for name, limit, taken, reason, *rate in rows:
        if taken is None:
            blocked[name] = REASONS[reason]
        elif name != own_lane or limit is not None or name in task.lanes:
            use = LaneUse(name, DEFAULT_LIMIT if limit is None else limit, taken)
            lanes.append(await read_rate_use(connection, use, *rate))
    if len(lanes) > 1:
        lanes.sort(key=lambda use: lane_names.index(use.name))
    return _build_facts(loaded, number, blocked)._replace(lanes=tuple(lanes))


async def _load_facts(connection: Statements, cache: TaskCache, tasks: Sequence[tuple[int, int]]) -> LoadedFacts:
    loaded = LoadedFacts(connection, cache, dict(tasks))
    await loaded.read_tasks()
    await loaded.read_entries([number for number, _ in tasks])
    loaded.update_cache(cache)
    return loaded


def _blockable_names(owner: str, lane: str | None) -> list[str]:
    account = account_of(owner)
    return [account] if lane is None else [account, lane]


def _build_facts(loaded: LoadedFacts, number: int, blocked: dict[str, Reason | None]) -> Facts:
    known = loaded.tasks[number]
    entries = loaded.entries.get(number, ())
    task = known.task
    reason = block_reason(task.owner, task.lane, blocked.get) if blocked else None
    return Facts(task, known.status, entries, known.live, block_reason=reason)


async def read_run(connection: Statements, run_id: str) -> Run | None:
    rows = await connection.query("live_run", run_id)
    if not rows:
        instants = planned_range_of_id(run_id)
        rows = await connection.query("ended_run", run_id, *((0, -1) if instants is None else instants))
    return next(map(decode_listed_run, rows), None)


async def read_runs(connection: Statements, run_filter: RunFilter, after: str | None, limit: int) -> Page[Run]:
    wanted = RunPage.of(run_filter, after, limit)
    rows: list[Row] = []
    if run_filter.states is None or run_filter.states & LIVE_STATES:
        rows += await connection.query("runs_page_live", *_page_values(wanted), run_filter.task_id)
    if run_filter.states is None or run_filter.states - LIVE_STATES:
        if wanted.begins_after_period:
            rows += await connection.query("runs_page_of_spans", *_page_values(wanted), run_filter.task_id)
        rows += await _read_ended_runs(connection, run_filter, wanted.size, _page_values(wanted.within_period))
    runs = [decode_listed_run(row) for row in rows]
    if run_filter.task_id is not None:
        # All runs of a task have one owner; an account may read those of its system tasks by the id of the task.
        runs = [run for run in runs if is_readable(run_filter.owner, run.owner)]
    return wanted.page(sorted(runs, key=newest_key, reverse=True))


def _page_values(page: RunPage) -> tuple[Any, ...]:
    return page.planned, page.attempt, page.run_id, page.limit, page.owner, page.states, page.since, page.until


async def _read_ended_runs(
    connection: Statements, run_filter: RunFilter, size: int, values: tuple[Any, ...]
) -> list[Row]:
    """Read a page of ended runs by the index that needs the fewest rows."""
    if run_filter.task_id is not None:
        return await connection.query("runs_page_of_task", *values, run_filter.task_id)
    owner = run_filter.owner
    if owner is not None and not is_scope(owner) and not await _is_large_owner(connection, owner, size, ROWS_PER_TASK):
        return await connection.query("runs_page_of_owner", *values)
    if run_filter.states is None or RunState.SUCCEEDED in run_filter.states:
        return await connection.query("runs_page", *values)
    rows: list[Row] = []
    for state in run_filter.states - LIVE_STATES:
        rows += await connection.query("runs_page_in_state", *values, str(state))
    return rows
