"""Rules of the store machine that read lists, runs, events and log lines, or trim the history (retention)."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from ....model.run import RunState
from ....model.task import TaskState
from ....ports.journal import Line
from ....ports.store import RunFilter, TaskFilter
from ...factories import DAY, HOUR
from .machine_state import MachineState
from .paired_stores import Side, all_pages
from .strategies import (
    OWNERS,
    labels,
    numbers,
    several,
)


class ReadRules(MachineState):
    @rule(chosen=several, text=st.sampled_from(("so far, so good", "一切正常", "")))
    def write_lines(self, chosen: list[int], text: str) -> None:
        runs = [run_id for run_id, _ in self._some_runs(chosen)]
        lines = [Line(run_id, self._now, "info", text) for run_id in (*runs, "run_none")]
        self._call_both(lambda side: side.store.write_lines(lines))
        for run_id in runs:
            self._call_both(lambda side, run_id=run_id: side.store.lines(run_id, after=0, limit=5))  # type: ignore[misc]

    @rule(
        owner=st.sampled_from((None, *OWNERS)),
        states=st.sampled_from(
            (
                None,
                frozenset({TaskState.ACTIVE}),
                frozenset({TaskState.PAUSED, TaskState.FAILED}),
                frozenset({TaskState.CANCELLED, TaskState.COMPLETED}),
            )
        ),
        lane=st.sampled_from((None, "narrow", "wide")),
        labels=labels,
        limit=st.integers(1, 5),
    )
    def list_tasks(
        self,
        owner: str | None,
        states: frozenset[TaskState] | None,
        lane: str | None,
        labels: dict[str, str] | None,
        limit: int,
    ) -> None:
        wanted = TaskFilter(owner, states, None, lane, tuple(sorted((labels or {}).items())))
        self._call_both(lambda side: all_pages(lambda after: side.store.tasks(wanted, after, limit)))

    @rule(
        owner=st.sampled_from((None, *OWNERS)),
        number=st.one_of(st.none(), numbers),
        states=st.sampled_from((None, frozenset({RunState.SKIPPED}), frozenset({RunState.RUNNING, RunState.LOST}))),
        since=st.sampled_from((None, HOUR)),
        limit=st.integers(1, 9),
    )
    def list_runs(
        self,
        owner: str | None,
        number: int | None,
        states: frozenset[RunState] | None,
        since: timedelta | None,
        limit: int,
    ) -> None:
        task_id = None if number is None else self._some_task(number)
        wanted = RunFilter(owner, task_id, states, None if since is None else self._now - since, self._now)
        self._call_both(lambda side: all_pages(lambda after: side.store.runs(wanted, after, limit)))

    @rule(chosen=several, owner=st.sampled_from((None, *OWNERS)))
    def read_runs_and_events(self, chosen: list[int], owner: str | None) -> None:
        for run_id, _ in self._some_runs(chosen):
            self._call_both(lambda side, run_id=run_id: side.store.run(run_id, owner))  # type: ignore[misc]

        async def call(side: Side) -> list[Any]:
            # A batch of settlements may be several transactions: the order of the events of one task is fixed, no other.
            events = [each.event for each in await side.store.events(0, owner=owner)]
            return sorted(events, key=lambda event: event.task_id)

        self._call_both(call)

    @rule(age=st.sampled_from((timedelta(0), HOUR, DAY)), keep=st.sampled_from((0, 2, 100)), limit=st.integers(1, 20))
    def trim(self, age: timedelta, keep: int, limit: int) -> None:
        """Trim in batches from the last cursor; the size of a batch is up to the store."""
        before = self._now - age

        async def call(side: Side) -> tuple[int, ...]:
            total, after = Counter[str](), side.trim_cursors.get(keep)
            while True:
                trimmed = await side.store.trim(before, keep, limit, after)
                counts = {"runs": trimmed.runs, "tasks": trimmed.tasks, "events": trimmed.events}
                assert sum(counts.values()) <= limit
                total.update(counts)
                after = side.trim_cursors[keep] = trimmed.after
                if not trimmed.more:
                    return total["runs"], total["tasks"], total["events"]

        self._call_both(call)
