"""Waits for the end of a task's occurrence: woken by this process's engine, with polling back-off for other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from ..model.change import Facts
from ..model.entry import EntryKind, EntryState
from ..model.page import Page
from ..model.refusals import refuse
from ..model.run import Origin, Run
from ..model.task import OPEN_STATES
from ..ports.store import RunFilter
from ..schedule import After

Occurrence: TypeAlias = tuple[Origin, datetime]
_MIN_POLL_SECONDS: Final = 0.1
_MAX_POLL_SECONDS: Final = 1.0
"""Another process may run the task, so waiters poll as well; the interval doubles up to this."""
_MAX_ROWS: Final = 50


class RunReader(Protocol):
    """The reads a waiter needs: implemented by a store and by the client of a server."""

    async def facts(self, task_id: str, owner: str | None) -> Facts | None: ...

    async def runs(self, wanted: RunFilter, *, limit: int) -> Page[Run]: ...


class RunWaiters:
    """Wake-up events per task: the end of a run wakes the waiters of its task only, not all of them."""

    def __init__(self) -> None:
        self._wakeups: dict[str, set[asyncio.Event]] = {}

    def notify_ended(self, tasks: Collection[str]) -> None:
        """Wake the waiters of these tasks: a run of each has ended."""
        for task_id in self._wakeups.keys() & tasks if self._wakeups else ():
            for wakeup in self._wakeups[task_id]:
                wakeup.set()

    def notify_all(self) -> None:
        """Wake all waiters: a task was changed by a front end."""
        self.notify_ended(tuple(self._wakeups))

    async def wait_for_end(
        self, reader: Callable[[], RunReader], task_id: str, owner: str | None, occurrence: Occurrence | None = None
    ) -> Run:
        """Return the last run of the occurrence that ends next, or of the one that ended last if none is left.

        With an `occurrence`, return the last run of that one, also when it ended before. Raises the refusal of an absent
        task, and of one paused without end. `reader` is called again at each poll: it raises once the app was closed.
        """
        run_filter = RunFilter(owner, task_id)
        seconds = _MIN_POLL_SECONDS
        with self._registered(task_id) as wakeup:
            # Earlier ends are read first, so that a run that ends right after the call counts as new.
            known = {
                run.id for run in (await reader().runs(run_filter, limit=_MAX_ROWS)).items if run.ended is not None
            }
            while True:
                wakeup.clear()
                facts = await reader().facts(task_id, owner)
                if facts is None:
                    raise refuse("no_such_task", id=task_id)
                ended = _ended_runs(facts, (await reader().runs(run_filter, limit=_MAX_ROWS)).items)
                if occurrence is not None:
                    matches = [run for run in ended if (run.origin, run.planned) == occurrence]
                else:
                    matches = [run for run in ended if run.id not in known]
                if matches:
                    return _first_ended(matches)
                if occurrence is None and _nothing_left(facts):
                    return _last_ended(facts, ended)
                _refuse_endless_wait(facts)
                await _wait_for(wakeup, seconds)
                seconds = min(2 * seconds, _MAX_POLL_SECONDS)

    @contextmanager
    def _registered(self, task_id: str) -> Iterator[asyncio.Event]:
        wakeup = asyncio.Event()
        self._wakeups.setdefault(task_id, set()).add(wakeup)
        try:
            yield wakeup
        finally:
            wakeups = self._wakeups[task_id]
            wakeups.discard(wakeup)
            if not wakeups:
                del self._wakeups[task_id]


async def _wait_for(wakeup: asyncio.Event, seconds: float) -> None:
    timer = asyncio.get_running_loop().call_later(seconds, wakeup.set)
    try:
        await wakeup.wait()
    finally:
        timer.cancel()


def _refuse_endless_wait(facts: Facts) -> None:
    """Raise if the task is paused without end and no run is live: no occurrence ends until it is resumed."""
    pause = facts.status.pause
    asleep = all(entry.state is EntryState.ASLEEP for entry in facts.entries)
    if pause is not None and pause.until is None and asleep and not facts.live:
        raise refuse("task_paused", id=facts.task.id)


def _nothing_left(facts: Facts) -> bool:
    """Return whether no occurrence comes any more; a task that runs after others has one whenever they end."""
    is_chained = isinstance(facts.task.schedule, After) and facts.status.state in OPEN_STATES
    return not (facts.live or facts.entries or is_chained)


def _ended_runs(facts: Facts, runs: Iterable[Run]) -> list[Run]:
    """Return the ended runs whose occurrence has ended too: it has no live run and no waiting retry."""
    unfinished = {(entry.origin, entry.planned) for entry in facts.entries if entry.kind is EntryKind.RETRY}
    unfinished |= {(run.origin, run.planned) for run in facts.live}
    return [run for run in runs if run.ended is not None and (run.origin, run.planned) not in unfinished]


def _first_ended(runs: Iterable[Run]) -> Run:
    """Return the last attempt of the occurrence that ended first."""
    last_attempts: dict[tuple[str, object], Run] = {}
    for run in sorted(runs, key=lambda run: run.attempt):
        last_attempts[run.origin, run.planned] = run
    return min(last_attempts.values(), key=lambda run: (run.ended or run.due, run.planned))


def _last_ended(facts: Facts, runs: list[Run]) -> Run:
    if not runs:
        raise refuse("task_over", id=facts.task.id, state=facts.status.state.value, action="wait for", action_zh="等待")
    return max(runs, key=lambda run: (run.ended or run.due, run.planned, run.attempt))
