"""Tasks as this process has seen them last: whoever knows the version of a task need not read it again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ..model.change import Change
from ..model.run import LIVE, Run
from ..model.task import Standing, Task, TaskState

_OVER: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class Known(NamedTuple):
    """A task, its standing and its live runs, at one version; `numbers` are those of the runs, in the same order."""

    number: int
    version: int
    task: Task
    standing: Standing
    live: tuple[Run, ...] = ()
    numbers: tuple[int, ...] = ()

    def run(self, run_id: str) -> tuple[Run | None, int]:
        """One of its live runs, and its number."""
        for place, run in enumerate(self.live):
            if run.id == run_id:
                return run, self.numbers[place]
        return None, 0


class Familiar:
    """Nothing in here is believed without its version, and all of it is forgotten when what was written may be gone: in a
    file when something was rolled back, on a server with each new connection, behind which may be another server.

    Who recovers what a dead node has left does so on a thread of its own.
    """

    _MOST: Final = 4_096
    _HEAVIEST: Final = 8_000_000
    """Characters of payloads and targets; a few thousand of the largest ones must not fill the memory."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}
        self._task_of_run: dict[str, int] = {}
        self._bare: dict[int, int] = {}
        """By number, at which version a task was left with nothing on its agenda: its version rises with that too."""
        self._weight = 0
        self._changing = threading.Lock()

    def known(self, versions: Mapping[int, int]) -> dict[int, Known]:
        """Those tasks that are known at the version that they have now."""
        found: dict[int, Known] = {}
        all_known = self._known
        for number, version in versions.items():
            known = all_known.get(number)
            if known is not None and known[1] == version:
                found[number] = known
        return found

    def tasks_of(self, run_ids: Iterable[str]) -> dict[str, int]:
        """The numbers of the tasks of those runs that were live when they were last seen."""
        tasks_of_runs = self._task_of_run
        return {run_id: number for run_id in run_ids if (number := tasks_of_runs.get(run_id)) is not None}

    def bare(self, numbers: Iterable[int]) -> dict[int, Known]:
        """Those tasks of which nothing was on the agenda when they were last seen."""
        found: dict[int, Known] = {}
        all_known, all_bare = self._known, self._bare
        for number in numbers:
            known = all_known.get(number)
            if known is not None and all_bare.get(number) == known[1]:
                found[number] = known
        return found

    def keep(self, known: Known) -> None:
        """What is over is not kept: it would push out what is going on."""
        with self._changing:
            self._keep(known)

    def _keep(self, known: Known) -> None:
        number, _, task, standing, live, _ = known
        tasks_of_runs = self._task_of_run
        before = self._known.get(number)
        if before is None:
            if not live and standing[0] in _OVER:
                return
            self._weight += _weight(task)
            if len(self._known) >= self._MOST or self._weight >= self._HEAVIEST:
                self._forget()
                self._weight = _weight(task)
        else:
            if before[2] is not task:
                self._weight += _weight(task) - _weight(before[2])
            for run in before[4]:
                tasks_of_runs.pop(run[0], None)
            if not live and standing[0] in _OVER:
                del self._known[number]
                self._bare.pop(number, None)
                self._weight -= _weight(task)
                return
        self._known[number] = known
        for run in live:
            tasks_of_runs[run[0]] = number

    def learn(self, learnt: Mapping[int, Known | None], bare: Iterable[int] = ()) -> None:
        """By number, what is known of many tasks now; None: it is gone. `bare` are those with nothing on their agenda."""
        with self._changing:
            for number, known in learnt.items():
                if known is None:
                    self._drop(number)
                else:
                    self._keep(known)
            for number in bare:
                if number in self._known:
                    self._bare[number] = self._known[number][1]

    def drop(self, number: int) -> None:
        with self._changing:
            self._drop(number)

    def _drop(self, number: int) -> None:
        known = self._known.pop(number, None)
        self._bare.pop(number, None)
        if known is not None:
            self._weight -= _weight(known.task)
            for run in known.live:
                self._task_of_run.pop(run.id, None)

    def forget(self) -> None:
        with self._changing:
            self._forget()

    def _forget(self) -> None:
        self._known.clear()
        self._bare.clear()
        self._task_of_run.clear()
        self._weight = 0


def _weight(task: Task) -> int:
    return len(task[5]) + len(task[4][1])


def after(known: Known, change: Change, born: Sequence[int]) -> Known:
    """What is known of a task once a change is written; `born` are the numbers of its new runs."""
    number, version, task, standing, live, numbers = known
    if change.born or change.moved or change.cancelled:
        live, numbers = _live_after(live, numbers, change, born)
    return Known(number, version + 1, change.task or task, change.standing or standing, live, numbers)


def _live_after(
    live: tuple[Run, ...], numbers: tuple[int, ...], change: Change, born: Sequence[int]
) -> tuple[tuple[Run, ...], tuple[int, ...]]:
    moved = {run.id: run for run in change.moved}
    asked = dict(change.cancelled)
    runs = [(moved.get(run.id, run), number) for run, number in zip(live, numbers, strict=True)]
    runs += zip(change.born, born, strict=True)
    if asked:
        runs = [(run._replace(cancel=asked.get(run.id, run.cancel)), number) for run, number in runs]
    still = sorted([each for each in runs if each[0].state in LIVE], key=_by_id)
    return tuple([run for run, _ in still]), tuple([number for _, number in still])


def _by_id(numbered: tuple[Run, int]) -> str:
    return numbered[0].id
