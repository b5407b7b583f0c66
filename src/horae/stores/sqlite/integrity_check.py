"""Everything that could be wrong with the file: what SQLite can see, and what only we know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import apsw

from .connection import Link
from .statements import sql

_INTEGRITY: Final = sql("integrity")
_ORPHAN_ENTRIES: Final = sql("orphan_entries")
_ORPHAN_RUNS: Final = sql("orphan_runs")
_WITHOUT_STANDING: Final = sql("tasks_without_standing")
_MISLABELLED: Final = sql("mislabelled_tasks")
_WRONG_SEATS: Final = sql("wrong_seats")
_FORGOTTEN: Final = sql("forgotten_tasks")
_MISCOUNTED_STATES: Final = sql("miscounted_states")
_MISCOUNTED: Final = sql("miscounted_tasks")


def doubts(link: Link) -> Iterator[str]:
    try:
        yield from (f"The file is damaged: {said}" for (said,) in link.query(_INTEGRITY) if said != "ok")
        yield from _contradictions(link)
    except apsw.CorruptError as error:
        yield f"The file is damaged: {error}"


def _contradictions(link: Link) -> Iterator[str]:
    for slot, task in link.query(_ORPHAN_ENTRIES):
        yield f"The agenda entry {slot} belongs to task number {task}, which is not there."
    for run_id, task in link.query(_ORPHAN_RUNS):
        yield f"The run {run_id} belongs to task number {task}, which is not there."
    for (task_id,) in link.query(_WITHOUT_STANDING):
        yield f"The task {task_id} has no standing."
    for task_id in dict.fromkeys(task_id for (task_id,) in link.query(_MISLABELLED)):
        yield f"The task {task_id} is not found by the labels that it has."
    for lane, taken, sitting in link.query(_WRONG_SEATS):
        yield f"The lane {lane} counts {taken} seats taken, but {sitting} live runs sit in it."
    for (task_id,) in link.query(_FORGOTTEN):
        yield f"The task {task_id} is active, but nothing of it is queued or running."
    for owner, name, counted, found in link.query(_MISCOUNTED_STATES):
        yield f"{counted} tasks of {owner or 'all owners'} are counted as {name}, but there are {found}."
    for (task_id,) in link.query(_MISCOUNTED):
        yield f"The task {task_id} does not know which of its runs go on."
