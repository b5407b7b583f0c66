"""Fast path of a forecast: tasks that nothing can delay start when they are due, so no engine is needed.

A task is undisturbed if it has no lane and no successor, each run ends before the next one is due, no run is stopped, and the node has
capacity for all tasks at once and one more run: without it, the engine decides on an occurrence that overlaps a run only
when another run has ended. Frequent tasks are most of the work of a forecast, and most of them are undisturbed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Final, NamedTuple

from ..model.task import Task
from ..schedule import Every, Past, advance, due, first, iterate
from ..schedule import next as next_after
from .request import ForecastRequest

MIN_OCCURRENCES: Final = 100
"""Tasks with fewer occurrences run on the engine anyway."""


class UndisturbedRuns(NamedTuple):
    """`times` are (due, planned) within the span; `upcoming` is the next planned instant after it."""

    times: tuple[tuple[datetime, datetime], ...]
    upcoming: datetime | None


def find_undisturbed(
    request: ForecastRequest, made: tuple[Task | None, ...], predecessors: Collection[int] = ()
) -> Mapping[int, UndisturbedRuns]:
    """Undisturbed tasks by number. Half of the row limit is left to the engine.

    `predecessors` start other tasks when they end, so the engine executes them.
    """
    tasks = [task for task in made if task is not None]
    if len(tasks) >= request.capacity or any(task.policies.overlap == "parallel" for task in tasks):
        return {}
    found: dict[int, UndisturbedRuns] = {}
    left = request.most // 2
    for number, task in enumerate(made):
        if task is None or number in predecessors or request.task_requests[number].past is not None:
            continue
        if not _cannot_be_delayed(task, request.takes[number]):
            continue
        planned = _planned(task, request, left)
        if len(planned) > left:
            # The remaining tasks may take as long without a result.
            break
        undisturbed = _runs_if_undisturbed(task, request, planned, request.takes[number])
        if undisturbed is not None:
            found[number] = undisturbed
            left -= len(planned)
    return found


def _cannot_be_delayed(task: Task, takes: timedelta) -> bool:
    schedule, most = task.schedule, task.policies.max_duration
    from_end = isinstance(schedule, Every) and schedule.since == "end"
    return task.lane is None and not from_end and (most is None or takes < most)


def _planned(task: Task, request: ForecastRequest, most: int) -> list[datetime]:
    """Planned instants up to and including the end of the span, at most `most` + 1."""
    past = Past(task.created)
    begin = first(task.schedule, past)
    if begin is None or begin > request.end:
        return []
    following = iterate(task.schedule, begin, advance(past), until=request.end)
    return [begin, *islice(following, most)]


def _runs_if_undisturbed(
    task: Task, request: ForecastRequest, planned: list[datetime], takes: timedelta
) -> UndisturbedRuns | None:
    if len(planned) < MIN_OCCURRENCES:
        return None
    past = Past(task.created)
    times = [(due(task.schedule, each, task.id, past), each) for each in planned]
    if any(later - earlier <= takes for (earlier, _), (later, _) in pairwise(times)):
        return None
    # With jitter, an instant may come due after the span.
    within = [each for each in times if each[0] <= request.end]
    if len(within) < len(times):
        return UndisturbedRuns(tuple(within), times[len(within)][1])
    return UndisturbedRuns(tuple(within), next_after(task.schedule, planned[-1], advance(past, len(planned))))
