"""Waits until something of a task has ended: woken by the engine of this process, and by looking now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from ..model.change import Facts
from ..model.entry import EntryKind, Stand
from ..model.page import Page
from ..model.refusals import refuse
from ..model.run import Origin, Run
from ..ports.store import RunFilter

Occurrence: TypeAlias = tuple[Origin, datetime]
_FIRST_LOOK_SECONDS: Final = 0.1
_LAST_LOOK_SECONDS: Final = 1.0
"""Another process may do the work, so no wake-up is relied on; those who wait for long ask less and less often."""
_ROWS: Final = 50


class Rows(Protocol):
    """What somebody who waits looks at: a store, or whoever asks one."""

    async def facts(self, task_id: str, owner: str | None) -> Facts | None: ...

    async def runs(self, wanted: RunFilter, *, limit: int) -> Page[Run]: ...


class Waiting:
    """A bell for each task that somebody waits for, so that a thousand who wait do not all look when one of them ends."""

    def __init__(self) -> None:
        self._bells: dict[str, set[asyncio.Event]] = {}

    def ended_of(self, tasks: Collection[str]) -> None:
        """Something of these tasks has ended."""
        for task_id in self._bells.keys() & tasks if self._bells else ():
            for bell in self._bells[task_id]:
                bell.set()

    def look(self) -> None:
        """Something was changed by hand: all who wait look for themselves."""
        self.ended_of(tuple(self._bells))

    async def ended(
        self, book: Callable[[], Rows], task_id: str, owner: str | None, occurrence: Occurrence | None = None
    ) -> Run:
        """The last run of the occurrence that ends next; when nothing is left to come, of the one that ended last.

        With an `occurrence`, the last run of that one, also when it has ended before. The book is asked for anew at each
        look: in an app that was closed meanwhile, nothing ends any more.
        """
        rows = RunFilter(owner, task_id)
        seconds = _FIRST_LOOK_SECONDS
        with self._bell(task_id) as bell:
            # What had ended before is read before all else: what ends from here on is news, however fast it is.
            known = {run.id for run in (await book().runs(rows, limit=_ROWS)).items if run.ended is not None}
            while True:
                bell.clear()
                facts = await book().facts(task_id, owner)
                if facts is None:
                    raise refuse("no_such_task", id=task_id)
                over = _over(facts, (await book().runs(rows, limit=_ROWS)).items)
                if occurrence is not None:
                    fresh = [run for run in over if (run.origin, run.planned) == occurrence]
                else:
                    fresh = [run for run in over if run.id not in known]
                if fresh:
                    return _first_ended(fresh)
                if occurrence is None and _nothing_left(facts):
                    return _last_ended(facts, over)
                _refuse_to_wait_for_ever(facts)
                await _until(bell, seconds)
                seconds = min(2 * seconds, _LAST_LOOK_SECONDS)

    @contextmanager
    def _bell(self, task_id: str) -> Iterator[asyncio.Event]:
        bell = asyncio.Event()
        self._bells.setdefault(task_id, set()).add(bell)
        try:
            yield bell
        finally:
            bells = self._bells[task_id]
            bells.discard(bell)
            if not bells:
                del self._bells[task_id]


async def _until(bell: asyncio.Event, seconds: float) -> None:
    timer = asyncio.get_running_loop().call_later(seconds, bell.set)
    try:
        await bell.wait()
    finally:
        timer.cancel()


def _refuse_to_wait_for_ever(facts: Facts) -> None:
    """Of a task that is paused without an end, nothing ends until somebody resumes it."""
    pause = facts.standing.pause
    asleep = all(entry.stand is Stand.ASLEEP for entry in facts.entries)
    if pause is not None and pause.until is None and asleep and not facts.live:
        raise refuse("task_paused", id=facts.task.id)


def _nothing_left(facts: Facts) -> bool:
    return not facts.live and not facts.entries


def _over(facts: Facts, runs: Iterable[Run]) -> list[Run]:
    """Ended runs whose occurrence has ended too: nothing of it goes on, or is tried again."""
    open_ones = {(entry.origin, entry.planned) for entry in facts.entries if entry.kind is EntryKind.RETRY}
    open_ones |= {(run.origin, run.planned) for run in facts.live}
    return [run for run in runs if run.ended is not None and (run.origin, run.planned) not in open_ones]


def _first_ended(runs: Iterable[Run]) -> Run:
    """Of the occurrence that ended first, its last attempt."""
    last_attempts: dict[tuple[str, object], Run] = {}
    for run in sorted(runs, key=lambda run: run.attempt):
        last_attempts[run.origin, run.planned] = run
    return min(last_attempts.values(), key=lambda run: (run.ended or run.due, run.planned))


def _last_ended(facts: Facts, runs: list[Run]) -> Run:
    if not runs:
        raise refuse("task_over", id=facts.task.id, state=facts.standing.state.value, wish="wait for", wish_zh="等待")
    return max(runs, key=lambda run: (run.ended or run.due, run.planned, run.attempt))
