"""Updates of live runs: start, settle, release, and recovery of the runs of a dead node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from ...errors import StoreError
from ...model.change import Change, Facts, RunDecision, SettleDecision
from ...model.ids import to_microseconds
from ...model.outcome import Settlement
from ...model.run import LIVE_STATES, Run
from ..task_cache import TaskCache
from .connection import SqliteConnection, sql
from .load_facts import LoadedFacts, bind_names, bind_numbers
from .unit_of_work import UnitOfWork

_TASKS_OF_RUNS: Final = sql("tasks_of_runs")
_VERSIONS: Final = sql("versions")
_LIVE_RUNS_OF_NODE: Final = sql("live_runs_of_node")
_START: Final = sql("start")
_NEXT_VERSION: Final = sql("next_version")
_RENEWALS: Final = sql("renewals")
_DROP_NODE: Final = sql("drop_node")

RunUpdate: TypeAlias = tuple[str, int | None, Any]
"""A run id, the expected fencing token (None for any), and the argument of the decision."""


class RunUpdater:
    def __init__(self, cache: TaskCache) -> None:
        self._task_cache = cache

    def settle(
        self, connection: SqliteConnection, batch: Sequence[Settlement], decide: SettleDecision
    ) -> frozenset[str]:
        return self._apply(connection, [(each.run_id, each.token, each) for each in batch], decide)

    def release(
        self, connection: SqliteConnection, claims: Sequence[tuple[str, int]], decide: RunDecision
    ) -> frozenset[str]:
        return self._apply(connection, [(*claim, None) for claim in claims], lambda facts, run, _: decide(facts, run))

    def recover(
        self, connection: SqliteConnection, node: str, renewals: int, decide: RunDecision, limit: int
    ) -> int | None:
        if connection.query(_RENEWALS, (node,)) != [(renewals,)]:
            return None
        run_ids = [run_id for run_id, _ in connection.query(_LIVE_RUNS_OF_NODE, (node,))]

        def decide_and_check(facts: Facts, run: Run, _: None) -> Change:
            change = decide(facts, run)
            if not change.deleted and not any(_is_released(moved, run, node) for moved in change.updated_runs):
                raise StoreError(f"The run {run.id} was to be recovered, but is still held by {node}.")
            return change

        self._apply(connection, [(run_id, None, None) for run_id in run_ids[:limit]], decide_and_check)
        if len(run_ids) <= limit:
            connection.query(_DROP_NODE, (node,))
        return min(len(run_ids), limit)

    def start(self, connection: SqliteConnection, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        now_microseconds = to_microseconds(now)
        started = [
            row for run_id, token in claims for row in connection.query(_START, (now_microseconds, run_id, token))
        ]
        connection.write_each(_NEXT_VERSION, [(task,) for _, task in started])
        return frozenset(run_id for run_id, _ in started)

    def _apply(
        self, connection: SqliteConnection, updates: Sequence[RunUpdate], decide: Callable[[Facts, Run, Any], Change]
    ) -> frozenset[str]:
        """Decide and write the updates; return the ids of runs that are not live under the expected token."""
        stale: set[str] = set()
        tasks = self._find_task_numbers(connection, [run_id for run_id, _, _ in updates])
        loaded = self._load(connection, tasks)
        unit_of_work = UnitOfWork(connection, self._task_cache)
        for run_id, token, argument in updates:
            cached = loaded.tasks.get(tasks.get(run_id, 0))
            run, _ = (None, 0) if cached is None else cached.find_run(run_id)
            if cached is None or run is None or token not in (None, run.token):
                stale.add(run_id)
                continue
            entries = loaded.entries.get(cached.number, ())
            change = decide(loaded.build_facts(cached, entries), run, argument)
            if change.new_runs:
                change = unit_of_work.deduplicate_runs(cached.number, change)
            unit_of_work.add_change(cached, entries, change, loaded)
            if change.put or change.dropped:
                loaded.update_entries(cached.number, change, entries)
        unit_of_work.flush()
        return frozenset(stale)

    def _find_task_numbers(self, connection: SqliteConnection, run_ids: Sequence[str]) -> dict[str, int]:
        """Return the task numbers of those runs that are live, from the cache or the index of live runs."""
        numbers = self._task_cache.task_numbers_of_runs(run_ids)
        if len(numbers) < len(run_ids):
            unknown = [run_id for run_id in run_ids if run_id not in numbers]
            numbers.update(connection.query(_TASKS_OF_RUNS, (bind_names(unknown),)) if unknown else ())
        return numbers

    def _load(self, connection: SqliteConnection, tasks: dict[str, int]) -> LoadedFacts:
        numbers = dict.fromkeys(tasks.values())
        rows = connection.query(_VERSIONS, (bind_numbers(numbers),)) if numbers else []
        loaded = LoadedFacts(connection, self._task_cache, {number: version for number, version, _ in rows})
        loaded.read_entries([number for number, _, entries in rows if entries])
        return loaded


def _is_released(moved: Run, run: Run, node: str) -> bool:
    return moved.id == run.id and (moved.state not in LIVE_STATES or moved.node != node)
