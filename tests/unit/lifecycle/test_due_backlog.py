"""The due backlog is counted without listing it, and equals iteration."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.lifecycle.due_backlog import (
    DueBacklog,
    compute_due_backlog,
    compute_planned_backlog,
    counts_from_end,
    without_repeat,
)
from horae.model.task import NEW_TASK_STATUS, Task, TaskStatus, past_of
from horae.schedule import AnyOf, Cron, Every, Now, Once, RRule, Schedule, due, iterate
from tests.unit.lifecycle.task_world import DAY, HOUR, MICROSECOND, MINUTE, NOON, SECOND, World, hour

SCHEDULES: dict[str, Schedule] = {
    "even": Every(interval=MINUTE),
    "even, spread out": Every(interval=MINUTE, jitter=timedelta(seconds=50)),
    "in bursts": Cron(expression="*/5 0-30 9 * * MON", zone="Europe/Berlin"),
    "in bursts, spread out": Cron(expression="0-9 9,10 * * *", zone="Asia/Shanghai", jitter=HOUR),
    "rare": Cron(expression="0 9 1 * *", zone="America/New_York"),
    "by rule": RRule(recurrence="FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0;BYSECOND=0", zone="Europe/Berlin"),
    "counted": Every(interval=MINUTE, repeat=3),
    "several": AnyOf((Every(interval=MINUTE), Every(interval=7 * MINUTE), Cron("*/5 * * * *")), zone="Europe/Berlin"),
    "several, spread out": AnyOf((Cron("0-9 9,10 * * *"), Cron("0 * * * 1-5")), zone="Europe/Berlin", jitter=HOUR),
    "several, one by rule": AnyOf((RRule(recurrence="FREQ=DAILY;BYHOUR=9"), Cron("0 9 * * *")), zone="Europe/Berlin"),
}


def task_of(schedule: Schedule) -> Task:
    return World(schedule).task


def walked(task: Task, planned: datetime, now: datetime) -> list[datetime]:
    """Occurrences of a backlog by iteration; the first is due."""
    past = past_of(task, NEW_TASK_STATUS)
    later = iterate(without_repeat(task.schedule), planned, past, until=now)
    return [planned, *(each for each in later if due(task.schedule, each, task.id, past) <= now)]


def early_in(backlog: DueBacklog, at: datetime) -> int:
    early, _ = backlog.split_due_before(at)
    return 0 if early is None else early.size


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SCHEDULES)), st.integers(0, 40 * 86_400), st.integers(0, 3 * 86_400), st.data())
def test_backlog_count_equals_iteration(name: str, start: int, length: int, data: st.DataObject) -> None:
    task = task_of(SCHEDULES[name])
    planned = next(
        islice(iterate(without_repeat(task.schedule), NOON + start * SECOND, past_of(task, NEW_TASK_STATUS)), 1)
    )
    now = due(task.schedule, planned, task.id, past_of(task, NEW_TASK_STATUS)) + length * SECOND
    backlog, all_of_it = compute_due_backlog(task, NEW_TASK_STATUS, planned, now), walked(task, planned, now)
    assert (backlog.first, backlog.last, backlog.size) == (all_of_it[0], all_of_it[-1], len(all_of_it))
    number = data.draw(st.integers(1, backlog.size))
    assert backlog.nth(number) == all_of_it[number - 1]
    assert backlog.oldest(number).span.last == all_of_it[number - 1]
    at = data.draw(st.datetimes(NOON.replace(tzinfo=None), (now + HOUR).replace(tzinfo=None))).replace(
        tzinfo=NOON.tzinfo
    )
    parts = [part for part in backlog.split_due_before(at) if part is not None]
    assert sum(part.size for part in parts) == backlog.size
    assert early_in(backlog, at) == sum(backlog.due(each) < at for each in all_of_it)
    assert [part.first for part in parts] == [all_of_it[0], *(all_of_it[part.size] for part in parts[:-1])]
    assert [part.last for part in parts] == [*(all_of_it[part.size - 1] for part in parts[:-1]), all_of_it[-1]]
    if number < backlog.size:
        head, rest = backlog.split(number)
        assert (head.first, head.last, head.size) == (all_of_it[0], all_of_it[number - 1], number)
        assert (rest.first, rest.last, rest.size) == (all_of_it[number], all_of_it[-1], backlog.size - number)


def test_two_months_of_seconds_are_counted_in_one_step() -> None:
    task = task_of(Every(interval=SECOND))
    backlog = compute_due_backlog(task, NEW_TASK_STATUS, NOON + SECOND, NOON + 60 * DAY)
    assert backlog.size == 60 * 86_400
    assert backlog.last == NOON + 60 * DAY
    assert backlog.nth(5_000_000) == NOON + 5_000_000 * SECOND
    assert early_in(backlog, NOON + DAY) == 86_399
    assert (early_in(backlog, NOON + SECOND), early_in(backlog, NOON + SECOND + MICROSECOND)) == (0, 1)


@pytest.mark.parametrize("schedule", [Now(), Once(at=hour(13)), Every(interval=HOUR, since="end")])
def test_once_and_from_end_schedules_have_no_backlog(schedule: Schedule) -> None:
    world = World(schedule)
    assert world.next is not None
    assert compute_due_backlog(world.task, NEW_TASK_STATUS, world.next.planned, NOON + DAY).size == 1


@pytest.mark.parametrize(("counted", "size"), [(0, 4), (1, 3), (3, 1)])
def test_backlog_ends_with_the_last_repeat_where_planned_counts(counted: int, size: int) -> None:
    task = task_of(Every(interval=HOUR, repeat=4, counting="planned"))
    backlog = compute_due_backlog(task, TaskStatus(counted=counted), hour(13), hour(20))
    assert (backlog.size, backlog.last) == (size, hour(12 + size))


def test_last_of_a_backlog_is_an_occurrence_not_now() -> None:
    """Fewer have passed than repeats are left."""
    task = task_of(Every(interval=HOUR, repeat=9, counting="planned"))
    assert compute_due_backlog(task, NEW_TASK_STATUS, hour(13), hour(15.5)).last == hour(15)


def test_planned_and_due_instants_differ() -> None:
    task = task_of(Every(interval=HOUR, jitter=40 * MINUTE))
    assert compute_planned_backlog(task, NEW_TASK_STATUS, hour(13), hour(15)).size == 3
    assert compute_due_backlog(task, NEW_TASK_STATUS, hour(13), hour(15)).size == 2
    assert compute_planned_backlog(task, NEW_TASK_STATUS, hour(13), hour(14) - MICROSECOND).size == 1


def test_without_repeat_removes_only_the_limit() -> None:
    counted = Every(interval=HOUR, repeat=3)
    assert without_repeat(counted) == Every(interval=HOUR)
    assert without_repeat(counted) is without_repeat(counted)
    assert not counts_from_end(counted)
