"""Tasks as this process has seen them last: whoever knows the version of a task need not read it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...model.change import Change
from ...model.run import LIVE, Run
from ...model.task import Standing, Task
from .rows import new


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
        for run, number in zip(self.live, self.numbers, strict=True):
            if run.id == run_id:
                return run, number
        return None, 0


class Familiar:
    """Nothing in here is believed without its version, and all of it is forgotten when something was rolled back."""

    _MOST: Final = 4_096
    _HEAVIEST: Final = 8_000_000
    """Characters of payload; a few thousand of the largest ones must not fill the memory."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}
        self._task_of_run: dict[str, int] = {}
        self._weight = 0

    def get(self, number: int, version: int) -> Known | None:
        known = self._known.get(number)
        return known if known is not None and known.version == version else None

    def task_of(self, run_id: str) -> int | None:
        """The number of the task of a run that was live when it was last seen."""
        return self._task_of_run.get(run_id)

    def keep(self, known: Known) -> None:
        number, _, task, _, live, _ = known
        before = self._known.get(number)
        if before is None:
            self._weight += len(task.payload)
            if len(self._known) >= self._MOST or self._weight >= self._HEAVIEST:
                self.forget()
        else:
            for run in before[4]:
                self._task_of_run.pop(run[0], None)
        self._known[number] = known
        for run in live:
            self._task_of_run[run[0]] = number

    def drop(self, number: int) -> None:
        known = self._known.pop(number, None)
        if known is not None:
            self._weight -= len(known.task.payload)
            for run in known.live:
                self._task_of_run.pop(run.id, None)

    def forget(self) -> None:
        self._known.clear()
        self._task_of_run.clear()
        self._weight = 0


def after(known: Known, change: Change, born: Sequence[int]) -> Known:
    """What is known of a task once a change is written; `born` are the numbers of its new runs."""
    number, version, task, standing, live, numbers = known
    new_task, new_standing, started, moved, cancelled, *_ = change
    if not live and len(started) == 1:
        live, numbers = (started, (born[0],)) if started[0].state in LIVE else ((), ())
    elif started or moved or cancelled:
        live, numbers = _live_after(live, numbers, change, born)
    return new(Known, (number, version + 1, new_task or task, new_standing or standing, live, numbers))


def _live_after(
    live: tuple[Run, ...], numbers: tuple[int, ...], change: Change, born: Sequence[int]
) -> tuple[tuple[Run, ...], tuple[int, ...]]:
    if len(live) == len(change.moved) == 1 and not born and change.moved[0].state not in LIVE:
        return (), ()
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
