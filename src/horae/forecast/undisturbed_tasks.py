"""Tasks that can meet nobody: their starts follow from their schedules, and no engine is needed to find them.

A task is solitary when nothing can ever stand in its way: it has no lane, each of its runs is over before its next one is
due, it is never stopped, and the node has a place for every task at once. It then starts whenever it is due. That saves
nearly all the time of a forecast, since what comes every minute is what there is most of.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Final, NamedTuple

from ..model.task import Task
from ..schedule import Every, Past, advance, due, first, iterate
from ..schedule import next as next_after
from .request import ForecastRequest

FEW: Final = 100
"""Tasks with fewer occurrences are carried by the engine all the same."""


class UndisturbedRuns(NamedTuple):
    """`times` are (due, planned) of everything within the span; `upcoming` is planned after that."""

    times: tuple[tuple[datetime, datetime], ...]
    upcoming: datetime | None


def find_undisturbed(question: ForecastRequest, made: tuple[Task | None, ...]) -> Mapping[int, UndisturbedRuns]:
    """By the number of the task. Half of what a forecast may take is left to the engine."""
    tasks = [task for task in made if task is not None]
    if len(tasks) > question.capacity or any(task.policies.overlap == "parallel" for task in tasks):
        return {}
    found: dict[int, UndisturbedRuns] = {}
    left = question.most // 2
    for number, task in enumerate(made):
        if task is None or not _cannot_be_delayed(task, question.takes[number]):
            continue
        planned = _planned(task, question, left)
        if len(planned) > left:
            # To look at the others might take as long for nothing.
            break
        alone = _runs_if_undisturbed(task, question, planned, question.takes[number])
        if alone is not None:
            found[number] = alone
            left -= len(planned)
    return found


def _cannot_be_delayed(task: Task, takes: timedelta) -> bool:
    schedule, most = task.schedule, task.policies.max_duration
    from_end = isinstance(schedule, Every) and schedule.since == "end"
    return task.lane is None and not from_end and (most is None or takes < most)


def _planned(task: Task, question: ForecastRequest, most: int) -> list[datetime]:
    """Up to and including the end of the span, and one more than `most` where there are more."""
    past = Past(task.created)
    begin = first(task.schedule, past)
    if begin is None or begin > question.end:
        return []
    following = iterate(task.schedule, begin, advance(past), until=question.end)
    return [begin, *islice(following, most)]


def _runs_if_undisturbed(
    task: Task, question: ForecastRequest, planned: list[datetime], takes: timedelta
) -> UndisturbedRuns | None:
    if len(planned) < FEW:
        return None
    past = Past(task.created)
    times = [(due(task.schedule, each, task.id, past), each) for each in planned]
    if any(later - earlier <= takes for (earlier, _), (later, _) in pairwise(times)):
        return None
    # An instant whose jitter ends after the span is still to come.
    within = [each for each in times if each[0] <= question.end]
    if len(within) < len(times):
        return UndisturbedRuns(tuple(within), times[len(within)][1])
    return UndisturbedRuns(tuple(within), next_after(task.schedule, planned[-1], advance(past, len(planned))))
