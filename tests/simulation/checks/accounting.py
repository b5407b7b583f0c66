"""Guarantees 2 and 3: every planned instant has exactly one outcome, and nothing else has one."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime

from horae.model.run import Run
from horae.schedule import Every
from tests.simulation.checks.account import accounts
from tests.simulation.checks.atomicity import check_atomicity
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence


def check_planned(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    by_task = accounts(evidence, stories)
    for account in by_task.values():
        yield from account.once()
        for stretch, planned in account.life:
            yield from account.complete(stretch, planned)
            yield from account.repeats(stretch)
            yield from account.over_in_time(stretch)
        yield from _chained(evidence, account.story, account.rows)
    for glimpse in evidence.history.glimpses:
        yield from check_atomicity(glimpse, by_task[glimpse.task_id])


def _chained(evidence: Evidence, story: TaskHistory, rows: Sequence[Run]) -> Iterator[Violation]:
    """What counts from the end: each occurrence comes one interval after something ended, or began, and never sooner."""
    schedule = story.definitions[0][1].schedule
    if not isinstance(schedule, Every) or schedule.since != "end" or story.rescheduled:
        return
    ends = {run.ended for run in evidence.runs.values() if run.task_id == story.task_id and run.ended is not None}
    ends |= {event.at for _, event in story.events}
    if story.past is not None and story.past.last_end is not None:
        ends.add(story.past.last_end)
    for run in rows:
        if not _follows(run.planned, schedule, ends):
            yield Violation("3", f"{run.id}: nothing ended one interval before {run.planned}")


def _follows(planned: datetime, schedule: Every, ends: Container[datetime]) -> bool:
    """One interval after an end; where the window opens only later, the first of those intervals that lies in it."""
    if planned - schedule.interval in ends or planned == schedule.start:
        return True
    opens = schedule.start
    if not isinstance(opens, datetime) or planned - schedule.interval >= opens:
        return False
    return any(planned - count * schedule.interval in ends for count in range(2, 200))
