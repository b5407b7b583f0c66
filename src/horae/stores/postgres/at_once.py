"""An ordinary claim, or an ordinary settlement, as the values of one statement; None where it is not that ordinary."""

from __future__ import annotations

from typing import Any, Final

from ...model.event import EventKind
from ..served.sheets import ENDED_COLUMNS, STARTED_COLUMNS, Sheets
from .arrays import array_text, columns, strides

_SHARED: Final = (3, 6, 7, 8, 9, 10, 11)
"""Origin, attempt, state, token, node, claimed and started: the same for all runs of a claim, as a rule."""
_STANDING: Final = (0, 2, 3, 4, 6, 7, 13)
"""Task, state, counted, failures, last end, last result, end: what the end of a run changes of a standing."""


def starts_at_once(sheets: Sheets, told: int) -> list[Any] | None:
    runs, count = sheets.started, len(sheets.standings)
    shared = [runs[place::STARTED_COLUMNS] for place in _SHARED]
    ids, tasks, owners = (runs[place::STARTED_COLUMNS] for place in range(3))
    planned, due = runs[4::STARTED_COLUMNS], runs[5::STARTED_COLUMNS]
    if len(ids) != count or planned != due or any(column.count(column[0]) != count for column in shared):
        return None
    kinds, ats, _, task_ids, run_ids, details = zip(*sheets.events, strict=True)
    alike = kinds.count(EventKind.RUN_STARTED) == details.count(None) == ats.count(shared[5][0]) == count
    if not alike or run_ids != tuple(ids) or sheets.count_rows() or list(sheets.standings) != tasks:
        return None
    counted = [row[3] for row in sheets.standings.values()]
    arrays = [array_text(column) for column in (tasks, counted, ids, owners, planned, task_ids)]
    return [*arrays, *(column[0] for column in shared), told]


def ends_at_once(sheets: Sheets, told: int) -> list[Any] | None:
    counts = sheets.count_rows()
    if not counts or len(sheets.standings) * ENDED_COLUMNS != len(sheets.ended):
        return None
    standings = list(zip(*sheets.standings.values(), strict=True))
    changed = [array_text(standings[place]) for place in _STANDING]
    return [*changed, *strides(sheets.ended, ENDED_COLUMNS), *columns(counts), told, *columns(sheets.events)]
