"""Filters of tasks and runs, for stores that compare values and not columns."""

from __future__ import annotations

from datetime import datetime

from ..model.accounts.system_owner import is_listed, is_readable
from ..model.change import Facts
from ..model.run import Run
from ..model.task import PauseCause, TaskState
from ..ports.store import RunFilter, TaskFilter


def task_matches(facts: Facts, task_filter: TaskFilter) -> bool:
    task = facts.task
    return (
        is_listed(task_filter.owner, task.owner)
        and (task_filter.states is None or facts.status.state in task_filter.states)
        and task_filter.name in (None, task.name)
        and task_filter.lane in (None, *task.lanes)
        and task_filter.kind in (None, task.target.kind)
        and (task_filter.text is None or _lower_ascii(task_filter.text) in _lower_ascii(task.name))
        and (task_filter.prefix is None or task.id.startswith(task_filter.prefix))
        and set(task_filter.labels) <= set(task.labels)
        and (not task_filter.failing or (facts.status.state is TaskState.ACTIVE and facts.status.failures > 0))
        and task_filter.pause_cause in (None, _pause_cause(facts))
    )


def _pause_cause(facts: Facts) -> PauseCause | None:
    status = facts.status
    return status.pause.cause if status.state is TaskState.PAUSED and status.pause is not None else None


def _lower_ascii(text: str) -> str:
    """Lower-case ASCII letters only: the SQL stores fold no others."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def run_matches(run: Run, run_filter: RunFilter) -> bool:
    first, last = _planned_range(run)
    return (
        (is_listed if run_filter.task_id is None else is_readable)(run_filter.owner, run.owner)
        and (run_filter.states is None or run.state in run_filter.states)
        and (run_filter.since is None or last >= run_filter.since)
        and (run_filter.until is None or first <= run_filter.until)
    )


def _planned_range(run: Run) -> tuple[datetime, datetime]:
    return (run.planned, run.planned) if run.span is None else (run.span.first, run.span.last)
