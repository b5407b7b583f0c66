"""Effect of an edit on upcoming fires, within the range that both schedules were evaluated for."""

from __future__ import annotations

from horae.model.task import NEW_TASK_STATUS
from horae.schedule import Every
from horae.service.tasks.edits import fire_changes
from horae.testing.factories import HOUR, NOON, a_task


def test_a_sparser_schedule_adds_nothing_that_the_old_one_had() -> None:
    before = a_task(schedule=Every(interval=HOUR, zone="UTC"), created=NOON)
    after = before._replace(schedule=Every(interval=2 * HOUR, zone="UTC"))
    sparser = fire_changes(before, after, NEW_TASK_STATUS, NOON)
    assert sparser.added == ()
    assert sparser.removed == tuple(NOON + number * HOUR for number in (1, 3, 5, 7, 9))
    denser = fire_changes(after, before, NEW_TASK_STATUS, NOON)
    assert (denser.removed, denser.added) == (sparser.added, sparser.removed)
