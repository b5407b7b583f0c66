"""Pages of runs by the index that reads the fewest documents, newest first; live and ended runs are in the same indexes."""

from __future__ import annotations

from typing import Final

from ....model.accounts.system_owner import is_scope
from ....model.ids import to_microseconds
from ....model.page import Page
from ....model.run import LIVE_STATES, Run, RunState
from ....ports.store import RunFilter
from ...filters import run_matches
from ...run_pages import RunPage, newest_key
from ..layout.keys import planned_prefix, run_member
from ..transactions.runner import RedisTransactions
from .index_reads import fetch_runs

_CHUNK: Final = 200
_LARGEST_CHUNK: Final = 1_000
_LATEST: Final = 2**62 - 1


async def read_runs(database: RedisTransactions, run_filter: RunFilter, after: str | None, limit: int) -> Page[Run]:
    wanted = RunPage.of(run_filter, after, limit)
    if run_filter.states is not None and run_filter.states <= LIVE_STATES:
        live = await fetch_runs(database, ("HKEYS", database.keys.live), is_ranked=False)
        found = [run for run in live if newest_key(run) < _position(wanted)]
    else:
        found = await _scan_all(database, run_filter, wanted)
    matching = {run.id: run for run in found if _matches(run, run_filter)}
    return wanted.page(sorted(matching.values(), key=newest_key, reverse=True))


def _matches(run: Run, run_filter: RunFilter) -> bool:
    return run_filter.task_id in (None, run.task_id) and run_matches(run, run_filter)


async def _scan_all(database: RedisTransactions, run_filter: RunFilter, wanted: RunPage) -> list[Run]:
    found: list[Run] = []
    if wanted.begins_after_period:
        # A span is planned at its last occurrence, and may begin within the period.
        end = f"({planned_prefix(wanted.until or 0)}~"
        found += await _scan(database, database.keys.span_runs, run_filter, wanted, end)
    for index in _choose_indexes(database, run_filter):
        found += await _scan(database, index, run_filter, wanted.within_period)
    return found


def _choose_indexes(database: RedisTransactions, run_filter: RunFilter) -> list[str]:
    keys, owner, states = database.keys, run_filter.owner, run_filter.states
    if run_filter.task_id is not None:
        return [keys.task_runs(run_filter.task_id)]
    if states is not None and RunState.SUCCEEDED not in states and not states & LIVE_STATES:
        return [keys.state_runs(state) for state in sorted(states)]
    return [keys.runs if owner is None or is_scope(owner) else keys.owner_runs(owner)]


async def _scan(
    database: RedisTransactions, index: str, run_filter: RunFilter, wanted: RunPage, end: str | None = None
) -> list[Run]:
    """Return enough matching runs of an index for the page, from below its position."""
    if end is None:
        end = "-" if wanted.since is None else f"[{planned_prefix(wanted.since)}"
    planned, attempt, run_id = _position(wanted)
    start = f"({run_member(planned, attempt, run_id)}"
    size, found = min(wanted.limit, _CHUNK), list[Run]()
    while len(found) < wanted.limit:
        runs = await fetch_runs(database, ("ZREVRANGEBYLEX", index, start, end, "LIMIT", 0, size))
        found += [run for run in runs if _matches(run, run_filter)]
        if len(runs) < size:
            break
        last = runs[-1]
        start = f"({run_member(to_microseconds(last.planned), last.attempt, last.id)}"
        size = min(2 * size, _LARGEST_CHUNK)
    return found[: wanted.limit]


def _position(wanted: RunPage) -> tuple[int, int, str]:
    return min(wanted.planned, _LATEST), wanted.attempt, wanted.run_id
