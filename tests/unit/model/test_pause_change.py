"""Changes of a pause as records: what is recorded, round trips, and when a task counts as changed since."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.model.accounts.pause_change import (
    CANCEL_RETENTION,
    PAUSE_CHANGE_RETENTION,
    PauseChange,
    cancel_operation,
    first_key,
    pause_change,
    pause_change_from,
    pause_change_record,
)
from horae.model.change import Change, Facts
from horae.model.task import Pause, PauseCause, TaskState, TaskStatus, partial_task
from horae.testing.factories import NOON, a_task

HELD = Pause(NOON, PauseCause.ORPHANED, "gone “\ud800”", NOON + timedelta(hours=1))
PLAIN = Pause(NOON)
ACTIVE = TaskStatus()
PAUSED = TaskStatus(TaskState.PAUSED, pause=HELD)


@pytest.mark.parametrize(("before", "after"), [(None, PLAIN), (HELD, None), (HELD, PLAIN)])
def test_pause_change_record_round_trip(before: Pause | None, after: Pause | None) -> None:
    change = PauseChange("opn_1", "tsk_1", "report", 3, TaskState.ACTIVE, before, after)
    record = pause_change_record(change, "ada", NOON)
    assert pause_change_from(record) == change
    assert (record.owner, record.expires) == ("ada", NOON + PAUSE_CHANGE_RETENTION)
    assert record.key.startswith(first_key("opn_1"))
    assert record.body.encode()


def test_record_of_a_cancel_has_its_instant_and_the_agent() -> None:
    change = PauseChange(cancel_operation(NOON), "tsk_1", "report", 3, TaskState.PAUSED, HELD, None, NOON, "robot")
    record = pause_change_record(change, "ada", NOON, CANCEL_RETENTION)
    assert pause_change_from(record) == change
    assert record.expires == NOON + CANCEL_RETENTION
    assert cancel_operation(NOON) != cancel_operation(NOON + timedelta(microseconds=1))


def test_only_changes_of_the_pause_or_state_are_recorded() -> None:
    facts = Facts(a_task(name="report", version=3), ACTIVE)
    name = facts.task.id
    paused = Change(status=PAUSED)
    assert pause_change("opn_1", facts, Change()) is None
    assert pause_change("opn_1", facts, Change(status=ACTIVE._replace(skips_left=1))) is None
    expected = PauseChange("opn_1", name, "report", 3, TaskState.ACTIVE, None, HELD)
    assert pause_change("opn_1", facts, paused) == expected
    assert pause_change("opn_1", facts._replace(status=PAUSED), paused) is None
    restarted = pause_change("opn_1", facts._replace(status=TaskStatus(TaskState.FAILED)), Change(status=ACTIVE))
    assert restarted == expected._replace(state=TaskState.FAILED, after=None)
    ended = Change(status=TaskStatus(TaskState.CANCELLED, ended=NOON))
    assert pause_change("opn_1", facts, ended) == expected._replace(after=None, cancelled=NOON)


def test_task_is_current_while_definition_state_and_pause_are_the_same() -> None:
    facts = Facts(a_task(version=3), PAUSED)
    paused = PauseChange("opn_1", facts.task.id, "report", 3, TaskState.ACTIVE, None, HELD)
    assert paused.is_current(facts)
    assert not paused.is_current(facts._replace(task=a_task(version=4)))
    assert not paused.is_current(facts._replace(status=PAUSED._replace(pause=PLAIN)))
    assert not paused.is_current(facts._replace(status=PAUSED._replace(state=TaskState.COMPLETED)))
    resumed = paused._replace(before=HELD, after=None)
    assert resumed.is_current(facts._replace(status=ACTIVE._replace(counted=9)))
    assert not resumed.is_current(facts._replace(status=TaskStatus(TaskState.FAILED)))


def test_partial_task_has_its_id_name_and_zone() -> None:
    task = partial_task("tsk_1", "report", "Asia/Tokyo")
    assert (task.id, task.name, task.schedule.zone) == ("tsk_1", "report", "Asia/Tokyo")
